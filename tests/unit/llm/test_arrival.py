"""Nothing stands between the arrival of a reply and its event in the log that can fail on it."""

import gzip
import itertools
import json
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.work_events import WORK_EVENTS, CallAnswered, CallFailed, CallSent
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.work.recorder import RecordedModel, Recorder
from comind.errors import ComindError, ModelBusyError
from comind.eventlog.log import EventLog, read_log
from comind.llm.exchange import ask, request_for
from comind.llm.model_ports import Usage
from comind.llm.openai_embedder import OpenAIEmbedder
from comind.llm.openai_model import OpenAIModel
from comind.llm.response_body import MOST_BYTES, LimitedBody
from comind.llm.retrieval import cosines
from comind.llm.settings import ModelSettings
from tests.doubles.completions import as_stream, chat_body
from tests.doubles.endpoint import Endpoint
from tests.doubles.faults import EndpointResponse, Fault
from tests.unit.llm.samples import PROMPT, STOP, Step, Verdict

_USAGE = Usage(prompt_tokens=20, completion_tokens=9)
_CHARACTERS = st.characters(categories=["Lu", "Nd", "Cc", "Cf", "Cs", "So", "Zl"])
_TEXTS = st.one_of(
    st.text(_CHARACTERS, max_size=30),
    st.sampled_from(
        [
            "\ud800" + STOP,
            STOP + "\ude00",
            '{"stop": true, "\ud83d": 1}',
            '{"stop": "\\ud83d"}',
            "```python\n# goal: \ud83d\nx = '\ud83d'\n```",
            "<think>\udfff</think>" + STOP,
        ]
    ),
)
_NUMBERS = st.one_of(st.integers(), st.floats(), st.integers(10**30, 10**40), st.booleans(), st.none())
_JSON = st.recursive(
    st.one_of(_TEXTS, _NUMBERS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(_CHARACTERS, max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_PLACES: list[tuple[str | int, ...]] = [
    ("model",),
    ("usage",),
    ("error",),
    ("choices",),
    ("choices", 0),
    ("choices", 0, "message"),
    ("choices", 0, "finish_reason"),
    ("choices", 0, "message", "content"),
    ("choices", 0, "message", "refusal"),
    ("choices", 0, "message", "tool_calls"),
    ("choices", 0, "message", "reasoning_content"),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("usage", "prompt_tokens_details"),
]
_COMPRESSIONS = {
    "": lambda body: body,
    "identity": lambda body: body,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda body: body,
    "gzip, gzip": lambda body: gzip.compress(gzip.compress(body)),
}
_TYPES = ["", "text/html", *(f"application/json; charset={name}" for name in ("hex", "utf-16", "utf-7"))]


def _with(body: dict[str, Any], place: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """Return a body with another value in one place."""
    body = json.loads(json.dumps(body))
    inner: Any = body
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return body


@st.composite
def _bodies(draw: st.DrawFn) -> bytes:
    """Return a good body with any JSON in some places, streamed or not, whole or cut; or any bytes."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=60))
    body = chat_body(draw(_TEXTS), _USAGE)
    for place in draw(st.lists(st.sampled_from(_PLACES), max_size=2, unique=True)):
        value = draw(_TEXTS if place[-1] == "content" and draw(st.booleans()) else _JSON)
        try:
            body = _with(body, place, value)
        except (TypeError, LookupError):  # what was put there before has no such place
            continue
    sent = json.dumps(body).encode()
    if draw(st.booleans()):
        try:
            sent = as_stream(body, counted=True)
        except (TypeError, LookupError, AttributeError, ValueError):
            sent = b"data: " + sent + b"\n\n"
    return sent[: draw(st.integers(0, len(sent)))] if draw(st.integers(0, 4)) == 0 else sent


def _answers() -> st.SearchStrategy[EndpointResponse]:
    """Responses of any status, type and compression."""
    return st.builds(
        lambda body, code, kind, packed: EndpointResponse(
            code, _COMPRESSIONS[packed](body), kind, {"Content-Encoding": packed} if packed else {}
        ),
        _bodies(),
        st.sampled_from([200] * 8 + [400, 429, 500]),
        st.sampled_from(_TYPES),
        st.sampled_from(["", "", "", *_COMPRESSIONS]),
    )


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    """An endpoint whose answers each example sets."""
    with Endpoint(lambda _asked: STOP) as found:
        yield found


@given(answers=st.lists(_answers(), min_size=1, max_size=3), program=st.booleans())
def test_whatever_arrives_is_recorded(
    server: Endpoint, answers: list[EndpointResponse], *, program: bool
) -> None:
    """Each request ends as answered or failed in a log that can be read, and no error is a bug's."""
    server.fail(_in_turn(answers))
    model = OpenAIModel("test-model", base_url=server.url, api_key=None)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        with EventLog(log, WORK_EVENTS) as events:
            recorded = RecordedModel("monitor", lambda _role: model, Recorder(events))
            try:
                ask(recorded, PROMPT, Step if program else Verdict)
            except ComindError as error:
                str(error).encode()
        found = [record.event for record in read_log(log, WORK_EVENTS)]
        assert WORK_LOG.read(log).open_call is None
    sent, ended = found[::2], found[1::2]
    assert all(isinstance(event, CallSent) for event in sent)
    assert all(isinstance(event, CallAnswered | CallFailed) for event in ended)
    assert len(sent) == len(ended)


@given(data=st.one_of(_JSON, st.lists(st.fixed_dictionaries({"index": _NUMBERS, "embedding": _JSON}))))
def test_whatever_arrives_as_embeddings_is_recorded(server: Endpoint, data: object) -> None:
    """Embeddings of any shape give scores or an error that the log can hold."""
    body = json.dumps({"data": data, "usage": {"prompt_tokens": 5}}).encode()
    server.fail(_in_turn([EndpointResponse(body=body)]))
    embedder = OpenAIEmbedder("m", base_url=server.url, api_key=None, settings=ModelSettings())
    try:
        came = embedder.embed(["one", "two"])
        json.dumps(cosines(came.vectors, 1))
    except ComindError as error:
        str(error).encode()


def _in_turn(answers: list[EndpointResponse]) -> Any:
    """Return the answers one after the other, then good ones."""
    left = iter(answers)

    def fault(_number: int, _asked: object) -> Fault | None:
        answer = next(left, None)
        return None if answer is None else lambda _good: answer

    return fault


def _said(body: bytes, **headers: str) -> str:
    answer = EndpointResponse(body=body, headers=headers)
    with Endpoint(lambda _asked: STOP, [lambda _good: answer]) as server:
        model = OpenAIModel("test-model", base_url=server.url, api_key=None)
        return model.complete(request_for(PROMPT, Verdict)).text


def test_halves_of_characters_are_replaced() -> None:
    """A half is U+FFFD, as bytes that are no UTF-8 are; two halves in two chunks are one character."""
    body = chat_body("", _USAGE)
    cut = _with(body, ("choices", 0, "message", "content"), "a\ud83d")
    assert _said(json.dumps(cut).encode()) == "a\ufffd"
    pieces = [{"choices": [{"delta": {"content": half}}]} for half in ("a\ud83d", "\ude00b")]
    events = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces)
    assert _said(f"{events}data: [DONE]\n\n".encode()) == "a\U0001f600b"


@pytest.mark.parametrize("packed", ["gzip", "deflate"])
def test_a_compressed_reply_is_limited(packed: str) -> None:
    """No compression is asked for; a reply that is compressed all the same is read up to the limit."""
    good = json.dumps(chat_body(STOP, _USAGE)).encode()
    pack, sent = _COMPRESSIONS[packed], {"Content-Encoding": packed}
    assert _said(pack(good), **sent) == STOP
    with pytest.raises(ModelBusyError, match="longer than 64 MiB"):
        _said(pack(b" " * MOST_BYTES + good), **sent)
    with pytest.raises(ModelBusyError, match="compressed more than once"):
        _said(pack(pack(good)), **{"Content-Encoding": f"{packed}, {packed}"})


def test_a_deadline_holds_within_a_chunk() -> None:
    """A chunk is decompressed piece by piece, and given up at the deadline."""
    seconds = itertools.count()
    chunk = httpx2.ByteStream(gzip.compress(b" " * (20 << 20), 1))
    headers = httpx2.Headers({"Content-Encoding": "gzip"})
    body = iter(LimitedBody(chunk, headers, 5.0, lambda: next(seconds)))
    with pytest.raises(httpx2.ReadTimeout):
        list(body)
    assert next(seconds) < 10


def test_no_reply_is_asked_for_compressed() -> None:
    """The endpoint is asked for replies as they are."""
    with Endpoint(lambda _asked: STOP) as server:
        OpenAIModel("test-model", base_url=server.url, api_key=None).complete(PROMPT)
        assert server.requests[0].headers["accept-encoding"] == "identity"
