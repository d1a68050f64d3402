"""As-of stores of community folders and listings return what was imported, as of any time."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from comind.community.access import open_community
from comind.community.asof import as_of
from comind.community.ranking import Selection
from comind.community.snapshot import take_snapshot
from comind.community.store.as_of_store import CommunityStore
from comind.community.store.engine import Engine
from comind.community.store.folder_import import folder_source, ingest_folder, ingest_listing
from comind.community.store.importing import ImportSource, StagedImport, import_into
from comind.demos.make import DEMOS, make_demo
from comind.domain.community import CommunityView
from comind.errors import CommunityError
from comind.system.files import hash_tree
from tests.examples import examples
from tests.unit.community.folders import DAY, comment, community, dataset, discussion, notebook

pytestmark = pytest.mark.slow

_LIMITS = {"selection": Selection(notebooks=10, discussions=10)}


def _day(day: int) -> datetime:
    return datetime(2023, 3, day, 13, tzinfo=UTC)


def _view(root: Path, moment: datetime | None, competition: str = "titanic") -> CommunityView:
    return as_of(CommunityStore.open(root).items(competition, moment), moment)


def _observed(day: int, **more: Any) -> dict[str, Any]:
    """Return a notebook as a live source reports it: totals with the time of observation."""
    return notebook(vote_times=None, observed_at=DAY.format(day), **more)


@pytest.mark.parametrize("name", sorted(DEMOS))
@pytest.mark.parametrize("moment", [None, datetime(2023, 3, 10, tzinfo=UTC)])
def test_a_store_and_its_folder_give_the_same_snapshot(
    name: str, moment: datetime | None, tmp_path: Path
) -> None:
    """A folder, and a store that imported it, give byte-identical snapshots."""
    folder = make_demo(name, tmp_path) / "community"
    ingest_folder(tmp_path / "store", folder, name)
    one, other = (
        take_snapshot(
            each, tmp_path / "snapshots", competition=name, as_of=moment, maximize=True, **_LIMITS
        )
        for each in (folder, tmp_path / "store")
    )
    assert one.root == other.root
    assert one.read().notebooks or moment is not None


def test_the_same_content_is_taken_once(tmp_path: Path) -> None:
    """Importing is idempotent, and a folder with one more line adds one record."""
    root = tmp_path / "store"
    folder = community(tmp_path / "c", notebooks=[notebook()], discussions=[discussion(1)])
    assert not ingest_folder(root, folder, "titanic").known
    before = hash_tree(root)
    assert ingest_folder(root, folder, "titanic").known
    assert hash_tree(root) == before
    community(folder, notebooks=[notebook(), notebook("bob/two", 2)])
    again = ingest_folder(root, folder, "titanic")
    assert (again.known, again.record.taken) == (False, {"notebooks": 1})
    assert [each.ref for each in _view(root, None).notebooks] == ["ada/one", "bob/two"]


def test_observed_totals_count_from_when_they_were_seen(tmp_path: Path) -> None:
    """A live folder imported repeatedly keeps each observation from its own time on."""
    root, folder = tmp_path / "store", tmp_path / "c"
    for day, votes, tier in ((5, 3, "expert"), (9, 8, "master")):
        lines = [_observed(day, votes=votes, author_tier=tier, public_score=votes / 10)]
        thread = discussion(
            vote_times=None, votes=votes, observed_at=DAY.format(day), comments=[comment("c", 2)]
        )
        ingest_folder(root, community(folder, notebooks=lines, discussions=[thread]), "titanic")

    def seen_on(day: int) -> tuple[object, ...]:
        view = _view(root, _day(day))
        [seen], [thread] = view.notebooks, view.discussions
        return seen.votes, seen.author_tier, seen.public_score, thread.votes, len(thread.comments)

    assert seen_on(4) == (0, "", None, 0, 1)
    assert seen_on(5) == (3, "expert", 0.3, 3, 1)
    assert seen_on(8) == seen_on(5)
    assert seen_on(9) == (8, "master", 0.8, 8, 1)


def test_an_edit_does_not_change_what_was(tmp_path: Path) -> None:
    """An edited text counts from the time of its observation, and the old one before."""
    root, folder = tmp_path / "store", tmp_path / "c"
    for day, body in ((3, "Scale."), (7, "Do not scale.")):
        thread = discussion(body=body, observed_at=DAY.format(day))
        ingest_folder(root, community(folder, discussions=[thread]), "titanic")
    bodies = [_view(root, _day(day)).discussions[0].body for day in (2, 6, 7)]
    assert bodies == ["Scale.", "Scale.", "Do not scale."]


def test_a_line_of_the_far_future_does_not_date_an_import(tmp_path: Path) -> None:
    """An import is dated by its latest time that has passed."""
    lines = [notebook(day=5), notebook("bob/two", created_at="2999-01-01T00:00:00Z")]
    done = ingest_folder(tmp_path / "store", community(tmp_path / "c", notebooks=lines), "titanic")
    assert done.record.observed_at == datetime(2023, 3, 5, 12, tzinfo=UTC)


def test_a_change_that_nobody_dated_is_dropped(tmp_path: Path) -> None:
    """A different text with the same time and no observation is dropped, with a reason."""
    root, folder = tmp_path / "store", tmp_path / "c"
    ingest_folder(root, community(folder, discussions=[discussion(body="One")]), "titanic")
    done = ingest_folder(root, community(folder, discussions=[discussion(body="Two")]), "titanic")
    assert [(each.what, each.count) for each in done.record.dropped] == [("discussions", 1)]
    assert "conflicts with known content" in done.record.dropped[0].reason
    assert [each.body for each in _view(root, None).discussions] == ["One"]


def test_what_cannot_be_used_is_reported(tmp_path: Path) -> None:
    """Every rejected line is in the import's record, with its reason."""
    lines = [notebook(), "no JSON", notebook("bad ref"), notebook(title="twice")]
    folder = community(tmp_path / "c", notebooks=lines)
    dropped = ingest_folder(tmp_path / "store", folder, "titanic").record.dropped
    assert [(each.what, each.reason) for each in dropped] == [
        ("notebooks.jsonl, line 2", "is no JSON object"),
        ("notebooks.jsonl, line 3", "ref: is not owner/name"),
        ("notebooks, ada/one", "is there twice in the same version; the first is used"),
    ]


