"""Fit prompts and replies into a context window.

The token limit of a reply is what its role asks for, or what the user sets in its place, plus room for
reasoning where the model reasons first; doubled for each reply that was truncated; at most a share of
the context window and what the server accepts.
"""

import re
import threading

from comind.llm.capabilities import Capabilities
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.settings import ASSUMED_CONTEXT, ModelSettings
from comind.llm.tokens import count_image_tokens, count_tokens, shorten

_REPLY_SHARE = 0.4  # of the context, for the reply: 3,276 tokens of 8,192; 52,428 of 131,072
_REASONING_TOKENS = 8_192
_LEAST_CONTEXT = 1_024  # no useful server has less, whatever its refusal names
_MESSAGE_TOKENS = 6  # a role and its delimiters
_DROPPED_AT_ONCE = 8  # messages, so that the prefix stays cached for some requests
_LEFT_OUT = "(Earlier steps are left out here.)"
_LEAST_MESSAGE = 64  # tokens; a shorter excerpt is useless

# Families that reason by default, by any provider's name for them; others are recognised by their first
# reply that holds reasoning.
_REASONING = re.compile(
    r"(^|[/:_ -])(o\d|gpt-5|gpt-oss|deepseek-(r\d|reasoner)|gemini-(2\.5|[3-9])|qwen-?3|qwq|qvq"
    r"|magistral|grok-(4|3-mini)|glm-(4\.[5-9]|[5-9]|z1)|minimax-m\d|seed-oss|ernie-x1|hunyuan-t1"
    r"|exaone-deep)|think|reason"
)
_NOT_REASONING = re.compile(
    r"non-?(think|reason)|no-?(think|reason)|gpt-5\S*-chat|qwen-?3\S*(instruct|coder|max|embedding)|-image"
)
_NO_EFFORT = ("none", "off")


def is_reasoning_model(name: str, effort: str | None) -> bool:
    """Return whether a model reasons before it replies, by its name or the effort that is set."""
    if effort is not None:
        return effort.casefold() not in _NO_EFFORT
    name = name.casefold()
    return _REASONING.search(name) is not None and _NOT_REASONING.search(name) is None


def max_reply_tokens(context_tokens: int) -> int:
    """Return the share of a context window that a reply may take, reasoning included."""
    return int(_REPLY_SHARE * context_tokens)


def prompt_tokens(messages: tuple[Message, ...]) -> int:
    """Return about how many tokens a conversation has."""
    text = sum(count_tokens(message.content) + _MESSAGE_TOKENS for message in messages)
    return text + sum(count_image_tokens(message.images) for message in messages)


def truncate_messages(messages: tuple[Message, ...], tokens: int) -> tuple[Message, ...]:
    """Truncate a prompt to about `tokens`: drop older exchanges, then images, then shorten texts.

    The messages before the first reply and the last exchange stay; of the longest message, the middle is
    truncated until all fit. Several exchanges go at once, so that a cached prefix stays longer.
    """
    if prompt_tokens(messages) <= tokens:
        return messages
    opening = _opening(messages)
    middle = list(messages[opening:])
    note = Message(role="user", content=_LEFT_OUT)
    fitted = messages
    while len(middle) > 2 and prompt_tokens(fitted) > tokens:  # noqa: PLR2004 - the last exchange
        del middle[: min(_DROPPED_AT_ONCE, len(middle) - 2)]
        fitted = (*messages[:opening], note, *middle)
    if prompt_tokens(fitted) > tokens:
        fitted = tuple(message.without_images() for message in fitted)
    return _shortened(list(fitted), tokens)


def keep_images(messages: tuple[Message, ...], most: int) -> tuple[Message, ...]:
    """Return messages with at most `most` images: those before the first reply, and the newest.

    A line stands for each of the others. Several go at once, so that a cached prefix stays longer.
    """
    places = [(n, image) for n, message in enumerate(messages) for image in range(len(message.images))]
    if len(places) <= most:
        return messages
    opening = sum(len(message.images) for message in messages[: _opening(messages)])
    first = min(opening, most // 2)
    at_once = max(1, (most - first) // 2)
    dropped = -(-(len(places) - most) // at_once) * at_once
    kept = {*places[:first], *places[first + dropped :]}
    return tuple(
        message.without_images({image for number, image in kept if number == n})
        for n, message in enumerate(messages)
    )


def _opening(messages: tuple[Message, ...]) -> int:
    """Return the number of messages before the first reply."""
    return next((n for n, each in enumerate(messages) if each.role == "assistant"), len(messages))


def _shortened(messages: list[Message], tokens: int) -> tuple[Message, ...]:
    while (surplus := prompt_tokens(tuple(messages)) - tokens) > 0:
        sizes = [count_tokens(message.content) for message in messages]
        number = sizes.index(max(sizes))
        kept = max(_LEAST_MESSAGE, min(sizes[number] - surplus, int(0.9 * sizes[number])))
        content = shorten(messages[number].content, kept)
        if len(content) >= len(messages[number].content):
            break  # nothing left to truncate; the server decides
        messages[number] = messages[number].model_copy(update={"content": content})
    return tuple(messages)


class TokenLimits:
    """The token limits of one model, for all its requests; thread-safe."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self.context_tokens = settings.context_tokens or ASSUMED_CONTEXT
        """Prompt and reply together."""
        self.assumed = settings.context_tokens is None
        """Whether neither settings nor a refusal have named the context window."""

    def reply(self, request: ModelRequest, capabilities: Capabilities) -> int:
        """Return the token limit of the reply to a request; `raises` is how often it was doubled."""
        fixed, thoughts = self._settings.max_tokens, self._settings.reasoning_tokens
        if thoughts is None:
            thoughts = _REASONING_TOKENS if capabilities.reasoning else 0
        limit = (fixed or request.max_tokens) + thoughts
        if fixed is None:
            limit *= 2**request.raises
        longest = capabilities.max_reply_tokens or limit
        limit = min(limit, max_reply_tokens(self.context_tokens), longest)
        reserved = request.bound.completion_tokens if request.bound else 0
        return min(limit, reserved or limit)

    def can_rise(self, request: ModelRequest, limit: int, capabilities: Capabilities) -> bool:
        """Return whether one more raise gives a reply that was truncated at `limit` more room."""
        more = request.model_copy(update={"raises": request.raises + 1, "bound": None})
        return self.reply(more, capabilities) > limit

    def learn_context(self, named: int | None, fitting: int) -> None:
        """Lower the context window after a server refused a conversation as too long.

        Args:
            named: the context window in the refusal, if any.
            fitting: tokens of prompt and reply that probably fit; used while the window is assumed.
        """
        if named is None and not self.assumed:
            return  # our own count of this conversation may have been wrong
        with self._lock:
            found = max(_LEAST_CONTEXT, fitting if named is None else named)
            self.context_tokens = min(self.context_tokens, found)
            self.assumed = self.assumed and named is None
