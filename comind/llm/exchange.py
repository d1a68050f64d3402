"""The typed exchange: ask for a value, get that value or an error, whatever the model says."""

import json
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from comind.domain.value import Value
from comind.errors import ReplyError
from comind.llm.base import ChatModel, Message, ModelReply, ModelRequest
from comind.llm.templates import Templates

__all__ = ["Answer", "Prompt", "ask", "code_fields", "parse"]

T = TypeVar("T", bound=BaseModel)

_REFUSALS = 2
_TEMPLATES = Templates("comind.llm")


class Prompt(Value):
    """What to ask: the conversation, and the same in data for a model that reads no prose."""

    role: str
    messages: tuple[Message, ...]
    facts: dict[str, JsonValue] = {}
    max_tokens: int = 4096
    temperature: float | None = None


class Answer(NamedTuple, Generic[T]):
    """A reply as a value, and as the text that goes into a conversation's history."""

    value: T
    text: str


def ask(model: ChatModel, prompt: Prompt, reply_type: type[T]) -> Answer[T]:
    """Return the model's reply as a `reply_type`, with its text.

    A reply that does not parse goes back with the reason, at most twice.

    Raises:
        ReplyError: three replies in a row had the wrong form.
        ModelServiceError: the endpoint is unreachable or refuses.
    """
    messages = prompt.messages
    for attempt in range(_REFUSALS + 1):
        request = ModelRequest(
            role=prompt.role,
            messages=messages,
            reply_name=reply_type.__name__,
            reply_schema=reply_type.model_json_schema(),
            facts=prompt.facts,
            max_tokens=prompt.max_tokens,
            temperature=prompt.temperature,
        )
        reply = model.complete(request)
        try:
            return Answer(parse(reply, reply_type), reply.text)
        except ReplyError as error:
            if attempt == _REFUSALS:
                raise
            messages = (
                *messages,
                Message(role="assistant", content=reply.text or "(empty)"),
                Message(role="user", content=_TEMPLATES.render("refused", reason=error)),
            )
    raise AssertionError("unreachable")


def parse(reply: ModelReply, reply_type: type[T]) -> T:
    """Return `reply` as a `reply_type`.

    Raises:
        ReplyError: it has not the promised form; the message is written for the model.
    """
    if reply.finish == "length":
        raise ReplyError("it was cut off before its end; be shorter")
    fields = _read_json(reply.text) if reply.form == "json" else _read_text(reply.text, reply_type)
    try:
        return reply_type.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or reply_type.__name__
        raise ReplyError(f"{place}: {first['msg']}") from None


def code_fields(reply_type: type[BaseModel]) -> list[str]:
    """Return the names of the fields that hold a program (`format: python` in the schema)."""
    return [
        name
        for name, field in reply_type.model_fields.items()
        if isinstance(field.json_schema_extra, dict)
        and field.json_schema_extra.get("format") == "python"
    ]


def _read_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ReplyError(f"it is not JSON ({error.msg} at character {error.pos})") from None
    return _object(value)


def _read_text(text: str, reply_type: type[BaseModel]) -> dict[str, Any]:
    """Read our strict text form: one JSON object, then one fenced block a code field.

    The fence is the last one in the text, so a program may contain fences of its own.
    """
    start = text.find("{")
    if start < 0:
        raise ReplyError("there is no JSON object in it")
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text[start:])
    except json.JSONDecodeError as error:
        raise ReplyError(f"its JSON object is broken ({error.msg})") from None
    fields = _object(value)
    rest = text[start + end :]
    for name in code_fields(reply_type):
        code = _fenced(rest)
        if code is not None:
            fields[name] = code
    return fields


def _fenced(text: str) -> str | None:
    lines = text.splitlines()
    opening = next((number for number, line in enumerate(lines) if _opens_program(line)), None)
    if opening is None:
        return None
    closing = max((number for number, line in enumerate(lines) if line.strip() == "```"), default=-1)
    if closing <= opening:
        raise ReplyError("its code block is not closed")
    return "\n".join(lines[opening + 1 : closing])


def _opens_program(line: str) -> bool:
    return line.strip().lower() in {"```python", "```py", "```python3"}


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReplyError("it is not a JSON object")
    return value
