"""Describe the format of a reply in words, and extract reasoning and programs from one."""

import json
from typing import Any

from comind.errors import ReplyError
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.templates import Templates
from comind.system.syntax import parse_or_none

_TEMPLATES = Templates("comind.llm")
_REASONING = ("<think>", "</think>")
_FENCE = "```"
_OPENINGS = {_FENCE, f"{_FENCE}python", f"{_FENCE}py", f"{_FENCE}python3"}


def with_format_instructions(request: ModelRequest, *, structured: bool) -> tuple[Message, ...]:
    """Return the messages of a request with its reply format in words where no schema enforces it.

    The usual format of a conversation follows its task, so that it is the same in every request (prompt
    caching); an exceptional one is the last message.
    """
    messages = list(request.messages)
    standing = request.standing
    if standing is None and program_fields(request.reply_schema):
        standing = request.reply_schema
    if standing is not None:
        first = next((n for n, each in enumerate(messages) if each.role == "user"), 0)
        messages.insert(first + 1, Message(role="user", content=_instructions(standing)))
    if not structured and standing != request.reply_schema:
        messages.append(Message(role="user", content=_instructions(request.reply_schema)))
    return tuple(messages)


def program_fields(schema: dict[str, Any]) -> list[str]:
    """Return the names of the fields of a reply that hold a program."""
    properties: Any = schema.get("properties", {})
    return [name for name, each in properties.items() if each.get("format") == "python"]


def strip_reasoning(text: str) -> tuple[str, bool]:
    """Return a reply without reasoning in `<think>` tags before it, and whether it began with some."""
    if not text.lstrip().startswith(_REASONING[0]):
        return text, False
    _, closed, rest = text.partition(_REASONING[1])
    return (rest.lstrip() if closed else text), True


def matches_schema(text: str, schema: dict[str, Any]) -> bool:
    """Return whether a reply is one JSON object with the keys that its schema requires."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(schema.get("required", [])) <= set(value)


def extract_program(text: str) -> str:
    """Return the Python program in a reply, with or without a fenced block.

    A program may contain fences (in a string, say), and a reply several blocks. The parser decides: the
    text from the first fence to the last if that is Python, else all blocks joined if they are, else the
    longest beginning that is.

    Raises:
        ReplyError: there is no block, and the text itself is not Python.
    """
    lines = text.splitlines()
    opening = next((n for n, line in enumerate(lines) if line.strip().lower() in _OPENINGS), None)
    if opening is None:
        if lines and parse_or_none(text):
            return text.strip()
        raise ReplyError(f"there is no block that begins with a line {_FENCE}python")
    closings = [n for n, line in enumerate(lines) if n > opening and line.strip() == _FENCE]
    if not closings:
        unclosed = "\n".join(lines[opening + 1 :])
        if parse_or_none(unclosed):
            return unclosed
        raise ReplyError("its block is not closed")
    joined = _joined(lines)
    upto = ["\n".join(lines[opening + 1 : closing]) for closing in reversed(closings)]
    return next((code for code in (upto[0], joined, *upto[1:]) if parse_or_none(code)), joined)


def _joined(lines: list[str]) -> str:
    """Return the content of all blocks joined; that of a reply that was sent twice, once."""
    blocks: list[list[str]] = []
    inside = False
    for line in lines:
        bare = line.strip().lower()
        if not inside and bare in _OPENINGS:
            inside = True
            blocks.append([])
        elif inside and bare == _FENCE:
            inside = False
        elif inside:
            blocks[-1].append(line)
    if all(block == blocks[0] for block in blocks):
        del blocks[1:]
    return "\n".join(line for block in blocks for line in block)


def _instructions(schema: dict[str, Any]) -> str:
    definitions, fields = schema.get("$defs"), schema.get("properties", {})
    programs = program_fields(schema)
    return _TEMPLATES.render(
        "text_form",
        plain=[(name, _in_words(each)) for name, each in fields.items() if name not in programs],
        programs=programs,
        definitions=json.dumps(definitions) if definitions else "",
    )


def _in_words(schema: dict[str, Any]) -> str:
    """Return what a field holds: its description, its type in words, or its JSON schema."""
    if "description" in schema:
        return str(schema["description"])
    words = {"boolean": "true or false", "string": "text", "integer": "a whole number"}
    return words.get(str(schema.get("type"))) or json.dumps(schema)
