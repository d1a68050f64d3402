"""MLE-Live's server over HTTP, asked by the official client's own library where it has a call."""

import base64
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from kagglesdk import KaggleClient
from kagglesdk.competitions.types import competition_api_service as types
from kagglesdk.kaggle_env import KaggleEnv
from kagglesdk.security.types.oauth_service import IntrospectTokenRequest

from comind.errors import ServiceError
from comind.live.fault_injection import FaultInjector
from comind.live.hosted import HostedCompetition
from comind.live.server import LiveServer
from comind.live.submissions import SubmissionStore
from tests.unit.live.worlds import NOON, SECRET, open_world, submission, world_folder


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The client's library finds no token of the developer's at home."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return world_folder(tmp_path)


@pytest.fixture
def hosted(folder: Path, tmp_path: Path) -> HostedCompetition:
    return HostedCompetition(open_world(folder, NOON, scores="public"), tmp_path / "archives")


@pytest.fixture
def server(hosted: HostedCompetition, tmp_path: Path) -> Iterator[LiveServer]:
    with LiveServer([hosted], log=tmp_path / "requests.jsonl") as server:
        yield server


def _client(server: LiveServer, **credentials: str) -> Any:
    """Return the client's library, pointed at a server."""
    given = credentials or {"username": "ann", "password": "key"}
    client = KaggleClient(env=KaggleEnv.LOCAL, **given)
    client.http_client()._endpoint = server.url
    return client.competitions.competition_api_client


def _named(kind: Any, **fields: Any) -> Any:
    request = kind()
    request.competition_name = "small"
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def _submit(api: Any, content: bytes) -> Any:
    start = types.ApiStartSubmissionUploadRequest
    started = api.start_submission_upload(
        _named(start, content_length=len(content), file_name="mine.csv")
    )
    assert requests.put(started.create_url, data=content, timeout=5).status_code == 200
    return api.create_submission(
        _named(types.ApiCreateSubmissionRequest, blob_file_tokens=started.token)
    )


def _graded(api: Any) -> list[Any]:
    """Return the submissions, the newest first, once none is pending any more."""
    for _ in range(500):
        listed: list[Any] = api.list_submissions(_named(types.ApiListSubmissionsRequest)).submissions
        if all(each.status.name != "PENDING" for each in listed):
            return listed
        time.sleep(0.01)
    raise AssertionError("a submission stays ungraded")


def test_the_library_submits_and_polls(server: LiveServer, folder: Path) -> None:
    """A submission is taken at once and graded soon; its score comes with the list."""
    api = _client(server)
    made = _submit(api, submission(folder).read_bytes())
    (listed,) = _graded(api)
    assert (listed.ref, listed.status.name, listed.public_score) == (made.ref, "COMPLETE", "1.00000")
    limits = api.get_submission_limits(_named(types.ApiGetSubmissionLimitsRequest))
    assert (limits.num_today, limits.num_allowed_now) == (1, 4)


def test_an_interrupted_download_goes_on(server: LiveServer, folder: Path) -> None:
    """The second half of a file alone can be had, and another file's validator gets the whole."""
    request = _named(types.ApiDownloadDataFileRequest, file_name="train.csv")
    whole = _client(server).download_data_file(request)
    data = (folder / "public" / "train.csv").read_bytes()
    assert whole.content == data
    assert whole.headers["Accept-Ranges"] == "bytes"
    assert whole.headers["Content-Length"] == str(len(data))
    assert whole.headers["Last-Modified"] == "Sat, 01 Apr 2023 12:00:00 GMT"
    ask = {"Range": "bytes=10-", "If-Range": whole.headers["ETag"]}
    rest = requests.get(whole.url, headers=ask, timeout=5)
    assert (rest.status_code, rest.content) == (206, data[10:])
    other = requests.get(whole.url, headers=ask | {"If-Range": '"other"'}, timeout=5)
    assert (other.status_code, other.content) == (200, data)


def test_an_interrupted_upload_goes_on(server: LiveServer) -> None:
    """The server says how much has come, and takes the rest from there."""
    start = _named(types.ApiStartSubmissionUploadRequest, content_length=6, file_name="a.csv")
    url = _client(server).start_submission_upload(start).create_url
    asked = {"Content-Range": "bytes */6"}
    assert requests.put(url, headers=asked, timeout=5).status_code == 308
    requests.put(url, data=b"abc", timeout=5)
    partly = requests.put(url, headers=asked, timeout=5)
    assert (partly.status_code, partly.headers["Range"]) == (308, "bytes=0-2")
    rest = requests.put(url, data=b"def", headers={"Content-Range": "bytes 3-5/6"}, timeout=5)
    assert rest.status_code == 200
    assert requests.put(url, data=b"more than was said", timeout=5).status_code == 400
    endless = {"Content-Range": f"bytes {'9' * 5000}-"}
    assert requests.put(url, data=b"x", headers=endless, timeout=5).status_code == 400
    assert requests.put(f"{server.url}/upload/other", data=b"x", timeout=5).status_code == 404


