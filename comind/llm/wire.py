"""The two protocols on the wire: what is sent, and what came back, as plain values."""

from typing import Any, NamedTuple

from comind.llm.base import Message, ModelRequest
from comind.llm.capabilities import Capabilities

__all__ = ["THOUGHTS", "Said", "WireError", "body_of", "read_body", "text_of"]


THOUGHTS = ("reasoning_content", "reasoning")
"""Where chat servers put what a model thought, if not into the text."""


class WireError(Exception):
    """A body is JSON, but not what the protocol promises."""


class Said(NamedTuple):
    """What a server said, whatever its protocol.

    `finish` is one of stop, length, refusal, content_filter, tool_calls, or a word of the server's own.
    `usage` holds its counts by our names, None where it gave none that can be read.
    """

    text: str
    finish: str
    model: str
    usage: dict[str, int] | None
    thought: bool = False
    """Whether thoughts came beside the text."""


def body_of(
    name: str,
    request: ModelRequest,
    messages: tuple[Message, ...],
    capabilities: Capabilities,
    *,
    structured: bool,
    effort: str | None,
) -> dict[str, Any]:
    """Return the body of a request, with the conversation as it is sent: `messages`.

    `structured` says whether the reply is asked for by its schema; `effort` is how much a reasoning
    model is to think, None: as it likes.
    """
    written = [message.model_dump() for message in _for(capabilities, messages)]
    schema: dict[str, Any] | None = None
    if structured and capabilities.strict:
        schema = {"name": request.reply_name, "schema": _strict(request.reply_schema), "strict": True}
    elif structured:
        schema = {"name": request.reply_name, "schema": request.reply_schema}
    chat = capabilities.protocol == "chat"
    body: dict[str, Any] = {"model": name}
    body |= {"messages": written} if chat else {"input": written, "store": False}
    if capabilities.limit != "none":
        body[capabilities.limit if chat else "max_output_tokens"] = request.max_tokens
    if schema is not None and chat:
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif schema is not None:
        body["text"] = {"format": {"type": "json_schema", **schema}}
    if effort is not None and capabilities.effort:
        body |= {"reasoning_effort": effort} if chat else {"reasoning": {"effort": effort}}
    if request.temperature is not None and capabilities.temperature:
        body["temperature"] = request.temperature
    if capabilities.stream:
        body["stream"] = True
        body |= {"stream_options": {"include_usage": True}} if chat else {}
    return body


def read_body(body: object, capabilities: Capabilities) -> Said:
    """Return what the body of a successful answer says.

    Raises:
        WireError: it is not what the protocol promises.
    """
    if not isinstance(body, dict):
        raise WireError("its answer is no JSON object")
    error = body.get("error")
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        raise WireError(f"its answer is an error: {str(message)[:200]}")
    return _read_chat(body) if capabilities.protocol == "chat" else _read_responses(body)


def _for(capabilities: Capabilities, messages: tuple[Message, ...]) -> list[Message]:
    """Return the messages so that roles alternate, and without a system role where there is none."""
    sent: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" and not capabilities.system else message.role
        content = message.content or "(empty)"
        if sent and sent[-1].role == role:
            content = f"{sent.pop().content}\n\n{content}"
        sent.append(Message(role=role, content=content))
    return sent


def _read_chat(body: dict[str, Any]) -> Said:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise WireError("its answer has no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise WireError("its answer has no message")
    text, finish = text_of(message.get("content")), choices[0].get("finish_reason")
    if message.get("refusal"):
        text, finish = str(message["refusal"]), "refusal"
    elif message.get("tool_calls") or message.get("function_call"):
        finish = "tool_calls"
    return Said(
        text,
        str(finish or "stop"),
        str(body.get("model") or ""),
        _counted(body.get("usage")),
        thought=any(message.get(name) for name in THOUGHTS),
    )


def text_of(content: object) -> str:
    """Return the text of a message, which some servers send in parts.

    Raises:
        WireError: it is something else.
    """
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise WireError("its message is no text")
    return content or ""


def _read_responses(body: dict[str, Any]) -> Said:
    output = body.get("output")
    if not isinstance(output, list):
        raise WireError("its answer has no output")
    items = [item for item in output if isinstance(item, dict)]
    parts = [
        part
        for item in items
        if item.get("type", "message") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
        if isinstance(part, dict)
    ]
    text = "".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")
    refusals = [str(part["refusal"]) for part in parts if part.get("refusal")]
    finish = "stop"
    if refusals:
        text, finish = refusals[0], "refusal"
    elif body.get("status") == "incomplete":
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else ""
        finish = "content_filter" if reason == "content_filter" else "length"
    elif body.get("status") == "failed":
        raise WireError("its answer says that it failed")
    elif any("call" in str(item.get("type")) for item in items):
        finish = "tool_calls"
    elif not items:
        raise WireError("its answer has no output")
    return Said(text, finish, str(body.get("model") or ""), _counted(body.get("usage")))


_COUNTS = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
}
_DETAILS = {
    "cached_tokens": (("prompt_tokens_details", "input_tokens_details"), "cached_tokens"),
    "reasoning_tokens": (("completion_tokens_details", "output_tokens_details"), "reasoning_tokens"),
}


def _counted(usage: object) -> dict[str, int] | None:
    """Return a server's counts by our names; None where one of the two main ones is no number."""
    if not isinstance(usage, dict):
        return None
    counts: dict[str, int] = {}
    for ours, theirs in _COUNTS.items():
        value = next((usage[name] for name in theirs if name in usage), None)
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        counts[ours] = value
    for ours, (places, name) in _DETAILS.items():
        details: dict[str, Any] = next(
            (usage[place] for place in places if isinstance(usage.get(place), dict)), {}
        )
        value = details.get(name) or 0
        if not isinstance(value, int):
            return None
        counts[ours] = value
    return counts


_NOT_STRICT = ("default", "title", "minLength", "maxLength")


def _strict(schema: Any) -> Any:
    """Return a schema as OpenAI's strict mode wants it: every key required, none beyond, no defaults."""
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: {key: _strict(each) for key, each in value.items()}
        if name in ("properties", "$defs")
        else _strict(value)
        for name, value in schema.items()
        if name not in _NOT_STRICT
    }
    if "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept
