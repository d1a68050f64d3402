"""The endpoint of a cell's programs records and meters each request, and repeats none that was paid."""

import http.client
import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.work_events import WORK_EVENTS, CallAnswered, CallSent, CellStarted
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.work.endpoint import SECONDS, SOCKET, ModelEndpoint, interrupted_replies
from comind.campaign.work.metering import BudgetLedger, Meter
from comind.campaign.work.recorder import Recorder
from comind.domain.spend import Budget, Spend
from comind.eventlog.log import EventLog
from comind.llm.model_ports import ChatModel
from comind.llm.openai_model import OpenAIModel
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import ModelSettings, Price, Traffic
from comind.testing import ScriptedModel
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import reset, slow, status

_PRICE = Price(prompt=1000, completion=1000)
_CELL = CellStarted(ordinal=0, step=1, goal="run", code="run()")


@dataclass
class _Attempt:
    """An attempt whose first cell runs, over a log in a folder."""

    root: Path
    usd: float | None = None

    @contextmanager
    def served(self, model: ChatModel, seconds: float = 70) -> Iterator[ModelEndpoint]:
        """Open the log, start the cell again, and serve for so many seconds."""
        with EventLog(self.root / "log.jsonl", WORK_EVENTS) as log:
            recorded, recorder = interrupted_replies(log.records), Recorder(log)
            spent = WORK_LOG.read(self.root / "log.jsonl").owed
            self.ledger = BudgetLedger(Budget(usd=self.usd, closing_share=0), spent)
            limiter = RateLimiter(Traffic(back_off_seconds=0.02, longest_back_off_seconds=0.05))
            meter = Meter(self.ledger, limiter, note=recorder.note)
            recorder._past.clear()
            recorder.state = WORK_LOG.read(self.root / "log.jsonl")
            recorder.note(_CELL)
            folder = self.root / "endpoint"
            found = ModelEndpoint(model, "program", meter, recorder, folder, recorded)
            found.make_folder()
            with found.serving(self.root, seconds):
                yield found
            found.remove_folder()

    @property
    def spend(self) -> Spend:
        """What the log says was spent."""
        return WORK_LOG.read(self.root / "log.jsonl").owed


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def _sent(
    endpoint: ModelEndpoint, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, str]:
    """Send a request through the socket; return status and body."""
    with closing(_Connection(endpoint.folder / SOCKET)) as connection:
        connection.request(method, path, body, {**headers, "Connection": "close"})
        response = connection.getresponse()
        return response.status, response.read().decode()


def _post(endpoint: ModelEndpoint, text: str) -> tuple[int, Any]:
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 20}
    code, said = _sent(endpoint, "POST", "/v1/chat/completions", json.dumps(body).encode())
    return code, json.loads(said)


def _model(server: Endpoint) -> OpenAIModel:
    settings = ModelSettings(price=_PRICE, max_tokens=20)
    return OpenAIModel("large", base_url=server.url, api_key="sk-secret", settings=settings)


def _echo(asked: EndpointRequest) -> str:
    return f"to {asked.messages[-1]['content']}"


@pytest.fixture
def attempt(tmp_path: Path) -> _Attempt:
    return _Attempt(tmp_path)


def test_a_request_is_answered_recorded_and_charged(attempt: _Attempt) -> None:
    """The program gets the server's body; the log has messages, reply, and the usage with its price."""
    with Endpoint(_echo) as server, attempt.served(_model(server)) as endpoint:
        code, body = _post(endpoint, "one")
        state = endpoint.recorder.state
        assert (endpoint.folder / SECONDS).read_text() == "70\n"
    assert (code, body["choices"][0]["message"]["content"]) == (200, "to one")
    [call] = state.calls
    assert (call.role, call.cell, call.ordinal, call.reply and call.reply.text) == (
        ("program", 0, None, "to one")
    )
    assert attempt.spend.tokens == server.counted.tokens
    assert attempt.spend.usd == pytest.approx(server.counted.tokens / 1000)
    assert not endpoint.folder.exists()


def test_requests_at_once_are_all_charged(attempt: _Attempt) -> None:
    """Forwarded one after another, so that the log knows what each costs."""
    with (
        Endpoint(_echo) as server,
        attempt.served(_model(server)) as endpoint,
        ThreadPoolExecutor(8) as pool,
    ):
        found = list(pool.map(lambda text: _post(endpoint, text)[1], "abcdefghijkl"))
    said = [each["choices"][0]["message"]["content"] for each in found]
    assert said == [f"to {each}" for each in "abcdefghijkl"]
    assert attempt.spend.tokens == server.counted.tokens


