"""Check requests that another program wrote for a model, and prepare them to be forwarded.

The program chooses messages, tools and sampling. Model, token limit of a reply and usage at the end of
a stream are set here, as the budget depends on them. What lets a server act by itself (search, files,
addresses to fetch, stored conversations) is refused: the program has no network, and this must be no way
around that.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, runtime_checkable
from typing import Protocol as TypingProtocol

from comind.domain.value import replace_surrogates
from comind.llm.capabilities import Capabilities
from comind.llm.model_ports import Message, ModelReply, Usage
from comind.llm.settings import ModelSettings, Protocol

_OWN_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_SAMPLING = ("temperature", "top_p", "parallel_tool_calls", "tools", "tool_choice", "top_logprobs")
_PARAMETERS: dict[Protocol, frozenset[str]] = {
    "chat": frozenset(
        (
            *("model", "messages", "stream", "stream_options", "stop", "seed", "n", *_OWN_LIMITS[:2]),
            *("response_format", "reasoning_effort", "verbosity", "presence_penalty", "logit_bias"),
            *("frequency_penalty", "logprobs", "functions", "function_call", *_SAMPLING),
        )
    ),
    "responses": frozenset(
        ("model", "input", "instructions", "stream", "text", "reasoning", _OWN_LIMITS[2], *_SAMPLING)
    ),
}
_TOOLS = ("function", "custom")  # run by the program; all others are run by the server
_ITEMS = ("message", "reasoning", "function_call", "function_call_output")
_PARTS = (
    *("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"),
    *("image_url", "input_image", "function", "custom", *_ITEMS),
)
_STORED = ("file_id", "file_url", "file", "audio", "input_audio", "video", "prompt")  # at the server
_URL = "data:"  # the content itself, not an address to fetch
_DEFAULT_TOKENS = 8_192  # of a reply whose limit the program does not state
_MOST_REPLIES = 8
# A token is at least one byte; a server's template has less than the JSON around each message.
_PROMPT_ALLOWANCE, _IMAGE_ALLOWANCE = 256, 65_536
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class RefusedRequestError(Exception):
    """A request that is not forwarded; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class ForeignRequest:
    """A request that another program wrote, without what is set here."""

    protocol: Protocol
    body: dict[str, Any]
    wanted_tokens: int
    """Token limit of a reply that the program asks for, or the default."""
    replies: int
    streamed: bool
    wants_usage: bool
    """Whether the program asked for the usage at the end of a stream."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the request without its numbers: running times differ from run to run."""
        text = json.dumps(self.body, sort_keys=True)
        return hashlib.sha256(_NUMBER.sub("#", text).encode("utf-8", "replace")).hexdigest()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation in words, for people."""
        given = self.body["messages" if self.protocol == "chat" else "input"]
        items = given if isinstance(given, list) else [{"role": "user", "content": given}]
        first = self.body.get("instructions")
        items = [{"role": "system", "content": first}, *items] if first else items
        return tuple(_message(item) for item in items)

    def bound(self, tokens: int) -> Usage:
        """Return an upper bound on the usage with replies of at most `tokens`."""
        images = sum(1 for part in _objects(self.body) if any("image" in name for name in part))
        sent = len(json.dumps(self.body, ensure_ascii=False).encode("utf-8", "replace"))
        prompt = sent + _PROMPT_ALLOWANCE + images * _IMAGE_ALLOWANCE
        return Usage(prompt_tokens=prompt, completion_tokens=tokens * self.replies)

    @property
    def text_bytes(self) -> int:
        """Bytes of the conversation's text, without images."""
        return sum(len(each.content.encode("utf-8", "replace")) for each in self.messages)

    def written(
        self, model: str, tokens: int, capabilities: Capabilities, settings: ModelSettings
    ) -> dict[str, Any]:
        """Return the body for a model, with replies of at most `tokens`, without what it cannot do.

        The effort of `settings` replaces the program's; its temperature stands where there is none.
        """
        body = {**self.body, "model": model}
        if settings.temperature is not None:
            body.setdefault("temperature", settings.temperature)
        if (effort := settings.reasoning_effort) is not None:
            chat = self.protocol == "chat"
            body |= {"reasoning_effort": effort} if chat else {"reasoning": {"effort": effort}}
        if not capabilities.temperature:
            body.pop("temperature", None)
        if not capabilities.effort:
            body.pop("reasoning_effort", None)
            body.pop("reasoning", None)
        if self.protocol == "responses":
            return {**body, "max_output_tokens": tokens, "store": False}
        if capabilities.limit_parameter != "none":
            body[capabilities.limit_parameter] = tokens
        if self.streamed:
            body["stream_options"] = {"include_usage": True}
        return body


class Forwarded(NamedTuple):
    """What the program gets."""

    status: int
    text: str
    """The body as the server sent it, without our key."""
    reply: ModelReply | None = None
    """What it says and costs; None where the server refuses the request."""

    @property
    def usage(self) -> Usage:
        """Usage of the request."""
        return self.reply.usage if self.reply else Usage()