def test_a_busy_server_answers_with_retry_after(server: LiveServer) -> None:
    """So many calls are answered 429 with Retry-After, or 500, and the next ones well."""
    api = _client(server)
    server.faults.rate_limit(2, retry_after=3, method="ListCompetitions")
    server.faults.fail(method="GetCompetition")
    assert api.get_submission_limits(_named(types.ApiGetSubmissionLimitsRequest)).num_allowed_now == 5
    for _ in range(2):
        with pytest.raises(requests.HTTPError) as refused:
            api.list_competitions()
        assert refused.value.response.status_code == 429
        assert refused.value.response.headers["Retry-After"] == "3"
    with pytest.raises(requests.HTTPError, match="Internal server error"):
        api.get_competition(_named(types.ApiGetCompetitionRequest))
    assert len(api.list_competitions().competitions) == 1


def test_credentials_are_asked_for(hosted: HostedCompetition) -> None:
    """Without users anybody with a name is let in; with some, only those with the right key or token."""
    with LiveServer([hosted], users={"ann": "right"}) as server:
        assert (
            len(_client(server, username="ann", password="right").list_competitions().competitions) == 1
        )
        assert len(_client(server, api_token="right").list_competitions().competitions) == 1
        for wrong in (
            {"username": "ann", "password": "wrong"},
            {"username": "bob", "password": "right"},
            {"api_token": "wrong"},
        ):
            with pytest.raises(requests.HTTPError, match="Unauthenticated"):
                _client(server, **wrong).list_competitions()


def test_expired_credentials_are_refused_until_renewed(server: LiveServer) -> None:
    """With 401, whatever they are."""
    api = _client(server)
    server.faults.expire()
    with pytest.raises(requests.HTTPError, match="Unauthenticated"):
        api.list_competitions()
    server.faults.expire(expired=False)
    api.list_competitions()


def test_a_token_has_a_holder(server: LiveServer) -> None:
    """Asked whose it is, the server names one and the same; an expired one is nobody's."""
    client = KaggleClient(env=KaggleEnv.LOCAL, api_token="abc")
    client.http_client()._endpoint = server.url
    request = IntrospectTokenRequest()
    request.token = "abc"
    held = client.security.oauth_client.introspect_token(request)
    assert held.active
    assert held.username.startswith("holder-")
    server.faults.expire()
    assert not client.security.oauth_client.introspect_token(request).active


def _post(server: LiveServer, path: str, data: bytes = b"{}", **headers: str) -> requests.Response:
    login = {"Authorization": f"Basic {base64.b64encode(b'ann:key').decode()}"}
    return requests.post(f"{server.url}{path}", data=data, headers=login | headers, timeout=5)


@pytest.mark.parametrize(
    ("path", "data", "code"),
    [
        ("/api/v1/competitions.CompetitionApiService/LaunchCompetition", b"{}", 404),
        ("/api/v1/none/none", b"{}", 404),
        ("/", b"{}", 404),
        ("/api/v1/competitions.CompetitionApiService/GetCompetition", b"[", 400),
        ("/api/v1/competitions.CompetitionApiService/GetCompetition", b"[]", 400),
        ("/api/v1/competitions.CompetitionApiService/GetCompetition", b'{"competitionName": 1}', 400),
        ("/api/v1/competitions.CompetitionApiService/ListCompetitions", b'{"sortBy": "NO"}', 400),
        ("/api/v1/competitions.CompetitionApiService/ListCompetitions", b"[" * 100_000, 400),
        ("/api/v1/competitions.CompetitionApiService/ListCompetitions", b" " * (2 << 20), 413),
    ],
)
def test_what_is_no_request_is_refused_in_kaggles_form(
    server: LiveServer, path: str, data: bytes, code: int
) -> None:
    """A code and a message as JSON, and the server goes on."""
    answer = _post(server, path, data)
    assert answer.status_code == code
    assert answer.json()["code"] == code
    assert answer.json()["message"]
    assert len(_client(server).list_competitions().competitions) == 1


@pytest.mark.parametrize(
    "path",
    [
        "/files/x/train.csv",
        "/files/x.y/train.csv",
        "/files/%2e%2e/%2e%2e/private/answers.csv",
        "/files/../../private/answers.csv",
        "/private/answers.csv",
        "/small/private/answers.csv",
        "/upload/..%2f..%2fprivate%2fanswers.csv",
    ],
)
def test_no_path_leads_to_the_answers(server: LiveServer, path: str) -> None:
    """Without an address that the server made, there is nothing."""
    answer = requests.get(f"{server.url}{path}", timeout=5)
    assert answer.status_code in (403, 404)
    assert SECRET not in answer.text


def test_a_changed_address_opens_nothing(server: LiveServer) -> None:
    """A file's address carries the server's seal."""
    request = _named(types.ApiDownloadDataFileRequest, file_name="train.csv")
    url = _client(server).download_data_file(request).url
    ticket = url.split("/")[-2]
    text, seal = ticket.split(".")
    user, fields = json.loads(base64.urlsafe_b64decode(text))
    fields["name"] = "test.csv"
    forged = base64.urlsafe_b64encode(json.dumps([user, fields]).encode()).decode()
    assert requests.get(url, timeout=5).status_code == 200
    assert requests.get(url.replace(text, forged), timeout=5).status_code == 403
    assert requests.get(url.replace(seal, "0" * 64), timeout=5).status_code == 403


def test_many_ask_at_once(server: LiveServer, folder: Path) -> None:
    """Twelve clients at once all get their answers, and their submissions have numbers of their own."""
    content = submission(folder).read_bytes()

    def ask(number: int) -> int:
        ref: int = _submit(_client(server, username=f"user-{number}", password="k"), content).ref
        return ref

    with ThreadPoolExecutor(12) as pool:
        assert sorted(pool.map(ask, range(12))) == list(range(1, 13))


def test_a_restarted_server_knows_its_submissions(folder: Path, tmp_path: Path) -> None:
    """What was handed in before is listed, graded, and counted against the day."""
    for killed in (False, True):
        store = SubmissionStore(tmp_path / "state")
        hosted = HostedCompetition(open_world(folder, NOON, scores="public", store=store), tmp_path)
        if killed:  # before it had graded what it had taken
            (tmp_path / "x.csv").write_bytes(b"x")
            hosted.world.accept(tmp_path / "x.csv", "", user="ann", file_name="x.csv")
        with LiveServer([hosted]) as server:
            api = _client(server)
            _submit(api, submission(folder).read_bytes())
            listed = [(each.ref, each.status.name) for each in _graded(api)]
        store.close()
    assert listed == [(3, "COMPLETE"), (2, "ERROR"), (1, "COMPLETE")]


def test_each_request_is_noted(server: LiveServer, tmp_path: Path) -> None:
    """When, what, by which client, and how it was answered."""
    _client(server).list_competitions()
    requests.get(f"{server.url}/files/x/y", headers={"User-Agent": "another"}, timeout=5)
    lines = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert [(line["method"], line["route"], line["user_agent"], line["status"]) for line in lines] == [
        ("POST", "competitions.CompetitionApiService/ListCompetitions", "", 200),
        ("GET", "files", "another", 403),
    ]


def test_a_part_of_a_file_is_logged_as_a_part(server: LiveServer, tmp_path: Path) -> None:
    """A range has status 206, in the response and in the log."""
    api = _client(server)
    found = api.download_data_file(_named(types.ApiDownloadDataFileRequest, file_name="train.csv"))
    got = requests.get(found.url, headers={"Range": "bytes=0-3"}, timeout=5)
    assert (got.status_code, len(got.content)) == (206, 4)
    last = json.loads((tmp_path / "requests.jsonl").read_text().splitlines()[-1])
    assert (last["route"], last["status"]) == ("files", 206)


def test_an_upload_of_more_than_a_quarter_of_a_gigabyte_is_refused(server: LiveServer) -> None:
    """Before anything is sent."""
    start = types.ApiStartSubmissionUploadRequest
    with pytest.raises(requests.HTTPError, match="at most 268435456 bytes"):
        _client(server).start_submission_upload(
            _named(start, content_length=1 << 30, file_name="mine.csv")
        )


def test_an_upload_goes_on_where_it_was_cut_off(server: LiveServer) -> None:
    """What has arrived is kept, a gap is refused, and the rest completes it."""
    start = types.ApiStartSubmissionUploadRequest
    started = _client(server).start_submission_upload(
        _named(start, content_length=6, file_name="mine.csv")
    )

    def put(content: bytes, place: str) -> requests.Response:
        headers = {"Content-Range": f"bytes {place}/6"}
        return requests.put(started.create_url, data=content, headers=headers, timeout=5)

    first = put(b"abc", "0-2")
    assert (first.status_code, first.headers["Range"]) == (308, "bytes=0-2")
    assert put(b"f", "5-5").status_code == 400
    assert put(b"", "*").headers["Range"] == "bytes=0-2"
    assert put(b"def", "3-5").status_code == 200


def test_a_port_in_use_is_told_in_one_line(server: LiveServer, hosted: HostedCompetition) -> None:
    """With how to mend it."""
    with pytest.raises(ServiceError, match="cannot listen there") as refused:
        LiveServer([hosted], port=server.port, faults=FaultInjector())
    assert "--port" in refused.value.hint


@pytest.mark.parametrize("line", ["POST /api/v1/a/B", "PUT /upload/token"])
def test_a_client_that_disconnects_is_no_error(
    capfd: pytest.CaptureFixture[str], server: LiveServer, line: str
) -> None:
    """A connection that is closed within a body leaves no traceback, and the next is answered."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
        client.sendall(f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{{".encode())
        assert requests.get(f"{server.url}/nothing", timeout=5).status_code == 404
    assert requests.get(f"{server.url}/nothing", timeout=5).status_code == 404
    server.stop()
    assert server._thread is not None
    server._thread.join(10)
    assert "Traceback" not in capfd.readouterr().err