@pytest.mark.parametrize("at_once", [1, 6])
def test_no_cent_is_spent_beyond_the_budget(attempt: _Attempt, at_once: int) -> None:
    """The request whose bound does not fit is refused with a status that no client retries."""
    attempt.usd = 1.0
    with (
        Endpoint(_echo) as server,
        attempt.served(_model(server)) as endpoint,
        ThreadPoolExecutor(at_once) as pool,
    ):
        codes = list(pool.map(lambda text: _post(endpoint, text)[0], map(str, range(200))))
    assert set(codes) == {200, 403}
    assert codes[-1] == 403
    assert 0 < server.counted.tokens / 1000 <= 1.0
    assert attempt.spend.usd <= 1.0
    refused = [each for each in WORK_LOG.read(attempt.root / "log.jsonl").calls if each.reply is None]
    assert len(refused) <= 3, "the log of a program that asks again and again stays short"


def test_an_interrupted_cell_gets_the_replies_that_were_paid(attempt: _Attempt) -> None:
    """A second run of the cell repeats two requests of three: only the new one reaches the server."""
    with Endpoint(_echo) as server:
        with attempt.served(_model(server)) as endpoint:
            first = [_post(endpoint, text)[1] for text in ("it took 3 s", "two")]
        assert len(server.requests) == 2
        with attempt.served(_model(server)) as endpoint:
            again = [_post(endpoint, text)[1] for text in ("it took 5 s", "two", "three")]
        assert again[:2] == first
        assert len(server.requests) == 3
        with attempt.served(_model(server)) as endpoint:
            third = [_post(endpoint, text)[1] for text in ("it took 4 s", "two", "three", "two")]
        assert third[:3] == again
    assert len(server.requests) == 4, "each recorded reply is repeated once"
    assert attempt.spend.tokens == server.counted.tokens


def test_a_call_in_flight_at_a_kill_is_charged_its_bound(attempt: _Attempt) -> None:
    """Nobody knows what it cost, so the campaign assumes the worst, and sends it again."""
    with Endpoint(_echo) as server, attempt.served(_model(server)) as endpoint:
        _post(endpoint, "one")
    path = attempt.root / "log.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    answered = next(n for n, line in enumerate(lines) if b"call-answered" in line)
    path.write_bytes(b"".join(lines[:answered]))
    [call] = WORK_LOG.read(path).calls
    assert attempt.spend.tokens == call.bound.tokens > server.counted.tokens
    with Endpoint(_echo) as server, attempt.served(_model(server)) as endpoint:
        assert _post(endpoint, "one")[0] == 200
    assert attempt.spend.tokens == call.bound.tokens + server.counted.tokens


def test_a_failing_server_is_asked_again(attempt: _Attempt) -> None:
    """A retry is ours, with backoff, and noted; the program waits for the reply."""
    faults = [status(503), reset(), None]
    with Endpoint(_echo, faults) as server, attempt.served(_model(server)) as endpoint:
        assert _post(endpoint, "one")[0] == 200
        [call] = endpoint.recorder.state.calls
    assert len(call.failed_requests) == 2
    assert len(server.requests) == 3


def test_a_refused_key_stops_the_cell(attempt: _Attempt) -> None:
    """The program is told, and the cell's watch has the reason, so that the campaign can be resumed."""
    with Endpoint(_echo, [status(401)]) as server, attempt.served(_model(server)) as endpoint:
        assert endpoint.next_look == 0
        assert endpoint.look("", 1.0) is None
        assert endpoint.next_look == 1.5, "a session that looks without a pause keeps a core busy"
        code, body = _post(endpoint, "one")
        assert (code, body["error"]["message"]) == (403, "the campaign's model takes no requests")
        assert server.url not in json.dumps(body)
        assert "refuses the key" in str(endpoint.look("", 2.0))
        assert _post(endpoint, "two")[0] == 403
    assert len(server.requests) == 1


