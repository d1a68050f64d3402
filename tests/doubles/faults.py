"""Define the faults that an `Endpoint` injects."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.completions import as_stream

__all__ = [
    "EndpointResponse",
    "Fault",
    "changed",
    "compressed",
    "cut_short",
    "dripping",
    "mislabelled",
    "over_lines",
    "raw",
    "reset",
    "silent",
    "slow",
    "status",
]


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """A response and how it is sent."""

    code: int = 200
    body: bytes | dict[str, Any] = b""
    """A dict is streamed if requested; bytes are sent unchanged."""
    content_type: str = ""
    """Empty: that of the body."""
    headers: dict[str, str] = field(default_factory=dict)
    sent: float = 1.0
    """Share of the body that is sent; 0: not even a status."""
    then: str = ""
    """How the connection ends. Empty: closed; `reset`: by a TCP reset; `silence`: by the client."""
    drips: bool = False
    """Whether blank lines are sent without end."""
    delay: float = 0.0
    """Seconds before the first byte."""
    completed: bool = False
    """Whether the call counts as completed."""


Fault = Callable[[dict[str, Any]], "EndpointResponse | dict[str, Any]"]
"""Turns the body of a good response into another body, which counts as completed, or a response."""


def status(
    code: int, message: str = "", /, *, retry_after: float | str | None = None, **more: Any
) -> Fault:
    """Respond with an HTTP error; `more` are fields beside its message."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = json.dumps({"error": {"message": message or f"status {code}", **more}}).encode()
    return lambda _good: EndpointResponse(code, body, headers=headers)


def raw(body: str, *, code: int = 200, content_type: str = "application/json") -> Fault:
    """Respond with any text."""
    return lambda _good: EndpointResponse(code, body.encode(), content_type)


def reset(share: float = 0.0) -> Fault:
    """Reset the connection, at once or after a share of the body."""
    return lambda good: EndpointResponse(body=good, sent=share, then="reset")


def silent(share: float = 0.0) -> Fault:
    """Send nothing more, at once or after a share of the body, until the client times out."""
    return lambda good: EndpointResponse(body=good, sent=share, then="silence")


def cut_short(share: float) -> Fault:
    """Close the connection in order after a share of the body."""
    return lambda good: EndpointResponse(body=good, sent=share, then="end")


def slow(seconds: float) -> Fault:
    """Delay a good response."""
    return lambda good: EndpointResponse(body=good, delay=seconds, completed=True)


def dripping() -> Fault:
    """Send blank lines without end."""
    return lambda good: EndpointResponse(body=good, drips=True)


def mislabelled(content_type: str) -> Fault:
    """Send a good response with another content type."""
    return lambda good: EndpointResponse(body=good, content_type=content_type, completed=True)


def compressed(*, spaces: int = 0) -> Fault:
    """Compress a reply with gzip, which was not asked for, after so many `spaces`."""

    def fault(good: dict[str, Any]) -> EndpointResponse:
        body = gzip.compress(b" " * spaces + json.dumps(good).encode(), 1)
        return EndpointResponse(body=body, headers={"Content-Encoding": "gzip"}, completed=not spaces)

    return fault


def over_lines() -> Fault:
    """Stream a good reply in events of several lines of data."""

    def fault(good: dict[str, Any]) -> EndpointResponse:
        body = as_stream(good, counted=True, over_lines=True)
        return EndpointResponse(body=body, content_type="text/event-stream", completed=True)

    return fault


def changed(**values: Any) -> Fault:
    """Change fields of a good response; `content`, `finish_reason` ... are those of a chat's choice.

    A value of None removes the field.
    """

    def fault(good: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(json.dumps(good))
        choice = body["choices"][0] if body.get("choices") else {"message": {}}
        for name, value in values.items():
            inside = {"finish_reason": choice}.get(name, choice["message"])
            place = body if name in ("usage", "choices", "model", "error") else inside
            if value is None:
                place.pop(name, None)
            else:
                place[name] = value
        return body

    return fault