def test_files_of_datasets_are_kept(tmp_path: Path) -> None:
    """Datasets' files are stored once, content-addressed, and mounted from the store."""
    root, folder = tmp_path / "store", tmp_path / "c"
    lines = [dataset(path="extra.csv"), dataset("ada/gone", path="../secret.csv")]
    community(folder, datasets=lines, notebooks=[notebook()])
    (folder / "extra.csv").write_text("a\n1\n")
    done = ingest_folder(root, folder, "titanic").record
    assert [each.reason for each in done.dropped] == [
        "its files are left out: the path leads out of the community folder"
    ]
    community(folder, notebooks=[notebook(), notebook("bob/two")])
    ingest_folder(root, folder, "titanic")
    assert len(list((root / "files").iterdir())) == 1
    snapshot = take_snapshot(
        root, tmp_path / "s", competition="titanic", as_of=_day(9), maximize=True, **_LIMITS
    )
    mounted = snapshot.mount_path("ada/data")
    assert mounted is not None
    assert (mounted / "extra.csv").read_text() == "a\n1\n"


def test_a_listing_knows_no_code(tmp_path: Path) -> None:
    """Notebooks of a listing are counted, but not ranked for lack of code, with a note each."""
    entries = [
        {"ref": "ada/one", "title": "One", "last_run_time": DAY.format(1), "total_votes": 7},
        {"ref": "ada", "title": "Two", "last_run_time": DAY.format(1), "total_votes": 7},
    ]
    (tmp_path / "list.json").write_text(json.dumps(entries))
    root = tmp_path / "store"
    done = ingest_listing(root, tmp_path / "list.json", "titanic").record
    assert done.taken == {"notebooks": 1, "observations": 1}
    assert [(each.what, each.reason) for each in done.dropped] == [
        ("list.json, line 2", "ref: is not owner/name"),
        ("source code", "a listing has none, so its notebooks are taken and counted, and never read"),
    ]
    snapshot = take_snapshot(
        root, tmp_path / "s", competition="titanic", as_of=None, maximize=True, **_LIMITS
    )
    assert snapshot.read().notebooks == ()
    assert snapshot.read().left_out == (
        "notebooks that cannot be read, as their code is not there: 1 (ada/one)",
    )
    ingest_folder(root, community(tmp_path / "c", notebooks=[_observed(1)]), "titanic")
    [seen] = CommunityStore.open(root).items("titanic", None).notebooks
    assert CommunityStore.open(root).source_of(seen) == "print('ada/one')\n"


