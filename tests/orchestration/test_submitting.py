"""A file is submitted once, and its score is waited for within a limit."""

from pathlib import Path
from typing import Any

import pytest

from comind.app.submitting import ScoreWait, submit
from comind.errors import CampaignError, KaggleBusyError
from comind.following.state import FollowingLog, read_following
from tests.doubles.kaggle import ScriptedKaggle
from tests.unit.kaggle.world import SLUG, tiny_world

_SHORT = ScoreWait(seconds=0.01, every=0.01)


@pytest.fixture
def kaggle() -> ScriptedKaggle:
    """A Kaggle whose competition does not end."""
    world = tiny_world()
    world.facts = world.facts.model_copy(update={"deadline": None})
    return ScriptedKaggle(world)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A submission."""
    path = tmp_path / "mine.csv"
    path.write_text("Id,Price\n9,1\n10,2\n")
    return path


def _submit(project: Path, kaggle: ScriptedKaggle, file: Path) -> dict[str, Any]:
    return submit(project, str(file), SLUG, wait=_SHORT, connect=lambda _settings, _time: kaggle)


def _sent(kaggle: ScriptedKaggle) -> int:
    return sum(method == "submit" for method, _ in kaggle.calls)


def test_a_late_score_is_asked_for_again(tmp_path: Path, kaggle: ScriptedKaggle, file: Path) -> None:
    """Without a score in time the status is pending; the next call asks, and sends nothing."""
    first = _submit(tmp_path, kaggle, file)
    assert (first["status"], first["sent"], first["public_score"]) == ("pending", True, None)
    [taken] = kaggle.world.submissions
    kaggle.world.submissions = (taken.model_copy(update={"status": "complete", "public_score": "0.25"}),)
    second = _submit(tmp_path, kaggle, file)
    assert (second["status"], second["sent"], second["public_score"]) == ("complete", False, 0.25)
    assert _sent(kaggle) == 1


@pytest.mark.parametrize("taken", [True, False])
def test_a_lost_answer_is_looked_up(
    tmp_path: Path, kaggle: ScriptedKaggle, file: Path, taken: bool
) -> None:
    """The next call finds in Kaggle's list whether the file has arrived, and sends it only if not."""
    kaggle.failures["submit"] = [KaggleBusyError("no answer", may_have_succeeded=True)]
    with pytest.raises(KaggleBusyError):
        _submit(tmp_path, kaggle, file)
    [uncertain] = read_following(tmp_path, SLUG).submissions
    if taken:
        kaggle.submit(SLUG, file, uncertain.message)
    calls = _sent(kaggle)
    assert _submit(tmp_path, kaggle, file)["sent"] is not taken
    assert _sent(kaggle) == calls + (not taken)


def test_one_process_at_a_time(tmp_path: Path, kaggle: ScriptedKaggle, file: Path) -> None:
    """While a competition is followed, a file is not submitted beside it."""
    with FollowingLog(tmp_path, SLUG), pytest.raises(CampaignError):
        _submit(tmp_path, kaggle, file)
    assert _sent(kaggle) == 0
