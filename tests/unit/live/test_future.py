"""Nothing later than the as-of time is visible through any route.

Each example is a community and a leaderboard with events before and after a moment. The responses as of
that moment must be byte-identical to those of a server on which the later events never happened.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.community.store.as_of_store import CommunityStore
from comind.community.store.folder_import import ingest_folder
from comind.live.fault_injection import RouteError
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import stable_id
from comind.live.routes import FileContent, FileLink
from comind.live.submissions import SubmissionStore
from tests.examples import examples
from tests.unit.live.worlds import NOON, ROUTES, Client, leaderboard, open_world, world_folder

pytestmark = pytest.mark.slow

_HOUR = timedelta(hours=1)
_hours = st.integers(-50, 50)
_REFS = ("ada/one", "bob/two")
_Line = dict[str, Any]

_votes = st.one_of(st.none(), st.lists(_hours, max_size=4))
_notebooks = st.fixed_dictionaries(
    {
        "ref": st.sampled_from(_REFS),
        "version": st.integers(1, 2),
        "title": st.sampled_from(["A", "B"]),
        "created_at": _hours,
        "updated_at": st.none() | _hours,
        "vote_times": _votes,
        "votes": st.integers(0, 9),
        "public_score": st.none() | st.floats(0, 1),
        "source": st.sampled_from(["x = 1", "x = 2"]),
    }
)
_comments = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b", "c"]),
        "parent": st.sampled_from([None, "a", "b"]),
        "posted_at": _hours,
        "vote_times": _votes,
        "body": st.sampled_from(["yes", "no"]),
    }
)
_discussions = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["1", "2", "345678"]),
        "title": st.sampled_from(["T", "U"]),
        "posted_at": _hours,
        "updated_at": st.none() | _hours,
        "vote_times": _votes,
        "body": st.sampled_from(["text", "other"]),
        "comments": st.lists(_comments, max_size=3),
    }
)
_datasets = st.fixed_dictionaries(
    {
        "ref": st.sampled_from(_REFS),
        "version": st.integers(1, 2),
        "title": st.sampled_from(["D", "E"]),
        "published_at": _hours,
        "path": st.sampled_from(["data/1", "data/2"]),
    }
)
_history = st.lists(st.tuples(st.integers(1, 3), _hours, st.integers(0, 9)), max_size=5)
_TIMES = ("created_at", "updated_at", "posted_at", "published_at")


def _written(line: _Line) -> _Line:
    """Return a line with hours converted into times."""

    def time(hours: int) -> str:
        return (NOON + hours * _HOUR).isoformat()

    written = {key: time(v) if key in _TIMES and v is not None else v for key, v in line.items()}
    if written.get("vote_times") is not None:
        written["vote_times"] = [time(each) for each in written["vote_times"]]
    if "comments" in written:
        written["comments"] = [_written(comment) for comment in written["comments"]]
    return written


def _before(line: _Line) -> _Line | None:
    """Return a line as if nothing had happened after the moment; None for no line."""
    if any(line.get(key) is not None and line[key] > 0 for key in _TIMES):
        return None
    kept = dict(line)
    if kept.get("vote_times") is not None:
        kept["vote_times"] = [each for each in kept["vote_times"] if each <= 0]
    if "comments" in kept:
        kept["comments"] = [c for comment in kept["comments"] if (c := _before(comment))]
    return kept


def _write(folder: Path, name: str, lines: list[_Line]) -> None:
    text = "".join(json.dumps(_written(line)) + "\n" for line in lines)
    (folder / "community" / name).write_text(text)


def _requests() -> Iterator[tuple[str, _Line]]:
    """Yield requests to every route, about everything that exists before or after the moment."""
    name = {"competitionName": "small"}
    for sort in ("HOTNESS", "DATE_RUN", "VOTE_COUNT", "SCORE_ASCENDING", "SCORE_DESCENDING"):
        yield "ListKernels", {"competition": "small", "sortBy": sort}
    for sort in ("HOT", "TOP", "NEW", "RECENT"):
        yield "ListCompetitionTopics", name | {"sortBy": f"TOPIC_LIST_SORT_BY_{sort}"}
        yield "ListTopics", {"sortBy": f"TOPIC_LIST_SORT_BY_{sort}"}
    for ref in _REFS:
        yield from _about_an_item(*ref.split("/"))
    for topic in ("1", "2", "345678"):
        identity = stable_id("small", "topic", topic)
        yield "GetTopic", {"id": identity}
        yield "ListComments", {"topicId": identity}
        yield "ListTopicMessages", name | {"topicId": identity, "pageSize": -1}
    for override in (False, True):
        yield "GetLeaderboard", name | {"overridePublic": override}
    yield from (("ListCompetitions", {}), ("ListDatasets", {}))
    for route in _OF_A_COMPETITION:
        yield route, name
    yield "DownloadDataFile", name | {"fileName": "train.csv"}


_OF_A_COMPETITION = (
    "GetCompetition",
    "ListCompetitionPages",
    "ListDataFiles",
    "DownloadDataFiles",
    "DownloadLeaderboard",
    "GetSubmissionLimits",
    "ListSubmissions",
)


def _about_an_item(owner: str, slug: str) -> Iterator[tuple[str, _Line]]:
    """Yield requests about a notebook and a dataset, in every version."""
    for version in ("", "/1", "/2"):
        kernel = {"userName": owner, "kernelSlug": slug + version}
        for route in ("GetKernel", "ListKernelFiles", "ListKernelSessionOutput"):
            yield route, kernel
        yield "GetKernelSessionStatus", kernel
        written = {"ownerSlug": owner, "kernelSlug": slug, "filePath": "result.csv"}
        yield "DownloadKernelOutput", written | {"versionNumber": int(version[1:] or 0)}
    dataset = {"ownerSlug": owner, "datasetSlug": slug}
    for number_ in (None, 1, 2):
        yield "DownloadDataset", dataset | {"datasetVersionNumber": number_}
        yield "ListDatasetFiles", dataset | {"datasetVersionNumber": number_}
    for route in ("GetDataset", "GetDatasetMetadata", "GetDatasetStatus"):
        yield route, dataset
    yield "DownloadDataset", dataset | {"fileName": "rows.csv"}


def _seen(client: Client) -> list[tuple[str, _Line, object]]:
    """Return all responses; files as bytes."""
    answers: list[tuple[str, _Line, object]] = []
    for route, body in _requests():
        answer: object
        try:
            answer = client.ask(route, **body)
            if isinstance(answer, FileLink):
                answer = (answer, client.fetch(answer))
            elif isinstance(answer, FileContent):
                answer = answer.data
        except RouteError as error:
            answer = (error.code, str(error))
        answers.append((route, body, answer))
    return answers


class _Pair:
    """Two folders of one competition; only one has events after the moment."""

    def __init__(self, root: Path) -> None:
        self.store = SubmissionStore(root / "book")
        self.archives = root / "archives"
        # A leaderboard without times is from after the end.
        self.whole = world_folder(root / "whole")
        leaderboard(self.whole, "private.csv", "rank,score", "1,0.9")
        leaderboard(self.whole, "public.csv", "rank,score", "1,0.8")
        self.cut = world_folder(root / "cut")
        for folder in (self.whole, self.cut):
            for file in folder.rglob("*.*"):
                assert file.stat().st_mtime > NOON.timestamp()
            for version in ("1", "2"):
                data = folder / "community" / "data" / version
                data.mkdir(parents=True)
                (data / "rows.csv").write_text(f"a\n{version}\n")
                for ref in _REFS:
                    output = folder / "community" / "outputs" / ref / version
                    output.mkdir(parents=True)
                    (output / "result.csv").write_text(f"{ref}\n{version}\n")

    def client(self, folder: Path) -> Client:
        world = open_world(folder, NOON, store=self.store)
        return Client([HostedCompetition(world, self.archives / folder.parent.name)])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> _Pair:
    return _Pair(tmp_path_factory.mktemp("worlds"))


@given(
    notebooks=st.lists(_notebooks, max_size=4),
    discussions=st.lists(_discussions, max_size=3),
    datasets=st.lists(_datasets, max_size=3),
    history=_history,
)
def test_nothing_later_is_visible_through_any_route(
    pair: _Pair,
    notebooks: list[_Line],
    discussions: list[_Line],
    datasets: list[_Line],
    history: list[tuple[int, int, int]],
) -> None:
    """Every response equals that of a server on which nothing happened after the moment."""
    lines = {
        "notebooks.jsonl": notebooks,
        "discussions.jsonl": discussions,
        "datasets.jsonl": datasets,
    }
    for name, written in lines.items():
        _write(pair.whole, name, written)
        _write(pair.cut, name, [kept for line in written if (kept := _before(line))])
    for folder, latest in ((pair.whole, 100), (pair.cut, 0)):
        rows = [
            f"{team},t{team},{NOON + hours * _HOUR},{score}"
            for team, hours, score in [*history, (9, -50, 5)]
            if hours <= latest
        ]
        leaderboard(folder, "history.csv", "TeamId,TeamName,SubmissionDate,Score", *rows)
    assert _seen(pair.client(pair.whole)) == _seen(pair.client(pair.cut))


_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?")


@given(
    notebooks=st.lists(_notebooks, max_size=3),
    discussions=st.lists(_discussions, max_size=3),
    datasets=st.lists(_datasets, max_size=3),
)
def test_no_time_in_any_answer_is_later(
    pair: _Pair, notebooks: list[_Line], discussions: list[_Line], datasets: list[_Line]
) -> None:
    """No time in a response but the deadline is later than the moment, files' times included."""
    _write(pair.whole, "notebooks.jsonl", notebooks)
    _write(pair.whole, "discussions.jsonl", discussions)
    _write(pair.whole, "datasets.jsonl", datasets)
    for route, body, answer in _seen(pair.client(pair.whole)):
        if isinstance(answer, dict):
            for listed in (answer, *answer.get("competitions", [])):
                listed.pop("deadline", None)
            for time in _ISO.findall(json.dumps(answer)):
                assert datetime.fromisoformat(time).replace(tzinfo=UTC) <= NOON, (route, body)


