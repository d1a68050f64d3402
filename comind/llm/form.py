"""The form of a reply, said in words to models that are given no schema, and found in what they say."""

import json
from typing import Any

from comind.llm.base import Message, ModelRequest
from comind.llm.templates import Templates

__all__ = ["after_thinking", "keeps_to", "program_fields", "thinks_aloud", "worded"]

_TEMPLATES = Templates("comind.llm")
_THOUGHTS = ("<think>", "</think>")


def worded(request: ModelRequest, *, structured: bool) -> tuple[Message, ...]:
    """Return the messages with the form of the reply said in words, where no schema says it.

    The usual form of a conversation stands at the end of its task, so that it is the same in every
    request; another one stands at the very end.
    """
    messages = list(request.messages)
    standing = request.standing
    if standing is None and program_fields(request.reply_schema):
        standing = request.reply_schema
    if standing is not None:
        first = next((n for n, each in enumerate(messages) if each.role == "user"), 0)
        messages.insert(first + 1, Message(role="user", content=_said(standing)))
    if not structured and standing != request.reply_schema:
        messages.append(Message(role="user", content=_said(request.reply_schema)))
    return tuple(messages)


def program_fields(schema: dict[str, Any]) -> list[str]:
    """Return the names of the fields of a reply that hold a program."""
    properties: Any = schema.get("properties", {})
    return [name for name, each in properties.items() if each.get("format") == "python"]


def thinks_aloud(text: str) -> bool:
    """Say whether a reply begins with thoughts, as some local models write them."""
    return text.lstrip().startswith(_THOUGHTS[0])


def after_thinking(text: str) -> str:
    """Return a reply without the thoughts before it."""
    if not thinks_aloud(text):
        return text
    _, closed, rest = text.partition(_THOUGHTS[1])
    return rest.lstrip() if closed else text


def keeps_to(text: str, schema: dict[str, Any]) -> bool:
    """Say whether a reply is one JSON object with the keys that its schema requires."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(schema.get("required", [])) <= set(value)


def _said(schema: dict[str, Any]) -> str:
    """Describe our text form for a reply of this schema."""
    definitions = schema.get("$defs")
    programs = program_fields(schema)
    return _TEMPLATES.render(
        "text_form",
        plain=[
            (name, _in_words(each))
            for name, each in schema.get("properties", {}).items()
            if name not in programs
        ],
        programs=programs,
        definitions=json.dumps(definitions) if definitions else "",
    )


def _in_words(schema: dict[str, Any]) -> str:
    """Say what a field holds: its description, its kind in words, or its JSON schema."""
    if "description" in schema:
        return str(schema["description"])
    words = {"boolean": "true or false", "string": "text", "integer": "a whole number"}
    return words.get(str(schema.get("type"))) or json.dumps(schema)
