"""A campaign's community: a snapshot recorded in the log, mounted as inputs of drafts."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from comind.adapters.dvc.restoring import required_data
from comind.app.inputs import read_community
from comind.campaign.log.campaign_events import CampaignOpened, CommunityRead, WorkPlanned
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.event_lines import campaign_line
from comind.campaign.loop import Campaign, read_state
from comind.domain.community import CommunityView
from comind.session.session_ports import CellStatus
from comind.wiring.competition_data import split_campaign
from comind.wiring.runtime import CampaignRuntime
from tests.unit.campaign.samples import code, spec
from tests.unit.community.folders import community, dataset, discussion, notebook
from tests.unit.competitions.folders import competition_folder

_PRINT = """
from pathlib import Path
for path in sorted(Path("input").rglob("*")):
    if path.is_file() and "small" not in path.parts:
        print(path, path.read_text().splitlines()[0])
try:
    Path("input/ada/one/notebook.py").write_text("changed")
except OSError:
    print("read-only")
"""


def _campaign(project: Path, folder: Path, **changes: object) -> Campaign:
    """Open a campaign with its split, as the flow does."""
    where = {"id": "c1", "competition": "small", "competition_folder": str(folder)}
    asked = spec(**where, agent="baseline", sandbox="bubblewrap", **changes)
    campaign = Campaign(ProjectFolder(project).campaign("c1"))
    campaign.record(CampaignOpened(spec=asked))
    campaign.record(split_campaign(project, "c1"))
    return campaign


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a campaign that has read a community."""
    given = community(
        tmp_path / "community",
        notebooks=[notebook("ada/one", source="x = 1"), notebook("bob/later", 20)],
        discussions=[discussion()],
        datasets=[dataset("carl/data", path="a.csv"), dataset("carl/gone")],
    )
    (given / "a.csv").write_text("a")
    moment = datetime(2023, 3, 10, tzinfo=UTC)
    project = tmp_path / "project"
    campaign = _campaign(
        project, competition_folder(tmp_path), community=str(given), as_of=moment, notebooks=5
    )
    campaign.record(read_community(project, "c1"))
    campaign.close()
    return project


def test_what_was_read_is_in_the_log(project: Path) -> None:
    """The event has the snapshot's key and item counts; the runtime reads that snapshot."""
    folder = ProjectFolder(project)
    read = read_state(folder.campaign("c1")).community
    assert isinstance(read, CommunityRead)
    assert (read.notebooks, read.discussions, read.datasets, read.left_out) == (1, 1, 2, 0)
    assert (folder.communities / read.key / "view.json").is_file()
    assert read_community(project, "c1") == read
    view = CampaignRuntime(folder, folder.campaign("c1")).community
    assert [each.ref for each in view.notebooks] == ["ada/one"]


def test_items_of_lower_rank_are_counted(tmp_path: Path) -> None:
    """The event has the number of further items, which agents can sample from."""
    names = ("ada/one", "bob/two", "carl/three")
    notebooks = [notebook(name, source=f"x = {name!r}") for name in names]
    given = community(tmp_path / "community", notebooks=notebooks)
    project = tmp_path / "project"
    _campaign(project, competition_folder(tmp_path), community=str(given), notebooks=1).close()
    read = read_community(project, "c1")
    assert (read.notebooks, read.further) == (1, 2)
    assert "; 2 further items to sample from" in campaign_line(read)


def test_a_draft_finds_its_inputs(project: Path) -> None:
    """Items are mounted at input/<owner>/<name>, solutions at input/solutions/<id>; read-only."""
    folder = ProjectFolder(project)
    solution = folder.solution("c1", "attempt-000")
    solution.mkdir(parents=True)
    (solution / "code.py").write_text("y = 2")
    runtime = CampaignRuntime(folder, folder.campaign("c1"))
    inputs = ("ada/one", "carl/data", "carl/gone", "bob/later", "../../etc", "attempt-000")
    work = code().model_copy(update={"inputs": inputs})
    session = runtime.open_session(work, folder.campaign("c1").work("attempt-001"))
    try:
        result = session.run(_PRINT, seconds=60)
    finally:
        session.close()
    assert result.status is CellStatus.OK, result.error
    assert result.output.splitlines() == [
        "input/ada/one/notebook.py x = 1",
        "input/carl/data/a.csv a",
        "input/folds/folds.csv fold",
        "input/row_files/row_files.csv part,id",
        "input/solutions/attempt-000/code.py y = 2",
        "read-only",
    ]


def test_without_a_community_nothing_is_known(tmp_path: Path) -> None:
    """A campaign without a community has an empty view and no item to mount."""
    project = tmp_path / "project"
    _campaign(project, competition_folder(tmp_path)).close()
    folder = ProjectFolder(project)
    runtime = CampaignRuntime(folder, folder.campaign("c1"))
    assert runtime.community == CommunityView()
    work = code().model_copy(update={"inputs": ("ada/one",)})
    runtime.open_session(work, folder.campaign("c1").work("attempt-001")).close()


def test_a_community_that_is_read_again_adds_to_what_is_known(project: Path) -> None:
    """New items come first, removed items stay known, and work keeps the snapshot of its plan."""
    folder = ProjectFolder(project)
    given = Path(read_state(folder.campaign("c1")).spec.community)
    campaign = Campaign(folder.campaign("c1"))
    campaign.record(WorkPlanned(id="attempt-000", work=code()))
    community(given, notebooks=[notebook("dora/new", 2, source="z = 3")])
    campaign.record(read_community(project, "c1"))
    work = code().model_copy(update={"inputs": ("ada/one", "dora/new")})
    campaign.record(WorkPlanned(id="attempt-001", work=work))
    state = campaign.state
    campaign.close()
    first, second = state.communities
    assert state.known_to("attempt-000") == (first,)
    assert state.known_to("attempt-001") == (second, first)
    runtime = CampaignRuntime(folder, folder.campaign("c1"))
    assert [each.ref for each in runtime.community.notebooks] == ["dora/new", "ada/one"]
    session = runtime.open_session(work, folder.campaign("c1").work("attempt-001"))
    try:
        result = session.run(_PRINT, seconds=60)
    finally:
        session.close()
    assert "input/ada/one/notebook.py x = 1" in result.output
    assert "input/dora/new/notebook.py z = 3" in result.output


def test_work_that_is_under_way_is_restored_with_the_snapshot_it_was_planned_on(project: Path) -> None:
    """A script requires the snapshots that existed when its work was planned, no later ones."""
    folder = ProjectFolder(project)
    given = Path(read_state(folder.campaign("c1")).spec.community)
    campaign = Campaign(folder.campaign("c1"))
    work = code().model_copy(update={"inputs": ("ada/one",)})
    campaign.record(WorkPlanned(id="attempt-000", work=work))
    community(given, notebooks=[notebook("dora/new", 2, source="z = 3")])
    campaign.record(read_community(project, "c1"))
    campaign.close()
    state = campaign.state
    needed = list(required_data("c1", state, ["attempt-000"]))
    assert f"data/community/{state.communities[0].key}" in needed
    assert f"data/community/{state.communities[1].key}" not in needed
