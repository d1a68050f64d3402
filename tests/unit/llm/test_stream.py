"""A stream is assembled to the body that the same server sends without streaming."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.llm.exchange import request_for
from comind.llm.model_ports import ModelReply, Usage
from comind.llm.openai_model import OpenAIModel
from comind.llm.protocols import ProtocolError, parse_response
from comind.llm.settings import ModelSettings, Protocol
from tests.doubles.completions import as_stream, chat_body, responses_body
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import Fault, changed, status
from tests.unit.llm.samples import PROMPT, STOP, Verdict

_BODIES = {"chat": chat_body, "responses": responses_body}
_PROTOCOLS: list[Protocol] = ["chat", "responses"]


@pytest.mark.parametrize("protocol", _PROTOCOLS)
@given(
    text=st.text(),
    prompt=st.integers(0, 10**6),
    line=st.sampled_from(["\n", "\r\n", "\r"]),
    over_lines=st.booleans(),
)
def test_a_stream_says_what_the_body_says(
    protocol: Protocol, text: str, prompt: int, line: str, *, over_lines: bool
) -> None:
    """The same with any line ending, and with events that span several lines of data."""
    body = _BODIES[protocol](text, Usage(prompt_tokens=prompt, completion_tokens=3))
    stream = as_stream(body, counted=True, over_lines=over_lines)
    sent = stream.decode().replace("\n", line)
    streamed, whole = parse_response(sent, protocol), parse_response(json.dumps(body), protocol)
    assert streamed.streamed
    assert not whole.streamed
    assert streamed == whole._replace(streamed=True)


@pytest.mark.parametrize("protocol", _PROTOCOLS)
@given(share=st.floats(0.0, 1.0, exclude_max=True))
def test_a_truncated_stream_is_no_reply(protocol: Protocol, share: float) -> None:
    """A truncated stream is an error, unless the whole text had arrived."""
    body = _BODIES[protocol]("some words and a number, 17", Usage(prompt_tokens=9))
    whole = as_stream(body, counted=True).decode()
    part = whole[: int(share * len(whole))]
    try:
        found = parse_response(part, protocol)
    except ValueError:
        assert "data:" not in part
    except ProtocolError as error:
        assert "is truncated" in str(error)  # noqa: PT017 - either end is right
    else:
        assert found.text == "some words and a number, 17"


def _chat(*events: dict[str, Any], end: str = "data: [DONE]\n\n") -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + end


def _piece(finish: str | None = None, index: int = 0, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}


def test_odd_streams_are_read() -> None:
    """Comments, empty events, further choices, parts, usages and a missing [DONE] are accepted."""
    sent = ": keep-alive\n\ndata:\n\nretry: 5\n\n" + _chat(
        _piece(content="a") | {"usage": {"prompt_tokens": 1, "completion_tokens": 1}},
        _piece(index=1, content="no"),
        _piece(content=[{"type": "text", "text": "b"}], reasoning_content="hm"),
        _piece(finish="length") | {"usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        {"choices": [], "usage": None},
        end="",
    )
    said = parse_response(sent, "chat")
    assert (said.text, said.finish) == ("ab", "length")
    assert said.usage is not None
    assert said.usage["completion_tokens"] == 2


@pytest.mark.parametrize(
    ("sent", "finish"),
    [
        (_chat(_piece(refusal="I "), _piece(refusal="will not.")), "refusal"),
        (_chat(_piece(tool_calls=[{"index": 0}]), _piece(finish="stop")), "tool_calls"),
    ],
)
def test_what_is_no_text_is_told(sent: str, finish: str) -> None:
    """Refusals and tool calls are recognised in deltas."""
    assert parse_response(sent, "chat").finish == finish


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (_chat(_piece(content="a"), {"error": {"message": "lost"}}), "is an error: lost"),
        ('data: {"type": "error", "message": "lost"}\n\n', "is an error: "),
        ("data: [1]\n\n", "not a JSON object"),
        ("data: [DONE]\n\n", "no choices"),
        (_chat(_piece(content=7)), "is not text"),
    ],
)
def test_what_is_no_reply_is_told(sent: str, message: str) -> None:
    """Each is a ProtocolError that names the fault."""
    with pytest.raises(ProtocolError, match=message):
        parse_response(sent, "chat")


def _asked_twice(faults: Any = (), **settings: Any) -> tuple[list[ModelReply], list[dict[str, Any]]]:
    with Endpoint(lambda asked: STOP, faults) as server:
        found = ModelSettings(**settings)
        model = OpenAIModel("test-model", base_url=server.url, api_key=None, settings=found)
        replies = [model.complete(request_for(PROMPT, Verdict)) for _ in range(2)]
        return replies, [asked.body for asked in server.requests]


@pytest.mark.parametrize("protocol", _PROTOCOLS)
def test_replies_are_streamed_and_counted(protocol: Protocol) -> None:
    """A streamed reply is whole, with the server's usage."""
    replies, bodies = _asked_twice(protocol=protocol)
    assert [body["stream"] for body in bodies] == [True, True]
    assert all(reply.text == STOP and reply.exact for reply in replies)
    whole, _ = _asked_twice(protocol=protocol, stream=False)
    assert [reply.usage for reply in whole] == [reply.usage for reply in replies]


def test_who_does_not_count_a_stream_is_asked_for_no_more() -> None:
    """A streamed reply without usage is charged its bound; the next is not streamed, and counted."""

    def uncounted(_number: int, asked: EndpointRequest) -> Fault | None:
        return changed(usage=None) if asked.body.get("stream") else None

    replies, bodies = _asked_twice(uncounted)
    assert [reply.exact for reply in replies] == [False, True]
    assert ["stream" in body for body in bodies] == [True, False]
    assert "stream_options" not in bodies[1]


def test_who_refuses_streams_is_asked_for_no_more() -> None:
    """After a refusal of streaming, which costs nothing, replies are not streamed."""

    def refused(_number: int, asked: EndpointRequest) -> Fault | None:
        if asked.body.get("stream"):
            return status(400, "Your organization must be verified to stream this model.")
        return None

    replies, bodies = _asked_twice(refused)
    assert all(reply.exact for reply in replies)
    assert ["stream" in body for body in bodies] == [True, False, False]