def test_every_route_is_asked() -> None:
    """The comparison covers every route but those of uploads and submissions."""
    handing_in = {
        "StartSubmissionUpload",
        "CreateSubmission",
        "CreateCodeSubmission",
        "GetSubmission",
        "DownloadSubmission",
        "IntrospectToken",
    }
    assert {route for route, _ in _requests()} == set(ROUTES) - handing_in


def test_the_comparison_would_find_what_is_later(pair: _Pair, tmp_path: Path) -> None:
    """As of a later moment, the responses of the two servers differ."""
    folder = tmp_path / "seen"
    shutil.copytree(pair.whole, folder)
    line = {"ref": "ada/one", "version": 1, "title": "A", "created_at": 1, "source": "x"}
    _write(folder, "notebooks.jsonl", [line])
    hosted = HostedCompetition(open_world(folder, NOON), tmp_path)
    before = _seen(Client([hosted]))
    hosted.world.clock.set(NOON + 2 * _HOUR)
    assert _seen(Client([hosted])) != before


def test_final_leaderboards_wait_for_the_deadline(tmp_path: Path) -> None:
    """Without a history no team is visible before the deadline; after it, the private leaderboard is."""
    folder = world_folder(tmp_path)
    leaderboard(folder, "public.csv", "rank,score", "1,0.8")
    leaderboard(folder, "private.csv", "rank,score", "1,0.9")
    client = Client([HostedCompetition(open_world(folder, NOON), tmp_path)])
    request = {"competitionName": "small"}
    assert client.ask("GetLeaderboard", **request) == {}
    assert "teamCount" not in client.ask("GetCompetition", **request)
    client.catalog.find("small").world.clock.set(NOON + 1000 * _HOUR)
    (private,) = client.ask("GetLeaderboard", **request)["submissions"]
    (public,) = client.ask("GetLeaderboard", **request, overridePublic=True)["submissions"]
    assert (private["score"], public["score"]) == ("0.9", "0.8")


_THERE = {"ref": "carl/first", "version": 1, "title": "First", "created_at": -60, "source": "x = 0"}


@examples(8)
@given(
    notebooks=st.lists(_notebooks, max_size=3),
    discussions=st.lists(_discussions, max_size=3),
)
def test_nothing_later_is_visible_through_a_store(
    pair: _Pair, notebooks: list[_Line], discussions: list[_Line]
) -> None:
    """The guarantee also holds for a community in a store."""
    seen = []
    for folder, cut in ((pair.whole, False), (pair.cut, True)):
        for name, lines in (("notebooks", [_THERE, *notebooks]), ("discussions", discussions)):
            kept = [line for each in lines if (line := _before(each) if cut else each)]
            _write(folder, f"{name}.jsonl", kept)
        _write(folder, "datasets.jsonl", [])
        with tempfile.TemporaryDirectory() as store:
            ingest_folder(Path(store), folder / "community", "small")
            community = CommunityStore.open(Path(store))
            world = open_world(folder, NOON, store=pair.store, community=community)
            seen.append(_seen(Client([HostedCompetition(world, pair.archives / folder.parent.name)])))
    assert [pair for pair in zip(*seen, strict=True) if pair[0] != pair[1]] == []
