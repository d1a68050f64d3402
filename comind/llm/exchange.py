"""Request structured output: prompt a model, parse and validate its reply, retry an invalid one."""

import json
import re
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from comind.errors import ReplyError
from comind.llm.model_ports import ChatModel, Message, ModelReply, ModelRequest
from comind.llm.reply_format import extract_program, program_fields
from comind.llm.templates import Templates

T = TypeVar("T", bound=BaseModel)

_RETRIES = 2
_RAISES = 2  # of the token limit of a truncated reply
_REASON_LENGTH = 500
_UNREADABLE = "it holds numbers too long or lists too deep to be read"
_NO_REPLY = {
    "length": "it was cut off before its end; be shorter",
    "tool_calls": "it calls a tool, and there are no tools here; write the reply itself",
    "refusal": "it is a refusal; the task is a public competition in machine learning",
    "content_filter": "it was held back by the provider's filter; put it in other words",
}
_FIELD = re.compile(r"#\s*(?P<name>\w+)\s*:(?P<value>.*)")
_TEMPLATES = Templates("comind.llm")


class Answer(NamedTuple, Generic[T]):
    """A parsed reply, and its text for the history of the conversation."""

    value: T
    text: str


def ask(model: ChatModel, request: ModelRequest, reply_type: type[T]) -> Answer[T]:
    """Call the model and return its reply as a `reply_type`, with its text.

    A truncated reply is retried with twice the token limit, at most twice and as far as its model
    allows; it does not enter the conversation. Any other invalid reply is sent back with the error, at
    most twice.

    Raises:
        ReplyError: three replies in a row were invalid.
        ModelServiceError: the endpoint is unreachable or refuses.
    """
    request = request_for(request, reply_type)
    for attempt in range(_RETRIES + 1):
        reply = model.complete(request)
        while reply.finish == "length" and reply.can_rise and request.raises < _RAISES:
            request = request.model_copy(update={"raises": request.raises + 1})
            reply = model.complete(request)
        try:
            return Answer(parse(reply, reply_type), reply.text)
        except ReplyError as error:
            if attempt == _RETRIES:
                raise
            answer = Message(role="assistant", content=reply.text or "(empty)")
            reason = Message(role="user", content=_TEMPLATES.render("refused", reason=error))
            request = request.model_copy(update={"messages": (*request.messages, answer, reason)})
    raise AssertionError("unreachable")


def request_for(request: ModelRequest, reply_type: type[BaseModel]) -> ModelRequest:
    """Return the request with the schema of `reply_type`."""
    schema = {"reply_name": reply_type.__name__, "reply_schema": reply_type.model_json_schema()}
    return request.model_copy(update=schema)


def parse(reply: ModelReply, reply_type: type[T]) -> T:
    """Parse and validate a reply.

    Raises:
        ReplyError: it is invalid; the message is written for the model.
    """
    if reply.finish == "length" and reply.limit is not None:
        raise ReplyError(
            f"it was cut off at {reply.limit} tokens, and this limit cannot be raised; be shorter"
        )
    if reply.finish in _NO_REPLY:
        raise ReplyError(_NO_REPLY[reply.finish])
    if not reply.text.strip():
        raise ReplyError("it is empty")
    fields = _read_json(reply.text) if reply.form == "json" else _read_text(reply.text, reply_type)
    try:
        value = reply_type.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or reply_type.__name__
        raise ReplyError(f"{place}: {first['msg']}"[:_REASON_LENGTH]) from None
    if "\\u0000" in value.model_dump_json():
        raise ReplyError("it holds a NUL character")
    return value


def _read_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ReplyError(f"it is not JSON ({error.msg} at character {error.pos})") from None
    except (ValueError, RecursionError):
        raise ReplyError(_UNREADABLE) from None
    if not isinstance(value, dict):
        raise ReplyError("it is not a JSON object")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ReplyError("it holds halves of characters (surrogates)") from None
    except RecursionError:
        raise ReplyError(_UNREADABLE) from None
    return value


def _read_text(text: str, reply_type: type[BaseModel]) -> dict[str, Any]:
    """Parse our text format: a JSON object, or a program whose first comments are the fields."""
    programs = program_fields(reply_type.model_json_schema())
    if not programs:
        return _read_json(_json_part(text))
    code = extract_program(text)
    fields, rest = _header(code, set(reply_type.model_fields) - {programs[0]})
    return {**fields, programs[0]: rest}


def _json_part(text: str) -> str:
    """Return the first JSON object in a text that may have words or a fence around it."""
    start = text.find("{")
    if start < 0:
        raise ReplyError("there is no JSON object in it")
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(text[start:])
    except json.JSONDecodeError as error:
        raise ReplyError(f"its JSON object is broken ({error.msg})") from None
    except (ValueError, RecursionError):
        raise ReplyError(_UNREADABLE) from None
    return text[start : start + end]


def _header(code: str, names: set[str]) -> tuple[dict[str, Any], str]:
    """Split a program into the fields in its leading comments and the rest."""
    fields: dict[str, Any] = {}
    lines = code.splitlines()
    for number, line in enumerate(lines):
        found = _FIELD.fullmatch(line.strip())
        if found is None or found["name"] not in names:
            return fields, "\n".join(lines[number:]).strip("\n")
        value = found["value"].strip()
        fields[found["name"]] = None if value.lower() in ("", "none", "null") else value
    return fields, ""
