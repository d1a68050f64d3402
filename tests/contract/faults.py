"""What an endpoint may do to a campaign, and how each ends; the source of docs/model-faults.md."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import (
    EndpointResponse,
    Fault,
    changed,
    compressed,
    cut_short,
    dripping,
    mislabelled,
    over_lines,
    raw,
    reset,
    silent,
    slow,
    status,
)

Faults = Callable[[Endpoint], Callable[[int, EndpointRequest], Fault | None]]


@dataclass(frozen=True)
class FaultCase:
    """One way to fail, and what comes of it."""

    name: str
    wrong: str
    """What the endpoint does."""
    faults: Faults
    ends: str
    """What the user gets, in words."""
    exit_code: int = 0
    best_from: str = "agent"
    message: str = ""
    """Stands in the message of the error, or of the failed work."""
    calls: int | None = None
    """How many requests the endpoint saw."""
    waited: float = 0.0
    """Seconds that all paused, at least."""
    baseline: bool = True
    tokens: int | None = None
    bounded: bool = False
    """Whether something had to be booked at its bound."""
    patience: float = 60.0
    """Seconds after which the client gives a silent endpoint up; few are few on a busy machine."""
    stream: bool = True
    """Whether replies are asked for piece by piece."""
    back_at: float | None = None
    """Seconds after which an endpoint that went away is there again."""


GOOD = 14
"""Requests of the campaign when nothing goes wrong: one report, two for ideas, one for drafts, four for
each of two attempts, and one for the critic to read each of their programs."""


def answer(asked: EndpointRequest) -> str:
    """Play all roles of a small campaign."""
    last = str(asked.messages[-1].get("content"))
    by_key = {
        "paths": "Brainstorm",
        "drafts": "Drafts",
        "summary": "AttemptReport",
        "findings": "CritiqueReply",
        "ideas": "Selection",
    }
    in_words = next((name for key, name in by_key.items() if f'- "{key}":' in last), "CodingStep")
    match asked.wanted or in_words:
        case "Analysis":
            return json.dumps({"summary": "Plain.", "components": [], "ideas": []} | _RATED)
        case "Brainstorm":
            ideas = [{"text": "Grow more of them.", "sources": []}]
            return json.dumps({"paths": [{"approach": "Trees.", "ideas": ideas}]})
        case "Selection":
            rated = dict.fromkeys(("feasibility", "potential", "agreement"), 5)
            return json.dumps({"ideas": [{"text": "Grow more.", "made_from": ["N1"], **rated}]})
        case "Drafts":
            return json.dumps({"drafts": [_draft("one", "novel"), _draft("two", "baseline")]})
        case "AttemptReport":
            return json.dumps({"summary": "It grew.", "improvements": []})
        case "CritiqueReply":
            return json.dumps({"findings": []})
        case _:
            return _step(asked.text)


_RATED: dict[str, Any] = dict.fromkeys(
    ("novelty", "feasibility", "effectiveness", "efficiency", "confidence"), 5
) | {"reasons": ""}


def _draft(title: str, kind: str) -> dict[str, Any]:
    more = {"kind": kind, "ideas": [1], "start_from": "", "datasets": [], "code": ""}
    return {"title": title, "method": "Grow.", **more}


def _step(text: str) -> str:
    if "Best so far" in text:
        return "```python\n# goal: Nothing is left to do.\n```"
    cell = "good" if "The cell ran" in text else "look"
    return f"```python\n# goal: Go on.\n{cell}\n```"


def first(*faults: Fault) -> Faults:
    """Fail the first requests, then never again."""
    return lambda _server: lambda number, _asked: faults[number] if number < len(faults) else None


def second(fault: Fault) -> Faults:
    """Fail the second request alone."""
    return lambda _server: lambda number, _asked: fault if number == 1 else None


def always(fault: Fault) -> Faults:
    """Fail every request."""
    return lambda _server: lambda _number, _asked: fault


def away_from(number: int) -> Faults:
    """Stop listening at a request."""

    def faults(server: Endpoint) -> Callable[[int, EndpointRequest], Fault | None]:
        def fault(count: int, _asked: EndpointRequest) -> Fault | None:
            if count != number:
                return None
            server.stop()
            return reset()

        return fault

    return faults


def _twice(good: dict[str, Any]) -> dict[str, Any]:
    """Say everything twice, in the text and as choices."""
    choice = good["choices"][0]
    text = choice["message"]["content"]
    message = choice["message"] | {"content": f"{text}\n{text}"}
    return good | {"choices": [choice | {"message": message}, choice | {"message": message, "index": 1}]}


def _halved(good: dict[str, Any]) -> dict[str, Any]:
    text = good["choices"][0]["message"]["content"]
    return changed(content=f"{text}\n\ud83d")(good)  # type: ignore[return-value]


def _chatty(good: dict[str, Any]) -> dict[str, Any]:
    text = good["choices"][0]["message"]["content"]
    if not text.startswith("{"):
        return good
    return changed(content=f"Sure, here you are: {text} Good luck!")(good)  # type: ignore[return-value]


def _when_streamed(fault: Fault) -> Faults:
    """Fail every request for a stream."""
    return lambda _server: lambda _number, asked: fault if asked.body.get("stream") else None


_FAILING = 'data: {"choices": [{"delta": {"content": "{"}}]}\n\ndata: {"error": {"message": "lost"}}\n\n'
_TOOL = {"id": "1", "type": "function", "function": {"name": "propose", "arguments": "{}"}}
_LONG = "This model's maximum context length is 10 tokens. However, you requested more."
_AGENT = "the agent's submission"
_FALLBACK = "the baseline's submission"

FAULTS = (
    FaultCase("no fault", "nothing", first(), _AGENT, calls=GOOD),
    FaultCase(
        "auth refused",
        "401 to every request",
        always(status(401, "Incorrect API key")),
        f"{_FALLBACK}, after one call",
        exit_code=4,
        best_from="baseline",
        message="refuses the key",
        calls=1,
    ),
    FaultCase(
        "quota spent",
        "429 with `insufficient_quota`",
        always(status(429, "You exceeded your current quota", code="insufficient_quota")),
        f"{_FALLBACK}, after one call",
        exit_code=4,
        best_from="baseline",
        message="the quota is spent",
        calls=1,
    ),
    FaultCase(
        "unknown model",
        "404 to every request",
        always(status(404, "The model `test-model` does not exist")),
        f"{_FALLBACK}, after one call",
        exit_code=4,
        best_from="baseline",
        message="is not known there",
        calls=1,
    ),
    FaultCase(
        "429 with Retry-After",
        "429, come back in 20 s",
        second(status(429, "slow down", retry_after=20)),
        f"{_AGENT}, 20 s later",
        calls=GOOD + 1,
        waited=20,
    ),
    FaultCase(
        "429 without Retry-After", "429", second(status(429)), f"{_AGENT}, a pause later", calls=GOOD + 1
    ),
    FaultCase(
        "429 storm",
        "429 to the first twelve requests",
        first(*[status(429, "slow down")] * 12),
        f"{_AGENT}; pauses grow to a minute",
        calls=GOOD + 12,
        waited=240,
    ),
    FaultCase(
        "500 burst",
        "500, four times",
        first(*[status(500)] * 4),
        f"{_AGENT}, pauses later",
        calls=GOOD + 4,
    ),
    FaultCase(
        "503 burst",
        "503 with a page, four times",
        first(*[raw("<html>busy</html>", code=503, content_type="text/html")] * 4),
        f"{_AGENT}, pauses later",
        calls=GOOD + 4,
    ),
    FaultCase(
        "half-sent stream",
        "the connection breaks in the middle of a reply",
        second(reset(0.5)),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "half-sent stream, in good order",
        "a stream ends in the middle of a reply as if nothing were missing",
        second(cut_short(0.5)),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "half-sent body",
        "the connection breaks in the middle of a reply that comes at once",
        second(reset(0.5)),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
        stream=False,
    ),
    FaultCase(
        "stalled stream",
        "silence in the middle of a reply",
        second(silent(0.5)),
        f"{_AGENT}; the try is booked at its bound",
        bounded=True,
        patience=1.0,
    ),
    FaultCase(
        "stalled body",
        "silence in the middle of a reply that comes at once",
        second(silent(0.5)),
        f"{_AGENT}; the try is booked at its bound",
        bounded=True,
        patience=1.0,
        stream=False,
    ),
    FaultCase(
        "no first byte",
        "silence in place of a reply",
        second(silent()),
        f"{_AGENT}; the try is booked at its bound",
        bounded=True,
        patience=1.0,
    ),
    FaultCase(
        "dripping stream",
        "an empty line now and then, and no end",
        second(dripping()),
        f"{_AGENT}; the try is booked at its bound",
        bounded=True,
        patience=1.0,
    ),
    FaultCase(
        "dripping error page",
        "an error whose page has no end",
        second(lambda _good: EndpointResponse(500, b"<html>" * 9, "text/html", drips=True)),
        f"{_AGENT}; the try is booked at its bound",
        bounded=True,
        patience=1.0,
    ),
    FaultCase(
        "error within a stream",
        "an error in place of the rest of a reply",
        second(raw(_FAILING, content_type="text/event-stream")),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "no streams",
        "a refusal of every stream",
        _when_streamed(status(400, "Unsupported parameter: 'stream'")),
        f"{_AGENT}; replies come at once from the second request on",
        calls=GOOD + 1,
    ),
    FaultCase(
        "streams without usage",
        "no count of tokens at the end of a stream",
        _when_streamed(changed(usage=None)),
        f"{_AGENT}; one reply is booked at its bound, the others come at once",
        calls=GOOD,
        bounded=True,
    ),
    FaultCase(
        "whole body for a stream",
        "a reply at once, where a stream was asked for",
        always(lambda good: EndpointResponse(body=json.dumps(good).encode(), completed=True)),
        _AGENT,
        calls=GOOD,
    ),
    FaultCase("slow first token", "a good reply, late", second(slow(0.1)), _AGENT, calls=GOOD),
    FaultCase(
        "connection reset",
        "the connection breaks before a reply",
        second(reset()),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "wrong content type",
        "a good reply, called text/plain",
        second(mislabelled("text/plain")),
        _AGENT,
        calls=GOOD,
    ),
    FaultCase(
        "HTML error page",
        "a page in place of a reply, with status 200",
        second(raw("<html><h1>Sorry</h1></html>", content_type="text/html")),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "HTML gateway page",
        "a page with status 502",
        second(raw("<html>Bad gateway</html>", code=502, content_type="text/html")),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "invalid JSON",
        "half an object",
        second(raw('{"choices": [{"mess')),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "JSON of the wrong shape",
        "a list in place of an object",
        second(raw("[1, 2, 3]")),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "empty choices",
        "no choices",
        second(lambda good: raw(json.dumps(good | {"choices": []}))(good)),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "empty content",
        "a reply without a word",
        second(changed(content="")),
        f"{_AGENT}; the reply goes back with the reason",
        calls=GOOD + 1,
    ),
    FaultCase(
        "never a word",
        "every reply is empty",
        always(changed(content=None)),
        f"{_FALLBACK}, after three replies to each of two questions of six rounds",
        best_from="baseline",
        message="it is empty",
        calls=36,
    ),
    FaultCase(
        "refusal",
        "a refusal in place of a reply",
        second(changed(refusal="I cannot help with that.", content=None)),
        f"{_AGENT}; the reply goes back with the reason",
        calls=GOOD + 1,
    ),
    FaultCase(
        "always a refusal, no baseline",
        "every reply is a refusal",
        always(changed(refusal="I cannot help with that.", content=None)),
        "no submission, after three replies to each of two questions of six rounds",
        exit_code=3,
        best_from="",
        message="it is a refusal",
        calls=36,
        baseline=False,
    ),
    FaultCase(
        "content filter",
        "a reply that was held back",
        second(changed(finish_reason="content_filter", content="")),
        f"{_AGENT}; the reply goes back with the reason",
        calls=GOOD + 1,
    ),
    FaultCase(
        "length cut",
        "a reply that was cut off",
        second(changed(finish_reason="length", content='{"ideas": [{"te')),
        f"{_AGENT}; the reply is asked for again with a higher limit",
        calls=GOOD + 1,
    ),
    FaultCase(
        "tool call instead of text",
        "a call of a tool that was not offered",
        second(changed(tool_calls=[_TOOL], content=None, finish_reason="tool_calls")),
        f"{_AGENT}; the reply goes back with the reason",
        calls=GOOD + 1,
    ),
    FaultCase(
        "duplicated reply",
        "everything twice, in the text and as choices",
        always(_twice),
        _AGENT,
        calls=GOOD,
    ),
    FaultCase(
        "half a character",
        "half of a character (a lone surrogate) at the end of every reply",
        always(_halved),
        f"{_AGENT}; the half is U+FFFD",
        calls=GOOD,
    ),
    FaultCase(
        "compressed reply",
        "a reply compressed with gzip, which was not asked for",
        always(compressed()),
        _AGENT,
        calls=GOOD,
    ),
    FaultCase(
        "compressed flood",
        "a reply of more than 64 MiB in a tenth of a megabyte of gzip",
        second(compressed(spaces=64 << 20)),
        f"{_AGENT}; the try is booked at its bound",
        calls=GOOD + 1,
        bounded=True,
    ),
    FaultCase(
        "events over several lines",
        "a stream whose events have several lines of data",
        always(over_lines()),
        _AGENT,
        calls=GOOD,
    ),
    FaultCase(
        "schema ignored",
        "prose around every decision, whatever the schema",
        always(_chatty),
        f"{_AGENT}; asked in words from the second request on",
        calls=GOOD,
    ),
    FaultCase(
        "context overflow",
        "every request is too long",
        always(status(400, _LONG)),
        f"{_FALLBACK}; each of two questions of six rounds is cut twice, then given up",
        best_from="baseline",
        message="longer than the model can read",
        calls=36,
    ),
    FaultCase(
        "missing usage",
        "no count of tokens",
        always(changed(usage=None)),
        f"{_AGENT}; all is booked at its bound",
        calls=GOOD,
        bounded=True,
    ),
    FaultCase(
        "lying usage",
        "a count of minus one",
        always(changed(usage={"prompt_tokens": -1, "completion_tokens": 10**12})),
        f"{_AGENT}; all is booked at its bound",
        calls=GOOD,
        bounded=True,
    ),
    FaultCase(
        "resets until the budget ends",
        "every connection breaks; 30,000 tokens are allowed",
        always(reset(0.9)),
        f"{_FALLBACK}, within the budget",
        best_from="baseline",
        message="of 30000 tokens are used up",
        tokens=30_000,
        bounded=True,
    ),
    FaultCase(
        "down for minutes and back",
        "connections are refused for four minutes",
        away_from(3),
        f"{_AGENT}; all attempts pause and continue together",
        waited=240,
        bounded=True,
        back_at=240,
    ),
    FaultCase(
        "down permanently",
        "connections are refused from then on",
        away_from(3),
        f"{_FALLBACK}, after an hour of patience",
        exit_code=4,
        best_from="baseline",
        message="cannot be reached; no success for 60 minutes",
        calls=4,
        waited=3540,
        bounded=True,
    ),
)
