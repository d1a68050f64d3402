"""The answers of a competition are returned by no route, whatever a request contains."""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.live.fault_injection import FaultInjector, RouteError
from comind.live.hosted import HostedCompetition
from comind.live.plain_files import PlainFiles
from comind.live.router import REQUEST_TYPES
from comind.live.routes import FileContent, FileLink
from tests.unit.live.worlds import NOON, ROUTES, SECRET, Client, open_world, submission, world_folder

_ANSWERS = "private/answers.csv"
_NAMES = (
    "small",
    "train.csv",
    "answers.csv",
    _ANSWERS,
    f"../{_ANSWERS}",
    f"public/../{_ANSWERS}",
    f"train.csv/../../{_ANSWERS}",
    f"./../{_ANSWERS}",
    f"..\\{_ANSWERS}",
    "..%2fprivate%2fanswers.csv",
    "link.csv",
    "linked/answers.csv",
    "hard.csv",
    "\0",
    "..",
    "/",
    "",
    "ada",
    "out",
    "over",
    "one",
    "one/1",
    "../../small",
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """A client of a competition whose folder contains many links to the answers."""
    root = tmp_path_factory.mktemp("trap")
    folder = world_folder(root)
    (folder / "public" / "link.csv").symlink_to("../private/answers.csv")
    (folder / "public" / "linked").symlink_to("../private")
    os.link(folder / _ANSWERS, folder / "public" / "hard.csv")
    community = folder / "community"
    community.mkdir()
    (community / "linked").symlink_to("../private")
    time = {"published_at": "2023-01-01T00:00:00Z"}
    datasets = [
        {"ref": "ada/out", "path": "../private", **time},
        {"ref": "ada/over", "path": "linked", **time},
        {"ref": "ada/all", "path": str(folder / "private"), **time},
    ]
    (community / "datasets.jsonl").write_text("".join(json.dumps(d) + "\n" for d in datasets))
    notebooks = [
        {"ref": "ada/one", "path": "../private/answers.csv", "created_at": "2023-01-01T00:00:00Z"},
        {"ref": "ada/one", "source": "x = 1", "created_at": "2023-01-01T00:00:00Z"},
    ]
    (community / "notebooks.jsonl").write_text("".join(json.dumps(n) + "\n" for n in notebooks))
    outputs = community / "outputs" / "ada" / "one"
    outputs.mkdir(parents=True)
    (outputs / "1").symlink_to(folder / "private")
    world = open_world(folder, NOON, scores="public")
    world.submit(submission(folder), user="ann")
    return Client([HostedCompetition(world, root / "archives")])


def _value(kind: type) -> st.SearchStrategy[Any]:
    if kind is str:
        return st.sampled_from(_NAMES) | st.text(max_size=20)
    if kind is int:
        return st.integers(-2, 50) | st.integers()
    return st.booleans()


def _body(route: str) -> st.SearchStrategy[dict[str, Any]]:
    fields = {
        field.json_name: _value(field.field_type)
        for field in REQUEST_TYPES[route]._fields
        if field.field_type in (str, int, bool)
    }
    return st.fixed_dictionaries({}, optional=fields)


def _bytes(client: Client, answer: object) -> bytes:
    """Return all bytes of a response, archives unpacked."""
    if isinstance(answer, FileLink):
        data = client.fetch(answer)
    else:
        data = answer.data if isinstance(answer, FileContent) else json.dumps(answer).encode()
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return b"\n".join(name.encode() + archive.read(name) for name in archive.namelist())
    return data


@pytest.mark.parametrize("route", sorted(set(ROUTES) - {"IntrospectToken"}))
def test_no_field_of_any_route_reaches_the_answers(client: Client, route: str) -> None:
    """Any request gets a well-formed response or an error, without the answers."""

    @given(body=_body(ROUTES[route]))
    def reach(body: dict[str, Any]) -> None:
        try:
            seen = _bytes(client, client.ask(route, **body))
        except RouteError as error:
            seen = str(error).encode()
        assert SECRET.encode() not in seen

    reach()


@pytest.mark.parametrize("name", [name for name in _NAMES if name != "train.csv"])
def test_no_name_leads_to_the_answers(client: Client, name: str) -> None:
    """By name, only regular files of `public` can be downloaded."""
    with pytest.raises(RouteError, match="File not found") as refused:
        client.ask("DownloadDataFile", competitionName="small", fileName=name)
    assert refused.value.code == 404


def test_all_files_in_one_archive_are_the_public_ones(client: Client) -> None:
    """The archive excludes links and hard links to the answers."""
    answer = client.ask("DownloadDataFiles", competitionName="small")
    assert isinstance(answer, FileLink)
    with zipfile.ZipFile(io.BytesIO(client.fetch(answer))) as archive:
        assert sorted(archive.namelist()) == [
            "description.md",
            "sample_submission.csv",
            "test.csv",
            "train.csv",
        ]


def test_a_forged_ticket_opens_nothing_else(client: Client) -> None:
    """Even a forged link resolves to regular files of its kind only."""
    for kind in ("data", "dataset", "output", "submission", "other"):
        for name in _NAMES:
            for ref in ("ada/out", "ada/over", "ada/all", "ada/one", "1", "..", ""):
                try:
                    seen = client.fetch(
                        FileLink(kind, "small", ref if kind != "submission" else "1", name)
                    )
                except RouteError:
                    continue
                assert SECRET.encode() not in seen


def test_a_submission_is_shown_to_its_owner_only(client: Client) -> None:
    """Another user finds neither a submission's metadata nor its file."""
    hosted = list(client.catalog.hosted.values())
    other = Client(hosted, user="bob", faults=FaultInjector())
    for route, field in (("GetSubmission", "ref"), ("DownloadSubmission", "submissionId")):
        with pytest.raises(RouteError, match="not found"):
            other.ask(route, **{field: 1})
        client.ask(route, **{field: 1})
    with pytest.raises(RouteError, match="not found"):
        other.fetch(FileLink("submission", "small", "1", "mine.csv"))


def test_files_are_found_by_their_own_names_only(tmp_path: Path) -> None:
    """A file has one name; path components too many or too few find nothing."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.csv").write_text("x")
    files = PlainFiles(tmp_path)
    assert files.names() == ["a/b/c.csv"]
    assert files.find("a/b/c.csv") == tmp_path / "a" / "b" / "c.csv"
    for name in ("a/b", "a//b/c.csv", "/a/b/c.csv", "a/./b/c.csv", "a/b/c.csv/", "x" * 300, "c.csv"):
        assert files.find(name) is None
    single = PlainFiles(tmp_path / "a" / "b" / "c.csv")
    assert single.names() == ["c.csv"]
    assert single.find("c.csv") is not None
    assert single.find("d.csv") is None