def test_a_model_without_an_endpoint_is_named(attempt: _Attempt) -> None:
    """A scripted model cannot take the requests of a program; the campaign says so."""
    with attempt.served(ScriptedModel(["x"])) as endpoint:
        code, body = _post(endpoint, "one")
        assert (code, body["error"]["message"]) == (403, "the campaign's model takes no requests")
        assert "the model scripted cannot be called by other programs" in str(endpoint.failure)


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/v1/chat/completions", b"{", 400),
        ("/v1/chat/completions", b"[" * 100_000, 400),
        ("/v1/chat/completions", b'{"messages": [], "web_search_options": {}}', 400),
        ("/v1/embeddings", b'{"input": ["a"]}', 404),
        ("/../v1/files", b"{}", 404),
    ],
)
def test_a_malformed_request_costs_nothing(attempt: _Attempt, path: str, body: bytes, code: int) -> None:
    """What is no request of the protocol has a response, and nothing is recorded."""
    with Endpoint(_echo) as server, attempt.served(_model(server)) as endpoint:
        assert _sent(endpoint, "POST", path, body)[0] == code
        assert len(endpoint.recorder.state.calls) == 0
    assert server.requests == []


def test_the_socket_is_for_the_sandboxs_user_alone(attempt: _Attempt) -> None:
    """Others on the machine cannot spend the campaign's money, and a page in a browser cannot either."""
    with Endpoint(_echo) as server, attempt.served(_model(server)) as endpoint:
        found = (endpoint.folder / SOCKET).stat()
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert found.st_uid == attempt.root.stat().st_uid
        if os.getuid() == 0:
            os.chown(attempt.root, 12345, 12345)
            endpoint.look("", 1.0)
            assert (endpoint.folder / SOCKET).stat().st_uid == 12345
        page = {"Origin": "http://evil.example"}
        assert _sent(endpoint, "POST", "/v1/chat/completions", b"{}", **page)[0] == 403


def test_requests_in_flight_at_the_cells_end_are_recorded_and_no_others_are_sent(
    attempt: _Attempt,
) -> None:
    """The log and the ledger agree when the cell has ended; what still waits is never paid."""
    with Endpoint(_echo, lambda number, asked: slow(0.5)) as server, ThreadPoolExecutor(6) as pool:
        with attempt.served(_model(server)) as endpoint:
            asked = [pool.submit(_post, endpoint, text) for text in "abcdef"]
            while not server.requests:
                time.sleep(0.01)
            calls = endpoint.recorder
        sent = len(server.requests)
        assert sum(call.reply is not None for call in calls.state.calls) == sent < 6
        time.sleep(1.5)
        assert len(server.requests) == sent
        assert attempt.ledger.spent.tokens == attempt.spend.tokens
    assert len([each for each in asked if each.exception() is None and each.result()[0] == 200]) <= sent


@pytest.mark.parametrize("ends_first", ["program", "time"])
def test_a_server_that_is_down_is_not_waited_for_after_the_cell(
    ends_first: str, attempt: _Attempt
) -> None:
    """Retries stop when the program has ended, or its time: else none would be left to hand in."""
    with Endpoint(_echo, lambda number, asked: status(503)) as server, ThreadPoolExecutor(1) as pool:
        with attempt.served(_model(server), 2.0 if ends_first == "time" else 60.0) as endpoint:
            asked = pool.submit(_post, endpoint, "one")
            if ends_first == "time":
                assert asked.result()[0] == 403
            while len(server.requests) < 2:
                time.sleep(0.01)
            ended = time.monotonic()
        assert time.monotonic() - ended < 6
    [call] = WORK_LOG.read(attempt.root / "log.jsonl").calls
    assert call.ended is not None
    assert call.spend.usd == 0


def test_models_are_listed_without_a_key(attempt: _Attempt) -> None:
    """A client that looks for a model finds the campaign's, and nothing about its endpoint."""
    with Endpoint(_echo) as server, attempt.served(_model(server)) as endpoint:
        _, said = _sent(endpoint, "GET", "/v1/models")
    assert json.loads(said)["data"] == [{"id": "large", "object": "model"}]
    assert "sk-secret" not in said
    assert server.url not in said


def test_replies_of_an_ended_cell_are_not_repeated(attempt: _Attempt) -> None:
    """Only the cell that was interrupted runs again; its requests are the ones that are known."""
    with Endpoint(_echo) as server, attempt.served(_model(server)) as endpoint:
        _post(endpoint, "one")
    with EventLog(attempt.root / "log.jsonl", WORK_EVENTS) as log:
        kinds = [type(each.event) for each in log.records]
        assert kinds == [CellStarted, CallSent, CallAnswered]
        assert sum(map(len, interrupted_replies(log.records).values())) == 1
