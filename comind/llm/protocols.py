"""Write request bodies and parse responses of the two OpenAI protocols, chat completions and responses.

Responses are parsed here and not by openai (3.52), which would lose replies that were paid for:
- compatible servers omit fields that its types promise, or send nulls and lists of parts;
- its `Stream` ends with an error at a keep-alive comment after an `id` (its issue 2722) and at a byte
  that is no UTF-8, and without an event where a whole body comes in place of a stream;
- its `ChatCompletionStreamState` fails on a null for choices or a delta, and takes ten times as long.

Whether a response is a stream is decided by its first bytes, as content types are unreliable, too.
"""

import base64
import json
import re
from typing import Any, NamedTuple

from comind.domain.value import one_line, replace_surrogates
from comind.llm.capabilities import Capabilities
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.settings import Protocol

_REASONING = ("reasoning_content", "reasoning")  # fields of a chat message
_STREAM_START = re.compile(r"\s*(data|event|id|retry)?:")
_LINE = re.compile(r"\r\n|\r|\n")  # not `splitlines`, which also splits at characters inside JSON
_DATA, _DONE = "data:", "[DONE]"
_NAME_LENGTH = 200  # of what a server names: a model, a reason
_PRESENCE_ONLY = ("tool_calls", "function_call", *_REASONING)  # fields whose content is not read
_LAST = ("response.completed", "response.incomplete", "response.failed")


class ProtocolError(Exception):
    """A response body is JSON, but does not follow the protocol."""


class Completion(NamedTuple):
    """A completion, whatever its protocol."""

    text: str
    finish: str
    """stop, length, refusal, content_filter, tool_calls, or a reason of the server's own."""
    model: str = ""
    usage: dict[str, int] | None = None
    """Token counts by field of `Usage`; None where the server sent none that can be read."""
    reasoning: bool = False
    """Whether there was reasoning beside the text."""
    streamed: bool = False


def request_body(
    name: str,
    request: ModelRequest,
    messages: tuple[Message, ...],
    capabilities: Capabilities,
    *,
    structured: bool,
    effort: str | None,
) -> dict[str, Any]:
    """Return the JSON body of a request.

    Args:
        name: of the model.
        request: what is asked for.
        messages: the conversation as it is sent.
        capabilities: parameters that are not among them are left out.
        structured: whether the reply is constrained by its JSON schema.
        effort: reasoning effort, None: the model's default.
    """
    chat = capabilities.protocol == "chat"
    sent = _alternating(messages, system=capabilities.system)
    written = [{"role": each.role, "content": _content(each, chat=chat)} for each in sent]
    schema: dict[str, Any] | None = None
    if structured and capabilities.strict:
        schema = {"name": request.reply_name, "schema": _strict(request.reply_schema), "strict": True}
    elif structured:
        schema = {"name": request.reply_name, "schema": request.reply_schema}
    body: dict[str, Any] = {"model": name}
    body |= {"messages": written} if chat else {"input": written, "store": False}
    if capabilities.limit_parameter != "none":
        body[capabilities.limit_parameter if chat else "max_output_tokens"] = request.max_tokens
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


def parse_response(text: str, protocol: Protocol) -> Completion:
    """Return the completion in the body of a successful response, streamed or not.

    A lone half of a character in its text is U+FFFD, as bytes are that are no UTF-8.

    Raises:
        ValueError: the body, or an event of the stream, is not JSON.
        ProtocolError: the body does not follow the protocol, or the stream is truncated.
    """
    streamed = _STREAM_START.match(text) is not None
    body = _assemble_stream(text, protocol) if streamed else json.loads(text)
    if not isinstance(body, dict):
        raise ProtocolError("the response is not a JSON object")
    error = body.get("error")
    if error:
        message = error.get("message") if isinstance(error, dict) else error
        raise ProtocolError(f"the response is an error: {one_line(str(message), _NAME_LENGTH)}")
    completion = _parse_chat(body) if protocol == "chat" else _parse_responses(body)
    return completion._replace(
        text=replace_surrogates(completion.text),
        finish=one_line(completion.finish, _NAME_LENGTH),
        model=one_line(str(body.get("model") or ""), _NAME_LENGTH),
        usage=_token_counts(body.get("usage")),
        streamed=streamed,
    )


def _alternating(messages: tuple[Message, ...], *, system: bool) -> list[Message]:
    """Merge messages so that roles alternate; without `system`, system messages become a user's."""
    sent: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" and not system else message.role
        content, images = message.content or "(empty)", message.images
        if sent and sent[-1].role == role:
            before = sent.pop()
            content, images = f"{before.content}\n\n{content}", (*before.images, *images)
        sent.append(Message(role=role, content=content, images=images))
    return sent


