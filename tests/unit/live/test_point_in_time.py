"""A store can replace a competition's own community, with the same as-of guarantees."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from comind.community.access import open_community
from comind.community.store.as_of_store import CommunityStore
from comind.community.store.folder_import import ingest_folder
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.errors import CommunityError
from comind.live.hosted import HostedCompetition
from comind.live.point_in_time import PointInTimeCommunity
from comind.live.world import MLELive
from tests.unit.community.folders import community, dataset, notebook
from tests.unit.live.worlds import Client

_DEMO = "demo-tumours"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A competition with a community."""
    return make_demo(_DEMO, tmp_path)


@pytest.fixture
def store(folder: Path, tmp_path: Path) -> CommunityStore:
    """The same community in a store."""
    ingest_folder(tmp_path / "store", folder / "community", _DEMO)
    return CommunityStore.open(tmp_path / "store")


def test_a_store_shows_what_its_folder_shows(folder: Path, store: CommunityStore) -> None:
    """On every day, items, votes and source code of folder and store are equal."""
    own = PointInTimeCommunity(open_community(folder / "community"), _DEMO)
    stored = PointInTimeCommunity(store, _DEMO)
    for day in range(0, 90, 10):
        moment = datetime(2023, 3, 1, tzinfo=UTC) + timedelta(days=day)
        one, other = own.view(moment), stored.view(moment)
        assert [each.id for each in one.discussions] == [each.id for each in other.discussions]
        assert [(n.ref, n.version, n.votes) for n in one.notebooks] == [
            (n.ref, n.version, n.votes) for n in other.notebooks
        ]
        for each in one.notebooks:
            found = stored.version(each.ref, each.version, moment)
            assert found is not None
            assert found.source == each.source


def test_what_a_minute_hides_is_only_too_old(store: CommunityStore) -> None:
    """A notebook of 09:12 is visible from 09:12 on, and never before."""
    stored = PointInTimeCommunity(store, _DEMO)
    ref, version = "ada-field/one-straight-border", 1
    before = datetime(2023, 3, 4, 9, 11, 59, tzinfo=UTC)
    assert stored.version(ref, version, before) is None
    assert stored.version(ref, version, before + timedelta(seconds=1)) is not None
    assert stored.version(ref, 2, before + timedelta(days=1)) is None


def test_an_owner_named_like_the_competition_is_not_listed(tmp_path: Path) -> None:
    """As in a campaign, nothing of an owner with the competition's name is visible."""
    lines = [notebook("small/one"), notebook("ada/two")]
    folder = community(tmp_path / "c", notebooks=lines, datasets=[dataset("small/data")])
    own = PointInTimeCommunity(open_community(folder), "small")
    moment = datetime(2023, 4, 1, tzinfo=UTC)
    assert [each.ref for each in own.view(moment).notebooks] == ["ada/two"]
    assert own.view(moment).datasets == ()
    assert own.version("small/one", 1, moment) is None


def test_a_world_is_served_from_a_store(folder: Path, store: CommunityStore, tmp_path: Path) -> None:
    """A notebook listed from a store can be pulled with its source code."""
    moment = datetime(2023, 4, 1, tzinfo=UTC)
    world = MLELive(load_competition(folder), moment, community=store)
    client = Client([HostedCompetition(world, tmp_path / "archives")])
    listed = client.ask("ListKernels", competition=_DEMO)["kernels"]
    assert [each["ref"] for each in listed]
    owner, slug = listed[0]["ref"].split("/")
    pulled = client.ask("GetKernel", userName=owner, kernelSlug=slug)
    assert "import pandas" in pulled["blob"]["source"]


def test_a_store_of_other_competitions_is_refused(store: CommunityStore) -> None:
    """A store without the competition is refused."""
    with pytest.raises(CommunityError, match="contains nothing"):
        PointInTimeCommunity(store, "other")
