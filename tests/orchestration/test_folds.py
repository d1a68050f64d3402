"""What work sees of a split and its folds: the rows that it is about, and no sealed part of any."""

from pathlib import Path

import pytest

from comind.campaign.events import CampaignOpened
from comind.campaign.folder import ProjectFolder
from comind.campaign.loop import Campaign
from comind.domain.draft import Operator
from comind.evaluation.splits.further import make_fold
from comind.session.base import CellStatus
from comind.wiring.workshop import Workshop
from tasks.competitions import split_competition
from tests.unit.campaign.samples import code, spec
from tests.unit.evaluation.folders import competition_folder

_LOOK = """
from pathlib import Path
print(Path("input/small/train.csv").read_text())
print("shared folds:", len(Path("input/folds/folds.csv").read_text().splitlines()) - 1)
for place in [Path("input"), *map(Path, SPLITS)]:
    for path in sorted(place.rglob("*")):
        print(path)
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """The workshop of a campaign with a split."""
    where = {"id": "c1", "competition": "small"}
    folder = ProjectFolder(tmp_path / "project")
    asked = spec(
        **where,
        competition_folder=str(competition_folder(tmp_path)),
        agent="baseline",
        sandbox="bubblewrap",
    )
    with Campaign(folder.campaign("c1")) as campaign:
        campaign.record(CampaignOpened(spec=asked))
        campaign.record(split_competition.fn(folder.root, "c1"))
    return Workshop(folder, folder.campaign("c1"))


def _seen(workshop: Workshop, work_id: str, **changes: object) -> tuple[set[str], str]:
    """Return the ids of the rows that work learns from, and everything that it printed."""
    work = code().model_copy(update=changes)
    session = workshop.open_session(work, workshop.folder.work(work_id))
    try:
        splits = [str(workshop.split_folder.root), str(make_fold(workshop.split_folder, 1).root)]
        result = session.run(_LOOK.replace("SPLITS", repr(splits)), seconds=60)
    finally:
        session.close()
    assert result.status is CellStatus.OK, result.error
    rows = [line for line in result.output.splitlines() if line.count(",") == 2]
    return {row.split(",")[0] for row in rows[1:]}, result.output


def _held_back(answers: Path) -> set[str]:
    return {line.split(",")[0] for line in answers.read_text().splitlines()[1:]}


def test_an_attempt_sees_the_split_and_no_fold(workshop: Workshop) -> None:
    """Its training rows are all but the validation rows; sealed parts are nowhere to be found."""
    made = make_fold(workshop.split_folder, 1)
    rows, printed = _seen(workshop, "attempt-000")
    assert not rows & _held_back(workshop.split_folder.answers)
    assert rows >= _held_back(made.answers)
    assert "sealed" not in printed
    assert "fold-1" not in printed
    assert f"shared folds: {len(rows)}" in printed
    assert made.sealed.stat().st_mode & 0o777 == 0o700


def test_a_run_on_a_fold_learns_from_the_other_rows(workshop: Workshop) -> None:
    """The first validation rows are among them, those of the fold are not, and nothing sealed is."""
    run = {"operator": Operator.FOLD, "fold": 1, "session": "script"}
    rows, printed = _seen(workshop, "fold-000", **run)
    assert rows >= _held_back(workshop.split_folder.answers)
    assert not rows & _held_back(make_fold(workshop.split_folder, 1).answers)
    assert "sealed" not in printed
    assert f"shared folds: {len(rows)}" in printed