@pytest.mark.parametrize("content", ["", "{}", "[1]", "\xff"])
def test_no_listing(content: str, tmp_path: Path) -> None:
    """A file that is not a list of notebooks is refused in one line."""
    (tmp_path / "list.json").write_text(content, encoding="latin-1")
    with pytest.raises(CommunityError, match="is no list of notebooks"):
        ingest_listing(tmp_path / "store", tmp_path / "list.json", "titanic")


def test_an_import_that_was_killed_goes_on(tmp_path: Path) -> None:
    """A killed import commits nothing, and resumes with the files that were complete."""
    root = tmp_path / "store"
    folder = community(tmp_path / "c", notebooks=[notebook()], discussions=[discussion()])
    source = folder_source(folder, "titanic", root)

    def dies(engine: Engine, staging: Path) -> StagedImport:
        staged = source.stage(engine, staging)
        return staged._replace(kinds=("notebooks", "no such kind"))

    with pytest.raises(KeyError):
        import_into(root, ImportSource(source.kind, source.fingerprint, dies, source.competition))
    with pytest.raises(CommunityError, match="is no community store"):
        CommunityStore.open(root)
    [part] = (root / "notebooks").iterdir()
    before = part.stat().st_ino
    done = import_into(root, source)
    assert part.stat().st_ino == before
    assert done.record.taken == {"notebooks": 1, "discussions": 1}
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".store-")] == []


@pytest.mark.parametrize("content", ["", "{}x", '{"format": 2}', '{"imports": [{}]}'])
def test_a_store_of_another_form(content: str, tmp_path: Path) -> None:
    """A manifest that cannot be read is reported in one line, and never overwritten."""
    (tmp_path / "store.json").write_text(content)
    folder = community(tmp_path / "c", notebooks=[notebook()])
    for reads in (CommunityStore.open, lambda root: ingest_folder(root, folder, "titanic")):
        with pytest.raises(CommunityError, match="is no list of imports that this version can read"):
            reads(tmp_path)
    assert (tmp_path / "store.json").read_text() == content


def test_one_import_at_a_time(tmp_path: Path) -> None:
    """A second concurrent import into the same store is refused."""
    folder = community(tmp_path / "c", notebooks=[notebook()])
    with (
        FileLock(tmp_path / ".store.lock"),
        pytest.raises(CommunityError, match="another import into it is running"),
    ):
        ingest_folder(tmp_path / "store", folder, "titanic")


def test_a_competition_that_is_not_known(tmp_path: Path) -> None:
    """An unknown competition is an error; before its first item, a known one has an empty view."""
    root = tmp_path / "store"
    ingest_folder(root, community(tmp_path / "c", notebooks=[notebook(day=5)]), "titanic")
    with pytest.raises(CommunityError, match="contains nothing of the competition 'leaf'") as caught:
        open_community(root).check("leaf")
    assert caught.value.hint == "it contains titanic"
    assert _view(root, _day(1)) == CommunityView(as_of=_day(1))


