"""The user's own store is that of the project's params.yaml, with any campaign's log."""

from pathlib import Path

import pytest

from comind.app.params import Params, StoreParams
from comind.app.reproduction import _runtime
from comind.app.specification import _store
from comind.campaign.log.campaign_events import SplitMade
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.competitions.competition_folder import load_competition
from comind.domain.competition import Competition
from comind.domain.resources import StoreFolders
from comind.errors import UsageError
from tests.unit.campaign.samples import opened
from tests.unit.competitions.folders import competition_folder


@pytest.fixture
def competition(tmp_path: Path) -> Competition:
    """A small competition."""
    return load_competition(competition_folder(tmp_path))


def _params(**store: str) -> Params:
    return Params(store=StoreParams.model_validate(store))


def test_folders_are_the_projects(tmp_path: Path, competition: Competition) -> None:
    """A relative path is below the project; a missing one is None."""
    mine = tmp_path / "mine"
    mine.mkdir()
    assert _store(_params(models="mine"), tmp_path, competition) == StoreFolders(models=str(mine))
    assert _store(_params(datasets=str(mine)), Path("/"), competition) == StoreFolders(
        datasets=str(mine)
    )
    assert _store(_params(), tmp_path, competition) == StoreFolders()


def test_a_missing_folder_is_told_before_the_campaign(tmp_path: Path, competition: Competition) -> None:
    """The error names the key and the folder."""
    with pytest.raises(UsageError, match=r"params\.yaml: store\.datasets: .*/nowhere is no folder"):
        _store(_params(datasets="nowhere"), tmp_path, competition)


def test_a_competition_keeps_its_place(tmp_path: Path, competition: Competition) -> None:
    """A competition id that collides with a mount point of the store is an error."""
    (tmp_path / "mine").mkdir()
    named = competition.model_copy(update={"id": "models"})
    with pytest.raises(UsageError, match=r"store\.models has the place"):
        _store(_params(models="mine"), tmp_path, named)
    assert _store(_params(datasets="mine"), tmp_path, named).models is None


def test_a_store_that_holds_labels_is_refused(tmp_path: Path, competition: Competition) -> None:
    """A store that overlaps with a competition or with a project's splits is an error."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    sealed = ProjectFolder(tmp_path).splits / "a-split" / "sealed"
    sealed.mkdir(parents=True)
    inside = competition.folder / "extra"
    inside.mkdir()
    for folder in (tmp_path, link, competition.folder, inside, sealed, sealed.parents[2]):
        with pytest.raises(UsageError, match="which holds labels"):
            _store(_params(datasets=str(folder)), tmp_path, competition)


def test_a_strangers_log_mounts_nothing(tmp_path: Path) -> None:
    """Reproducing does not mount folders that a campaign's log names as its store."""
    folder = ProjectFolder(tmp_path).campaign("demo-tiny-1")
    split = SplitMade(
        key="demo-1",
        public_sha256="a",
        sealed_sha256="b",
        metric="accuracy",
        maximize=True,
        validation_rows=1,
    )
    (ProjectFolder(tmp_path).splits / split.key / "sealed").mkdir(parents=True)
    with Campaign(folder) as campaign:
        campaign.record(opened(store=StoreFolders(models="/root")))
        campaign.record(split)
        state = campaign.state
    runtime = _runtime(tmp_path, folder.name, state, None, StoreFolders(datasets="/mine"))
    assert runtime.spec.store == StoreFolders(datasets="/mine")
