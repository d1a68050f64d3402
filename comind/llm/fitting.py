"""Conversations made to fit what a model can read."""

from comind.llm.base import Message
from comind.llm.tokens import count_tokens, shorten

__all__ = ["fit", "prompt_tokens"]

_MESSAGE_TOKENS = 6  # a role and its marks
_AT_ONCE = 8  # messages that go together, so that the rest stays the same for some requests
_LEFT_OUT = "(Earlier steps are left out here.)"
_LEAST = 64  # tokens; less of a message says nothing


def prompt_tokens(messages: tuple[Message, ...]) -> int:
    """Return about how many tokens a conversation has."""
    return sum(count_tokens(message.content) + _MESSAGE_TOKENS for message in messages)


def fit(messages: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """Return `messages` in about `room` tokens: of a long conversation its beginning and its end.

    What comes before the first reply stays, as does the last exchange. Older exchanges go first, some at
    once; then the longest message is cut in its middle until all fit.
    """
    if prompt_tokens(messages) <= room:
        return messages
    opening = next((n for n, each in enumerate(messages) if each.role == "assistant"), len(messages))
    middle = list(messages[opening:])
    note = Message(role="user", content=_LEFT_OUT)
    fitted = messages
    while len(middle) > 2 and prompt_tokens(fitted) > room:  # noqa: PLR2004 - the last exchange
        del middle[: min(_AT_ONCE, len(middle) - 2)]
        fitted = (*messages[:opening], note, *middle)
    return _shortened(list(fitted), room)


def _shortened(messages: list[Message], room: int) -> tuple[Message, ...]:
    while (surplus := prompt_tokens(tuple(messages)) - room) > 0:
        sizes = [count_tokens(message.content) for message in messages]
        number = sizes.index(max(sizes))
        kept = max(_LEAST, min(sizes[number] - surplus, int(0.9 * sizes[number])))
        content = shorten(messages[number].content, kept)
        if len(content) >= len(messages[number].content):
            break  # nothing left to cut; the server has the last word
        messages[number] = messages[number].model_copy(update={"content": content})
    return tuple(messages)
