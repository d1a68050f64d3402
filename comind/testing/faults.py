"""What an endpoint of the tests does in place of a good answer; see comind/testing/endpoint.py."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Answer",
    "Fault",
    "changed",
    "cut_short",
    "dripping",
    "mislabelled",
    "raw",
    "reset",
    "silent",
    "slow",
    "status",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes over the wire."""

    code: int = 200
    body: bytes | dict[str, Any] = b""
    """The body of a reply is sent as was asked for, at once or piece by piece; bytes as they are."""
    content_type: str = ""
    """Empty: as the body is."""
    headers: dict[str, str] = field(default_factory=dict)
    sent: float = 1.0
    """Share of the body after which it breaks off; with 0, not even a status is sent."""
    then: str = ""
    """How the connection ends. Empty: in order; `reset`: at once; `silence`: not before the client."""
    drips: bool = False
    """Whether the body comes a byte at a time, for as long as anyone listens."""
    delay: float = 0.0
    """Seconds before the first byte."""
    completed: bool = False
    """Whether it counts as a good answer all the same."""


Fault = Callable[[dict[str, Any]], "Answer | dict[str, Any]"]
"""Makes something else of the body of a good answer: another body, or another answer altogether.

Who returns a body has the call counted as completed; who returns an answer, as one that failed.
"""


def status(
    code: int, message: str = "", /, *, retry_after: float | str | None = None, **more: Any
) -> Fault:
    """Answer with an error, and perhaps how long to wait; `more` stands beside its message."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = json.dumps({"error": {"message": message or f"status {code}", **more}}).encode()
    return lambda _good: Answer(code, body, headers=headers)


def raw(body: str, *, code: int = 200, content_type: str = "application/json") -> Fault:
    """Answer with any text."""
    return lambda _good: Answer(code, body.encode(), content_type)


def reset(share: float = 0.0) -> Fault:
    """Break the connection off, at once or after a share of the body."""
    return lambda good: Answer(body=good, sent=share, then="reset")


def silent(share: float = 0.0) -> Fault:
    """Say nothing, at once or after a share of the body, until the client gives up."""
    return lambda good: Answer(body=good, sent=share, then="silence")


def cut_short(share: float) -> Fault:
    """Come to an end in good order, after a share of the body."""
    return lambda good: Answer(body=good, sent=share, then="end")


def slow(seconds: float) -> Fault:
    """Answer well, but late."""
    return lambda good: Answer(body=good, delay=seconds, completed=True)


def dripping() -> Fault:
    """Send a line without a word now and then, and never come to the point."""
    return lambda good: Answer(body=good, drips=True)


def mislabelled(content_type: str) -> Fault:
    """Answer well, but call it something else."""
    return lambda good: Answer(body=good, content_type=content_type, completed=True)


def changed(**values: Any) -> Fault:
    """Answer well but for these values; of a chat, `content`, `finish_reason` ... reach into its choice.

    A value of None takes the key away.
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