@runtime_checkable
class ForwardingModel(TypingProtocol):
    """A model that takes requests of other programs; raises the errors of `ChatModel.complete`."""

    name: str

    def forward_bound(self, request: ForeignRequest) -> Usage:
        """Return an upper bound on the usage of one attempt at `request`."""
        ...

    def forward(self, request: ForeignRequest, bound: Usage, timeout_seconds: float | None) -> Forwarded:
        """Send `request` with the token limit of `bound`, and return the response."""
        ...


def check_request(protocol: Protocol, given: object) -> ForeignRequest:
    """Return a request that may be forwarded.

    Raises:
        RefusedRequestError: it is none of the protocol, or asks the server to act by itself.
    """
    content = "messages" if protocol == "chat" else "input"
    if not isinstance(given, dict) or not isinstance(given.get(content), list | str):
        raise RefusedRequestError(f"the body is no JSON object with {content}")
    body = {name: value for name, value in given.items() if value is not None}
    if body.get("store") is False:
        del body["store"]
    for name in sorted(set(body) - _PARAMETERS[protocol]):
        raise RefusedRequestError(f"the parameter {name!r} is not forwarded")
    _check_tools(body.get("tools") or [])
    _check_content(body[content])
    body = _encodable(body)
    limit = next((body.pop(name) for name in _OWN_LIMITS if name in body), _DEFAULT_TOKENS)
    replies, options = body.get("n", 1), body.pop("stream_options", {})
    if type(limit) is not int or limit < 1 or type(replies) is not int or replies < 1:
        raise RefusedRequestError("token limit and number of replies are positive integers")
    if replies > _MOST_REPLIES:
        raise RefusedRequestError(f"more than {_MOST_REPLIES} replies to one request")
    body = {name: value for name, value in body.items() if name not in (*_OWN_LIMITS, "model")}
    wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return ForeignRequest(protocol, body, limit, replies, bool(body.get("stream")), wants_usage)


def without_usage(text: str) -> str:
    """Return a stream of the chat protocol without the event that has the usage alone."""
    return "".join(each for each in re.split(r"(?<=\n\n)", text) if not _is_usage(each))


def _is_usage(event: str) -> bool:
    try:
        found = json.loads(event.strip().removeprefix("data:"))
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("choices") == [] and bool(found.get("usage"))


def _check_tools(tools: object) -> None:
    for tool in tools if isinstance(tools, list) else [tools]:
        if not isinstance(tool, dict) or tool.get("type") not in _TOOLS:
            raise RefusedRequestError("tools that the server runs are not forwarded, functions are")


def _check_content(content: object) -> None:
    """Refuse what a server would fetch, or keeps: only texts, calls and images in the request pass."""
    for item in content if isinstance(content, list) else []:
        if not isinstance(item, dict) or not ("role" in item or item.get("type") in _ITEMS):
            raise RefusedRequestError("an item is neither a message nor a call of a function")
    for part in _objects(content):
        _check_part(part)


def _encodable(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body that can be sent: lone halves of characters are replaced.

    Raises:
        RefusedRequestError: it has a number that JSON does not know.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise RefusedRequestError("a number is not finite") from None
    found: dict[str, Any] = json.loads(replace_surrogates(text))
    return found


def _check_part(part: dict[str, Any]) -> None:
    kind = part.get("type", "text")
    if kind not in _PARTS:
        raise RefusedRequestError(f"content of the type {kind!r} is not forwarded")
    for name, value in part.items():
        if name in _STORED:
            raise RefusedRequestError(f"content with {name!r} is not forwarded")
        url = value.get("url") if isinstance(value, dict) else value
        if name.endswith("_url") and not (isinstance(url, str) and url.startswith(_URL)):
            raise RefusedRequestError("an image is sent as a data: URL; addresses are not forwarded")


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield all objects of a conversation, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from _objects(each)
    elif isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _objects(each)


def _message(item: object) -> Message:
    """Return a message, or a call of a function and its result, as text."""
    if not isinstance(item, dict):
        return Message(role="user", content=str(item))
    role, content = item.get("role", "user"), item.get("content")
    text = content if isinstance(content, str) else _text_of(content)
    others = {name: value for name, value in item.items() if name not in ("role", "content", "type")}
    if others:
        text = f"{text}\n{json.dumps(others, ensure_ascii=False)}".strip()
    content = replace_surrogates(text)
    if role in ("system", "developer"):
        return Message(role="system", content=content)
    return Message(role="assistant" if role == "assistant" else "user", content=content)


def _text_of(content: object) -> str:
    parts = content if isinstance(content, list) else []
    shown = [
        str(each.get("text", f"({each.get('type')})")) if isinstance(each, dict) else str(each)
        for each in parts
    ]
    return "\n".join(shown)