_times = st.integers(1, 28).map(DAY.format)
_EARLY, _LATE = st.integers(1, 9).map(DAY.format), st.integers(11, 28).map(DAY.format)


@st.composite
def _happened(draw: st.DrawFn, times: st.SearchStrategy[str]) -> dict[str, list[dict[str, Any]]]:
    """Generate a community with events at the given times, as a live source reports it."""
    names = st.sampled_from(["ada/one", "bob/two"])
    count = st.integers(0, 3)
    notebooks = [
        notebook(
            draw(names),
            version=draw(st.integers(1, 3)),
            created_at=draw(times),
            updated_at=draw(st.none() | times),
            observed_at=draw(times),
            vote_times=draw(st.none() | st.lists(times, max_size=3)),
            votes=draw(count),
            author_tier=draw(st.sampled_from(["", "expert"])),
            public_score=draw(st.none() | st.floats(0, 1)),
            source=draw(st.sampled_from(["x = 1", "x = 2"])),
            datasets=draw(st.lists(st.just("ada/data"), max_size=1)),
        )
        for _ in range(draw(count))
    ]
    discussions = [
        discussion(
            draw(st.integers(1, 2)),
            posted_at=draw(times),
            updated_at=draw(st.none() | times),
            observed_at=draw(times),
            votes=draw(count),
            vote_times=draw(st.none() | st.lists(times, max_size=2)),
            body=draw(st.sampled_from(["a", "b"])),
            comments=[
                comment(name, posted_at=draw(times), observed_at=draw(times), vote_times=None)
                for name in draw(st.lists(st.sampled_from("xy"), max_size=2, unique=True))
            ],
        )
        for _ in range(draw(count))
    ]
    datasets = [dataset(version=draw(count), published_at=draw(times)) for _ in range(draw(count))]
    return {"notebooks": notebooks, "discussions": discussions, "datasets": datasets}


@examples(6)
@given(_happened(_EARLY), _happened(_LATE))
def test_nothing_later_is_seen(
    tmp_path_factory: pytest.TempPathFactory, early: dict[str, Any], late: dict[str, Any]
) -> None:
    """An as-of query has the same answer, item by item, after any later import."""
    place = tmp_path_factory.mktemp("p")
    root = place / "store"
    early["notebooks"].append(notebook("zoe/always"))
    ingest_folder(root, community(place / "early", **early), "titanic")
    before = CommunityStore.open(root).items("titanic", _day(10))
    ingest_folder(root, community(place / "late", **late), "titanic")
    assert CommunityStore.open(root).items("titanic", _day(10)) == before
    # And everything in it has a time, none later than the moment.
    times = [each.at for each in (*before.notebooks, *before.discussions, *before.datasets)]
    times += [seen.at for each in before.notebooks for seen in each.observed]
    times += [each.at for thread in before.discussions for each in thread.comments]
    assert all(time is not None and time <= _day(10) for time in times)


@pytest.mark.parametrize("left", ["staged", ".staged.new"])
def test_a_killed_copy_is_in_nobodys_way(left: str, tmp_path: Path) -> None:
    """Files of a dataset are copied completely, whatever a killed import left behind."""
    folder = community(tmp_path / "community", datasets=[dataset("carl/data", path="a.csv")])
    (folder / "a.csv").write_text("a")
    garbage = tmp_path / "store" / "files" / left
    garbage.mkdir(parents=True)
    (garbage / "old.csv").write_text("old")
    assert ingest_folder(tmp_path / "store", folder, "titanic").record.dropped == ()
    [found] = CommunityStore.open(tmp_path / "store").items("titanic", None).datasets
    assert found.path is not None
    assert [each.name for each in (tmp_path / "store" / found.path).iterdir()] == ["a.csv"]
