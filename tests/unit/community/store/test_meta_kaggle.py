"""Meta Kaggle is imported into records with times; unusable rows are counted."""

import shutil
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.community.asof import as_of
from comind.community.ranking import Selection
from comind.community.snapshot import take_snapshot
from comind.community.store.as_of_store import CommunityStore
from comind.community.store.folder_import import ingest_folder
from comind.community.store.importing import ImportSource, import_into
from comind.community.store.meta_kaggle import dump_source, ingest_dump, set_code_folder
from comind.domain.community import CommunityView
from comind.errors import CommunityError
from tests.examples import examples
from tests.unit.community.folders import community, notebook
from tests.unit.community.store.dumps import Rows, tables, write_code, write_dump

pytestmark = pytest.mark.slow


def _day(day: int) -> datetime:
    return datetime(2023, 3, day, 13, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with the small dump imported."""
    ingest_dump(tmp_path / "store", write_dump(tmp_path / "dump"))
    return tmp_path / "store"


def _view(root: Path, moment: datetime | None, competition: str = "titanic") -> CommunityView:
    return as_of(CommunityStore.open(root).items(competition, moment), moment)


def test_what_was_known_on_a_day(store: Path) -> None:
    """Versions, votes, scores, tiers, forks and sources are those of the as-of time."""
    observed = {
        day: [
            (each.ref, each.version, each.votes, each.public_score, each.author_tier, each.datasets)
            for each in _view(store, _day(day)).notebooks
        ]
        for day in (1, 4, 13)
    }
    assert observed == {
        1: [],  # made public on that day, nobody knows when: it counts from its end
        4: [("ada/first", 1, 1, 0.7, "", ())],
        13: [
            ("ada/first", 2, 2, 0.8, "expert", ("bob/ships",)),
            ("bob/fork", 1, 0, None, "", ()),
        ],
    }
    fork = _view(store, _day(13)).notebooks[1]
    assert (fork.forked_from, fork.notebooks) == ("ada/first", ("ada/first",))
    assert [each.ref for each in _view(store, _day(5)).datasets] == []
    assert [each.ref for each in _view(store, _day(13)).datasets] == ["bob/ships"]


def test_the_tier_of_today_has_no_time(store: Path) -> None:
    """Today's tier is shown without an as-of time only; otherwise achievements by then count."""
    tiers = [
        [each.author_tier for each in _view(store, moment).notebooks] for moment in (_day(25), None)
    ]
    assert tiers == [["master", ""], ["master", "contributor"]]


def test_a_forum_as_it_was(store: Path) -> None:
    """The first message is the discussion; comments, with votes as of the time, are plain text."""
    [early], [late] = (_view(store, _day(day)).discussions for day in (4, 13))
    assert (early.body, early.votes) == ("Scale first.\n[picture]", 1)
    assert [(each.id, each.parent, each.votes) for each in early.comments] == [("82", None, 0)]
    assert [(each.id, each.parent, each.votes) for each in late.comments] == [
        ("82", None, 1),
        ("83", "82", 0),
    ]
    assert [each.body for each in _view(store, _day(4), "leaf").discussions] == ["Leaves."]


def test_programs_are_read_from_where_they_lie(store: Path, tmp_path: Path) -> None:
    """Only ranked notebooks are read from Meta Kaggle Code, and nothing is copied into the store."""
    code = write_code(tmp_path / "code", v1001="x = 1\n", v1002="x = 2\n")
    set_code_folder(store, code)
    view = take_snapshot(
        store,
        tmp_path / "s",
        competition="titanic",
        as_of=_day(13),
        maximize=True,
        selection=Selection(notebooks=10, discussions=10),
    ).read()
    assert [(each.ref, each.source) for each in view.notebooks] == [("ada/first", "x = 2\n")]
    assert view.left_out == ("notebooks that cannot be read, as their code is not there: 1 (bob/fork)",)
    assert not (store / "code").exists()
    with pytest.raises(CommunityError, match="is no copy of Meta Kaggle Code"):
        set_code_folder(store, tmp_path / "s")


def _broken(rows: Rows) -> Rows:
    rows["KernelVotes"].append({"UserId": 1, "KernelVersionId": 1001, "VoteDate": "soon"})
    rows["KernelVotes"].append({"UserId": "x", "KernelVersionId": 1001, "VoteDate": "03/03/2023"})
    rows["KernelVotes"].append({"UserId": 1, "KernelVersionId": 999, "VoteDate": "03/03/2023"})
    rows["KernelVersions"].append(rows["KernelVersions"][0] | {"Id": 1009, "VersionNumber": ""})
    source = rows["KernelVersionCompetitionSources"][0]
    rows["KernelVersionCompetitionSources"].append(source | {"KernelVersionId": 1009})
    rows["ForumTopics"].append(rows["ForumTopics"][0] | {"Id": 79, "ForumId": 99})
    del rows["Teams"], rows["Organizations"]
    return rows


def test_rows_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    """Each unusable row is dropped with a reason; a missing table is reported, the rest imported."""
    dump = write_dump(tmp_path / "dump", _broken(tables()))
    with (dump / "Users.csv").open("ab") as file:
        file.write(b'23\n24,"eve",1,and,more\n25,\xff,0\n')
    done = ingest_dump(tmp_path / "store", dump).record
    assert [(each.what, each.reason, each.count) for each in done.dropped] == [
        ("Users.csv", "is not UTF-8", 1),
        ("Users.csv", "has too few columns", 1),
        ("Users.csv", "has too many columns", 1),
        ("KernelVotes.csv", "UserId is missing or is no id", 1),
        ("KernelVotes.csv", "VoteDate is missing or is no time", 1),
        ("Teams.csv", "is not there: no whose score it is", 1),
        ("Organizations.csv", "is not there: no names of organizations that own datasets", 1),
        ("ForumTopics.csv", "is in no forum of a competition", 1),
        ("KernelVersions.csv", "has no number, so only its votes count, for its notebook", 1),
        ("KernelVotes.csv", "what was voted for is not there", 1),
    ]
    assert [each.votes for each in _view(tmp_path / "store", _day(13)).notebooks] == [2, 0]


def test_votes_for_a_version_without_a_number_are_the_notebooks(tmp_path: Path) -> None:
    """A version without a number is no record, and its votes count for the notebook."""
    rows = tables()
    rows["KernelVersions"].append(rows["KernelVersions"][0] | {"Id": 1009, "VersionNumber": ""})
    source = rows["KernelVersionCompetitionSources"][0]
    rows["KernelVersionCompetitionSources"].append(source | {"KernelVersionId": 1009})
    rows["Submissions"].append(rows["Submissions"][0] | {"SourceKernelVersionId": 1009})
    rows["KernelVotes"] += [
        {"UserId": user, "KernelVersionId": 1009, "VoteDate": "03/04/2023"} for user in (22, 24, 25)
    ]
    done = ingest_dump(tmp_path / "store", write_dump(tmp_path / "dump", rows)).record
    assert [(each.what, each.reason, each.count) for each in done.dropped] == [
        ("KernelVersions.csv", "has no number, so only its votes count, for its notebook", 1),
        ("Submissions.csv", "its version has no number", 1),
    ]
    view = _view(tmp_path / "store", _day(9))
    seen = {each.ref: (each.version, each.votes) for each in view.notebooks}
    assert seen == {"ada/first": (1, 3), "bob/fork": (1, 0)}


@pytest.mark.parametrize(
    ("cast", "since"),
    [
        ("03/04/2023", datetime(2023, 3, 5, tzinfo=UTC)),
        ("3/4/2023", datetime(2023, 3, 5, tzinfo=UTC)),
        ("2023-03-04", datetime(2023, 3, 5, tzinfo=UTC)),
        ("03/04/2023 12:30:00", datetime(2023, 3, 4, 12, 30, tzinfo=UTC)),
        ("3/4/2023 12:30:00", datetime(2023, 3, 4, 12, 30, tzinfo=UTC)),
        ("2023-03-04 12:30:00", datetime(2023, 3, 4, 12, 30, tzinfo=UTC)),
        ("02/30/2023", None),
        ("03/04/2o23", None),
        ("03/04/2023 12:30:61", None),
    ],
)
def test_forms_of_times(tmp_path: Path, cast: str, since: datetime | None) -> None:
    """Times count from their second, days from their end, in each form; what is no time is dropped."""
    rows = tables()
    rows["KernelVotes"] = [{"UserId": 24, "KernelVersionId": 1001, "VoteDate": cast}]
    done = ingest_dump(tmp_path / "store", write_dump(tmp_path / "dump", rows)).record
    reasons = [each.reason for each in done.dropped if each.what == "KernelVotes.csv"]
    assert reasons == ([] if since else ["VoteDate is missing or is no time"])
    if since:
        counted = [
            sum(each.votes for each in _view(tmp_path / "store", at).notebooks)
            for at in (since - timedelta(seconds=1), since)
        ]
        assert counted == [0, 1]


def test_numbers_and_times_that_are_none_are_missing(tmp_path: Path) -> None:
    """A value that DuckDB can read and Python cannot becomes null."""
    rows = tables()
    rows["Submissions"][0]["PublicScoreFullPrecision"] = "nan"
    rows["KernelVotes"][0]["VoteDate"] = "12/31/9999"
    rows["ForumMessages"][1]["PostDate"] = "0044-03-15 (BC) 00:00:00"
    dropped = ingest_dump(tmp_path / "store", write_dump(tmp_path / "dump", rows)).record.dropped
    observed = [(each.what, each.reason) for each in dropped]
    assert ("KernelVotes.csv", "VoteDate is missing or is no time") in observed
    view = _view(tmp_path / "store", _day(20))
    assert len(view.notebooks) == 2
    assert len(view.discussions[0].comments) == 1


@pytest.mark.parametrize(
    ("table", "column", "message"),
    [
        ("Kernels", "", "has no Kernels.csv"),
        ("KernelVotes", "VoteDate", "KernelVotes.csv: has no column VoteDate"),
    ],
)
def test_what_is_needed_is_asked_for(table: str, column: str, message: str, tmp_path: Path) -> None:
    """A dump without a required table or column is refused in one line."""
    rows = tables()
    for row in rows[table]:
        row.pop(column, None)
    if not column:
        del rows[table]
    with pytest.raises(CommunityError, match=message):
        ingest_dump(tmp_path / "store", write_dump(tmp_path / "dump", rows))


def test_a_resumed_import_converts_no_table_again(tmp_path: Path) -> None:
    """An import resumed after a crash does not convert tables again."""
    dump = write_dump(tmp_path / "dump")
    source = dump_source(dump)

    def dies(*_: Any) -> Any:
        source.stage(*_)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_into(tmp_path / "store", ImportSource(source.kind, source.fingerprint, dies))
    for file in dump.iterdir():
        file.unlink()
    done = import_into(tmp_path / "store", source)
    assert done.record.taken["notebooks"] == 3


def test_files_of_an_import_are_sorted_by_name(store: Path) -> None:
    """Votes are sorted by what they are for, and versions by notebook, whatever their numbers are."""
    [votes], [versions] = (list((store / kind).iterdir()) for kind in ("votes", "notebooks"))
    targets = pq.read_table(votes)["target"].to_pylist()
    assert targets == sorted(targets)
    assert {each.split(":")[0] for each in targets} == {"comment", "discussion", "notebook"}
    named = pq.read_table(versions).select(["competition", "ref"]).to_pylist()
    assert named == sorted(named, key=lambda row: (row["competition"], row["ref"]))


def test_votes_of_an_earlier_version_are_known(store: Path, tmp_path: Path) -> None:
    """A store of an earlier version, whose votes have a hash and voters as text, gets no vote twice."""
    [file] = (store / "votes").iterdir()
    votes = pq.read_table(file)
    votes = votes.set_column(1, "voter", votes["voter"].cast(pa.string()))
    pq.write_table(votes.append_column("hash", pa.array([7] * len(votes), pa.uint64())), file)
    rows = deepcopy(tables())
    rows["KernelVotes"][0] = {**rows["KernelVotes"][0], "VoteDate": "03/22/2023"}
    added = ingest_dump(store, write_dump(tmp_path / "newer", rows))
    assert added.record.taken == {"votes": 1}


def test_votes_of_dumps_and_folders_are_counted_together(store: Path, tmp_path: Path) -> None:
    """Voters of a dump are numbers, those of a folder times: a store may have both, in any order."""
    times = ["2023-03-02T00:00:00Z", "2023-03-03T00:00:00Z", "2023-03-03T00:00:00Z"]
    line = notebook("ada/first", version=2, created_at="2023-03-01T00:00:00Z", vote_times=times)
    live = community(tmp_path / "live", notebooks=[line])
    ingest_folder(tmp_path / "other", live, "titanic")
    ingest_dump(tmp_path / "other", write_dump(tmp_path / "dump", tables()))
    assert ingest_folder(store, live, "titanic").record.taken["votes"] == 3
    for root in (store, tmp_path / "other"):
        assert {each.ref: each.votes for each in _view(root, _day(20)).notebooks}["ada/first"] == 5


def test_a_newer_dump_adds_what_is_new(store: Path, tmp_path: Path) -> None:
    """Only new records are added; an edited message counts from the newer dump on."""
    rows = tables()
    rows["KernelVotes"].append({"UserId": 24, "KernelVersionId": 1003, "VoteDate": "04/01/2023"})
    rows["ForumMessages"][1]["Message"] = "Why not?"
    done = ingest_dump(store, write_dump(tmp_path / "dump", rows)).record
    assert done.taken == {"comments": 1, "votes": 1}
    bodies = [
        next(each.body for each in _view(store, moment).discussions[0].comments if each.id == "82")
        for moment in (_day(30), datetime(2023, 4, 3, tzinfo=UTC))
    ]
    assert bodies == ["Why?", "Why not?"]


def test_a_row_of_the_far_future_does_not_date_an_import(store: Path, tmp_path: Path) -> None:
    """A dump is dated by its latest time that has passed, so that its edits count from then on."""
    rows = tables()
    rows["ForumMessages"][1]["Message"] = "Why not?"
    rows["ForumMessageVotes"].append(
        {"ForumMessageId": 82, "FromUserId": 24, "VoteDate": "01/01/2999 00:00:00"}
    )
    rows["KernelVotes"].append({"UserId": 24, "KernelVersionId": 1003, "VoteDate": "04/01/2023"})
    done = ingest_dump(store, write_dump(tmp_path / "dump", rows)).record
    assert done.observed_at == datetime(2023, 4, 2, tzinfo=UTC)
    assert "Why not?" in [each.body for each in _view(store, done.observed_at).discussions[0].comments]


def test_dumps_and_live_folders_are_one_community(store: Path, tmp_path: Path) -> None:
    """A notebook of a dump and of a live folder is one notebook, with the folder's code."""
    line = notebook("ada/first", version=3, created_at="2023-03-15T00:00:00Z", vote_times=None, votes=40)
    line["observed_at"] = "2023-03-16T00:00:00Z"
    ingest_folder(store, community(tmp_path / "live", notebooks=[line]), "titanic")
    observed = [
        [(each.ref, each.version, each.votes) for each in _view(store, _day(day)).notebooks]
        for day in (13, 16)
    ]
    assert observed == [
        [("ada/first", 2, 2), ("bob/fork", 1, 0)],
        [("ada/first", 3, 40), ("bob/fork", 1, 0)],
    ]


_late_days = st.integers(11, 28).map("03/{:02d}/2023".format)
_late_times = st.integers(11, 28).map("03/{:02d}/2023 12:00:00".format)


@st.composite
def _future(draw: st.DrawFn) -> Rows:
    """Return the small dump with events later than the tenth of March."""
    rows = deepcopy(tables())
    version, kernel = rows["KernelVersions"][0], rows["Kernels"][0]
    for number in range(draw(st.integers(0, 2))):
        old = draw(st.sampled_from([31, 32]))
        added = {"Id": 2000 + number, "ScriptId": old, "VersionNumber": 7 + number}
        rows["KernelVersions"].append(version | added | {"CreationDate": draw(_late_times)})
        rows["KernelVersionCompetitionSources"].append(
            {"KernelVersionId": 2000 + number, "SourceCompetitionId": 1}
        )
        rows["KernelVersionDatasetSources"].append(
            {"KernelVersionId": 2000 + number, "SourceDatasetVersionId": 51}
        )
    if draw(st.booleans()):  # written early, and made public late
        rows["Kernels"].append(
            kernel | {"Id": 39, "CurrentUrlSlug": "late", "MadePublicDate": draw(_late_days)}
        )
        rows["KernelVersions"].append(version | {"Id": 2009, "ScriptId": 39})
        rows["KernelVersionCompetitionSources"].append(
            {"KernelVersionId": 2009, "SourceCompetitionId": 1}
        )
    for user in range(draw(st.integers(0, 3))):
        rows["KernelVotes"].append(
            {
                "UserId": 90 + user,
                "KernelVersionId": draw(st.sampled_from([1001, 1003])),
                "VoteDate": draw(_late_days),
            }
        )
        rows["ForumMessageVotes"].append(
            {
                "ForumMessageId": draw(st.sampled_from([81, 82])),
                "FromUserId": 90 + user,
                "VoteDate": draw(_late_days),
            }
        )
        rows["ForumMessages"].append(
            rows["ForumMessages"][1] | {"Id": 900 + user, "PostDate": draw(_late_times)}
        )
        rows["Submissions"].append(
            rows["Submissions"][0]
            | {
                "SubmissionDate": draw(st.sampled_from(["03/02/2023", "03/12/2023"])),
                "ScoreDate": draw(_late_days),
                "PublicScoreFullPrecision": 0.9,
            }
        )
        rows["UserAchievements"].append(
            {"UserId": 22, "Tier": draw(st.integers(1, 4)), "TierAchievementDate": draw(_late_days)}
        )
        rows["DatasetVersions"].append(
            rows["DatasetVersions"][0]
            | {"Id": 59 + user, "VersionNumber": 2 + user, "CreationDate": draw(_late_times)}
        )
    if draw(st.booleans()):
        rows["ForumTopics"].append(
            rows["ForumTopics"][0]
            | {"Id": 78, "FirstForumMessageId": "", "CreationDate": draw(_late_times)}
        )
    for user in rows["Users"]:
        user["PerformanceTier"] = draw(st.integers(0, 5))
    return rows


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the small dump imported, to be copied before changes."""
    place = tmp_path_factory.mktemp("p")
    ingest_dump(place / "store", write_dump(place / "dump"))
    return place / "store"


@examples(3)
@given(_future())
def test_nothing_later_is_seen(
    tmp_path_factory: pytest.TempPathFactory, past: Path, future: Rows
) -> None:
    """As-of queries of the past are equal with and without later events in the dumps."""
    before = CommunityStore.open(past).items("titanic", _day(10))
    place = tmp_path_factory.mktemp("p")
    late = write_dump(place / "late", future)
    ingest_dump(place / "alone", late)
    shutil.copytree(past, place / "after")
    ingest_dump(place / "after", late)
    for name in ("alone", "after"):
        assert CommunityStore.open(place / name).items("titanic", _day(10)) == before