def _content(message: Message, *, chat: bool) -> str | list[dict[str, Any]]:
    """Return the content of a message: its text or, with images, parts, each image after its caption."""
    if not message.images:
        return message.content
    text = "text" if chat else "input_text"
    parts: list[dict[str, Any]] = [{"type": text, "text": message.content}]
    for image in message.images:
        url = f"data:image/jpeg;base64,{base64.b64encode(image.data).decode()}"
        parts.append({"type": text, "text": image.caption})
        parts.append(
            {"type": "image_url", "image_url": {"url": url}}
            if chat
            else {"type": "input_image", "image_url": url}
        )
    return parts


def _parse_chat(body: dict[str, Any]) -> Completion:
    choice = next(iter(_objects(body.get("choices"))), {})
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ProtocolError("the response has no choices with a message")
    text, finish = _text_of(message.get("content")), choice.get("finish_reason")
    if message.get("refusal"):
        text, finish = str(message["refusal"]), "refusal"
    elif message.get("tool_calls") or message.get("function_call"):
        finish = "tool_calls"
    reasoning = any(message.get(name) for name in _REASONING)
    return Completion(text, str(finish or "stop"), reasoning=reasoning)


def _text_of(content: object) -> str:
    """Return the text of a message, which some servers send in parts."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in _objects(content))
    if content is not None and not isinstance(content, str):
        raise ProtocolError("the message is not text")
    return content or ""


def _parse_responses(body: dict[str, Any]) -> Completion:
    output = body.get("output")
    if not isinstance(output, list):
        raise ProtocolError("the response has no output")
    items = _objects(output)
    messages = [item for item in items if item.get("type", "message") == "message"]
    parts = [part for message in messages for part in _objects(message.get("content"))]
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
        raise ProtocolError("the response has the status failed")
    elif any("call" in str(item.get("type")) for item in items):
        finish = "tool_calls"
    elif not items:
        raise ProtocolError("the response has no output")
    return Completion(text, finish)


def _objects(value: object) -> list[dict[str, Any]]:
    """Return the JSON objects in a list; none where `value` is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _token_counts(usage: object) -> dict[str, int] | None:
    """Return token counts by field of `Usage`; None where one of them is not an integer."""
    if not isinstance(usage, dict):
        return None
    prompt = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    completion = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    counts: dict[str, Any] = {
        "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        "cached_tokens": (prompt.get("cached_tokens") if isinstance(prompt, dict) else 0) or 0,
        "reasoning_tokens": (completion.get("reasoning_tokens") if isinstance(completion, dict) else 0)
        or 0,
    }
    return counts if all(type(count) is int for count in counts.values()) else None


_NOT_STRICT = ("default", "title", "minLength", "maxLength")


def _strict(schema: Any) -> Any:
    """Return a schema for strict mode: every key required, no additional ones, no defaults."""
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


def _assemble_stream(text: str, protocol: Protocol) -> dict[str, Any]:
    """Return the body that the same server sends without streaming."""
    events, ended = _events(text)
    error = next((each for each in events if each.get("error") or each.get("type") == "error"), None)
    if error is not None:
        return {"error": error.get("error") or error}
    if protocol == "chat":
        return _assemble_chat(events, ended=ended)
    for event in reversed(events):
        if event.get("type") in _LAST and isinstance(event.get("response"), dict):
            return dict(event["response"])
    raise ProtocolError("the stream is truncated")


def _events(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the data of the events, and whether `[DONE]` ended them."""
    events: list[dict[str, Any]] = []
    data: list[str] = []
    for line in _LINE.split(text):
        if line.startswith(_DATA):
            data.append(line.removeprefix(_DATA).strip())
        elif not line:
            joined, data = "\n".join(data), []
            if joined == _DONE:
                return events, True
            if joined:
                event = json.loads(joined)
                if not isinstance(event, dict):
                    raise ProtocolError("a stream event is not a JSON object")
                events.append(event)
    return events, data == [_DONE]


def _assemble_chat(events: list[dict[str, Any]], *, ended: bool) -> dict[str, Any]:
    """Join the deltas of the first choice; the usage is in any of the last events."""
    message: dict[str, Any] = {}
    texts: dict[str, list[str]] = {}
    body: dict[str, Any] = {}
    finish = None
    for event in events:
        body |= {name: event[name] for name in ("model", "usage") if event.get(name)}
        for choice in _objects(event.get("choices")):
            if choice.get("index"):
                continue  # a server may send several choices without being asked
            delta = choice.get("delta")
            if isinstance(delta, dict):
                for name in ("content", "refusal"):
                    if delta.get(name):
                        texts.setdefault(name, []).append(_text_of(delta[name]))
                message |= {name: True for name in _PRESENCE_ONLY if delta.get(name)}
            finish = choice.get("finish_reason") or finish
            body["choices"] = [{"message": message, "finish_reason": finish}]
    if not ended and finish is None:
        raise ProtocolError("the stream is truncated")
    message |= {name: "".join(parts) for name, parts in texts.items()}
    return body
