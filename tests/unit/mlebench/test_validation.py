"""/validate responds with valid or invalid, and nothing else."""

import json
import socket
import tracemalloc
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from comind.mlebench.benchmark_grader import BenchmarkAnswers, BenchmarkGrade
from comind.mlebench.catalog import Mode, find_benchmark_competition
from comind.mlebench.validation_server import ValidationServer
from tests.unit.mlebench.worlds import make_world

_FORM = b'--xyz\r\nContent-Disposition: form-data; name="%b"; filename="s.csv"\r\n\r\n%b\r\n--xyz--\r\n'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a server, and the folder of submissions."""
    entry = find_benchmark_competition("us-patent-phrase-to-phrase-matching")
    answers = BenchmarkAnswers(entry, make_world(entry).write(tmp_path))
    with ValidationServer(answers, Mode.MLEBENCH) as server:
        yield server.url, tmp_path


def _asked(address: str, body: bytes | None, kind: str = "text/csv") -> tuple[int, dict[str, str]]:
    request = urllib.request.Request(address, data=body, headers={"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_valid_or_not_and_nothing_more(served: tuple[str, Path]) -> None:
    """A good and a perfect file get the same response; every invalid file gets the other."""
    address, folder = served
    said = {
        name: _asked(f"{address}/validate", (folder / f"{name}.csv").read_bytes())
        for name in ("perfect", "close", "short", "stranger", "blank", "unnamed")
    }
    assert said.pop("perfect") == said.pop("close") == (200, {"result": "Submission is valid."})
    assert set(map(str, said.values())) == {str((200, {"result": "Submission is invalid."}))}
    assert _asked(f"{address}/validate", b"\x00\xff")[1] == {"result": "Submission is invalid."}


def test_a_form_is_understood(served: tuple[str, Path]) -> None:
    """A form with the field `file` is accepted, as MLE-bench's script sends it."""
    address, folder = served
    kind = "multipart/form-data; boundary=xyz"
    body = _FORM % (b"file", (folder / "close.csv").read_bytes())
    assert _asked(f"{address}/validate", body, kind) == (200, {"result": "Submission is valid."})
    assert _asked(f"{address}/validate", _FORM % (b"other", b"id"), kind)[0] == 400
    assert _asked(f"{address}/validate", body, "multipart/form-data")[0] == 400


# Starlette leaves the file of such a form to the garbage collector.
@pytest.mark.filterwarnings("ignore:.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning")
def test_a_form_that_is_cut_off_is_not_understood(served: tuple[str, Path]) -> None:
    """A file whose end has not arrived is not taken for a whole one."""
    kind = "multipart/form-data; boundary=xyz"
    body = _FORM % (b"file", (served[1] / "close.csv").read_bytes())
    assert _asked(f"{served[0]}/validate", body.removesuffix(b"--xyz--\r\n"), kind)[0] == 400


def test_a_client_that_disconnects_is_no_error(
    capfd: pytest.CaptureFixture[str], served: tuple[str, Path]
) -> None:
    """A client that closes its connection within the body leaves no traceback on stderr."""
    address, _ = served
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        head = f"POST /validate HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9"
        client.sendall(f"{head}\r\n\r\nid".encode())
        assert _asked(f"{address}/health", None)[0] == 200
    assert _asked(f"{address}/health", None)[0] == 200
    assert capfd.readouterr().err == ""


def test_it_says_that_it_runs(served: tuple[str, Path]) -> None:
    """GET /health reports that it runs, as MLE-bench's server does; other paths are 404."""
    address, _ = served
    assert _asked(f"{address}/health", None) == (200, {"status": "running"})
    assert _asked(f"{address}/answers", None)[0] == 404
    assert _asked(f"{address}/answers", b"")[0] == 404


class _Sizes(BenchmarkAnswers):
    """Notes the size of each file instead of grading it."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def grade(self, submission: Path, mode: Mode = Mode.KAGGLE) -> BenchmarkGrade:
        """Find no file valid."""
        self.sizes.append(submission.stat().st_size)
        return BenchmarkGrade(metric=mode.value)


@pytest.mark.parametrize("kind", ["text/csv", "multipart/form-data; boundary=xyz"])
def test_a_large_file_is_not_held_in_memory(kind: str) -> None:
    """Neither as the body nor in a form; it arrives whole."""
    answers, size = _Sizes(), 48 << 20
    start, end = b"", b""
    if kind != "text/csv":
        start, end = (_FORM % (b"file", b"<content>")).split(b"<content>")
    parts = [start, *[bytes(1 << 20)] * (size >> 20), end]
    with ValidationServer(answers, Mode.MLEBENCH) as server:
        client = HTTPConnection("localhost", server.port, timeout=20)
        tracemalloc.start()
        length = str(sum(map(len, parts)))
        client.request("POST", "/validate", parts, {"Content-Type": kind, "Content-Length": length})
        with client.getresponse() as response:
            assert response.status == 200
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        client.close()
    assert answers.sizes == [size]
    assert peak < 16 << 20


def test_a_body_that_does_not_arrive_ends_with_the_timeout() -> None:
    """A body that does not arrive holds neither connection nor file for longer than the timeout."""
    with (
        ValidationServer(_Sizes(), Mode.MLEBENCH, patience=0.2) as server,
        socket.create_connection(("localhost", server.port), timeout=20) as client,
    ):
        head = "POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9"
        client.sendall(f"{head}\r\n\r\nid".encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 408")
