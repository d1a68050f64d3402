"""Files are submitted once, and their scores are recorded."""

import contextlib
from pathlib import Path

import pytest

from comind.errors import KaggleBusyError, KaggleRefusedError
from comind.following.events import Candidate, SubmittedFile
from comind.following.state import FollowingLog
from comind.following.submission import (
    leaderboard_standing,
    reconcile_submissions,
    submit_candidate,
    wait_for_scores,
)
from comind.kaggle.port import LeaderboardRow
from comind.system.files import hash_file
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import ScriptedKaggle
from tests.unit.following.days import candidate, day, observation
from tests.unit.kaggle.world import SLUG, tiny_world


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A submission."""
    path = tmp_path / "submission.csv"
    path.write_text("Id,Price\n9,1\n10,2\n")
    return path


@pytest.fixture
def log(tmp_path: Path) -> FollowingLog:
    """An empty log."""
    return FollowingLog(tmp_path, SLUG)


def _candidate(file: Path) -> Candidate:
    return candidate().model_copy(update={"sha256": hash_file(file)})


def _score(kaggle: ScriptedKaggle, **changes: str) -> None:
    first, *others = kaggle.world.submissions
    kaggle.world.submissions = (first.model_copy(update=changes), *others)


def test_a_score_is_polled_until_it_exists_or_the_timeout(log: FollowingLog, file: Path) -> None:
    """Scores are polled at intervals until they exist or the timeout is over."""
    kaggle, clock = ScriptedKaggle(tiny_world()), QuickClock()
    submit_candidate(log, kaggle, SLUG, _candidate(file), file, day(0))
    wait_for_scores(log, kaggle, SLUG, clock, seconds=60, every=20)
    assert clock.waited == [20.0, 20.0, 20.0, 20.0]
    assert len(log.state.pending) == 1
    _score(kaggle, status="complete", public_score="0.25")
    wait_for_scores(log, kaggle, SLUG, clock, seconds=60, every=20)
    assert log.state.pending == ()
    assert log.state.best_public(maximize=False) == 0.25


def test_a_refused_file_is_known_as_refused(log: FollowingLog, file: Path) -> None:
    """A rejected file has no score, and its error is recorded."""
    kaggle = ScriptedKaggle(tiny_world())
    submit_candidate(log, kaggle, SLUG, _candidate(file), file, day(0))
    _score(kaggle, status="error", error="missing rows")
    reconcile_submissions(log, kaggle, SLUG, day(0))
    scored = log.state.submissions[0].scored
    assert scored is not None
    assert scored.error == "missing rows"


def test_a_sealed_score_is_no_score(log: FollowingLog, file: Path) -> None:
    """A graded submission without a visible score is not polled for."""
    kaggle = ScriptedKaggle(tiny_world())
    submit_candidate(log, kaggle, SLUG, _candidate(file), file, day(0))
    _score(kaggle, status="complete")
    reconcile_submissions(log, kaggle, SLUG, day(0))
    assert log.state.pending == ()
    assert log.state.best_public(maximize=True) is None


@pytest.mark.parametrize("taken", [True, False])
def test_a_lost_answer_is_looked_up(log: FollowingLog, file: Path, taken: bool) -> None:
    """After no answer, or a kill, the list of submissions shows whether the file was accepted."""
    kaggle = ScriptedKaggle(tiny_world())
    what = _candidate(file)
    kaggle.failures["submit"] = [KaggleBusyError("no answer", may_have_succeeded=True)]
    with pytest.raises(KaggleBusyError):
        submit_candidate(log, kaggle, SLUG, what, file, day(0))
    assert log.state.uncertain is not None
    if taken:
        kaggle.submit(SLUG, file, log.state.uncertain.message)
    reconcile_submissions(log, kaggle, SLUG, day(0))
    assert log.state.uncertain is None
    assert len(log.state.submissions) == taken


@pytest.mark.parametrize(
    "error", [KaggleRefusedError("none left"), KaggleBusyError("too many", may_have_succeeded=False)]
)
def test_what_was_not_taken_counts_for_nothing(
    log: FollowingLog, file: Path, error: KaggleRefusedError | KaggleBusyError
) -> None:
    """A refused request leaves no submission, so the file can be submitted another day."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.failures["submit"] = [error]
    with contextlib.suppress(type(error)):
        submit_candidate(log, kaggle, SLUG, _candidate(file), file, day(0))
    assert log.state.submissions == ()


def test_a_submission_without_a_reference_is_found_and_not_retried(
    log: FollowingLog, file: Path
) -> None:
    """A submission without a reference is found by its message, and not sent again."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.nameless = True
    submit_candidate(log, kaggle, SLUG, _candidate(file), file, day(0))
    assert log.state.uncertain is not None
    reconcile_submissions(log, kaggle, SLUG, day(0))
    assert [each.reference for each in log.state.submissions] == ["1"]


def test_a_candidate_may_be_sent_in_another_form(log: FollowingLog, file: Path) -> None:
    """Its submission is found by the graded file and by the file sent, and by no other."""
    what = candidate()
    submit_candidate(log, ScriptedKaggle(tiny_world()), SLUG, what, file, day(0))
    sent = hash_file(file)
    [known] = log.state.submissions
    assert known.message.endswith(sent[:12])
    assert known.reference
    for same in ((what, ""), (SubmittedFile(name="mine.csv", sha256=sent), sent)):
        assert log.state.submission_of(*same) == known
    other = SubmittedFile(name="mine.csv", sha256="other")
    assert log.state.submission_of(other, other.sha256) is None


def test_a_rank_is_a_place_on_the_board() -> None:
    """The rank is one more than the number of better teams; rows without a score are ignored."""
    rows = [LeaderboardRow(team=str(n), score=text) for n, text in enumerate(["0.1", "0.2", "", "0.3"])]
    for score, maximize, rank in ((0.2, False, 2), (0.2, True, 2), (0.05, False, 1), (0.05, True, 4)):
        standing = leaderboard_standing(score, rows, day(0), maximize=maximize)
        assert standing is not None
        assert (standing.rank, standing.teams) == (rank, max(3, rank))
    assert leaderboard_standing(0.2, [], day(0), maximize=True) is None


def test_private_scores_are_recorded_after_the_end(log: FollowingLog, file: Path) -> None:
    """They are asked for until they are known, and not before the end."""
    kaggle = ScriptedKaggle(tiny_world())
    log.record(observation())
    submit_candidate(log, kaggle, SLUG, _candidate(file), file, day(0))
    _score(kaggle, status="complete", public_score="0.5")
    reconcile_submissions(log, kaggle, SLUG, day(0))
    _score(kaggle, private_score="0.4")
    reconcile_submissions(log, kaggle, SLUG, day(1))
    assert log.state.final_score(maximize=True) is None
    log.record(observation(31))
    reconcile_submissions(log, kaggle, SLUG, day(31))
    assert log.state.final_score(maximize=True) == 0.4
    asked = len(kaggle.calls)
    reconcile_submissions(log, kaggle, SLUG, day(32))
    assert len(kaggle.calls) == asked, "all is known"
