"""A reply that came piece by piece, put together into the body that the same server sends at once.

Whether an answer is a stream is seen by its own beginning: servers that were asked for one may send a
whole body all the same, and either may bear the other's content type.
"""

import json
import re
from typing import Any

from comind.llm.settings import Protocol
from comind.llm.wire import THOUGHTS, WireError, text_of

__all__ = ["is_stream", "put_together"]

_BEGINNING = re.compile(r"\s*(data|event|id|retry)?:")
_LINE = re.compile(r"\r\n|\r|\n")  # not `splitlines`, which also parts at signs that JSON holds
_DATA = "data:"
_END = "[DONE]"
_TOLD = ("tool_calls", "function_call", *THOUGHTS)  # that they came, not what they say
_LAST = ("response.completed", "response.incomplete", "response.failed")


def is_stream(text: str) -> bool:
    """Say whether an answer is a stream of events rather than one body."""
    return _BEGINNING.match(text) is not None


def put_together(text: str, protocol: Protocol) -> dict[str, Any]:
    """Return the body that a stream stands for.

    Raises:
        ValueError: an event is no JSON.
        WireError: it breaks off before its end, or is not what the protocol promises.
    """
    events, ended = _events(text)
    error = next((each for each in events if each.get("error") or each.get("type") == "error"), None)
    if error is not None:
        return {"error": error.get("error") or error}
    return _chat(events, ended=ended) if protocol == "chat" else _response(events)


def _events(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return what the events hold, and whether the last one says that it is."""
    events: list[dict[str, Any]] = []
    data: list[str] = []
    for line in _LINE.split(text):
        if line.startswith(_DATA):
            data.append(line.removeprefix(_DATA).strip())
        elif not line and data:
            said = "\n".join(data)
            if said == _END:
                return events, True
            events.append(_event(said))
            data = []
    return events, data == [_END]


def _event(said: str) -> dict[str, Any]:
    event = json.loads(said)
    if not isinstance(event, dict):
        raise WireError("a piece of its answer is no JSON object")
    return event


def _chat(events: list[dict[str, Any]], *, ended: bool) -> dict[str, Any]:
    """Put the pieces of the first choice together; counts stand in any of the last events."""
    message: dict[str, Any] = {}
    body: dict[str, Any] = {}
    finish = None
    for event in events:
        body |= {name: event[name] for name in ("model", "usage") if event.get(name)}
        for choice in _first_of(event.get("choices")):
            delta = choice.get("delta")
            if isinstance(delta, dict):
                for name in ("content", "refusal"):
                    if delta.get(name):
                        message[name] = message.get(name, "") + text_of(delta[name])
                message |= {name: True for name in _TOLD if delta.get(name)}
            finish = choice.get("finish_reason") or finish
            body["choices"] = [{"message": message, "finish_reason": finish}]
    if not ended and finish is None:
        raise WireError("its answer breaks off")
    return body


def _first_of(choices: object) -> list[dict[str, Any]]:
    """Return the pieces of the first choice, as a server may send several that nobody asked for."""
    found = choices if isinstance(choices, list) else []
    return [each for each in found if isinstance(each, dict) and not each.get("index")]


def _response(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the body that the last event of a response holds."""
    for event in reversed(events):
        if event.get("type") in _LAST and isinstance(event.get("response"), dict):
            return dict(event["response"])
    raise WireError("its answer breaks off")
