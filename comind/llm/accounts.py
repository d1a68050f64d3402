"""What a call is booked at: the server's own count where it can be true, else the most it can be."""

from collections.abc import Iterable

from comind.llm.base import Message, ModelRequest, Usage

__all__ = ["bound_of", "honest"]

# A token is at least one byte of text. What a server adds (roles, its template, a schema turned into a
# grammar or a prompt) is covered by the two allowances and by counting the schema.
_MESSAGE_ALLOWANCE = 16
_PROMPT_ALLOWANCE = 256
_LONGEST_TOKEN = 64  # bytes of text in one token, on the average of a whole prompt or reply


def bound_of(messages: Iterable[Message], request: ModelRequest) -> Usage:
    """Return the most tokens that one try of `request` can cost, sent as `messages`."""
    prompt = sum(len(message.content.encode()) + _MESSAGE_ALLOWANCE for message in messages)
    schema = len(str(request.reply_schema).encode())
    return Usage(prompt_tokens=prompt + schema + _PROMPT_ALLOWANCE, completion_tokens=request.max_tokens)


def honest(counts: dict[str, int] | None, bound: Usage, sent: int, text: str) -> Usage | None:
    """Return a server's count if it can be true for a prompt of `sent` bytes and this reply, else None.

    `counts` are by our names; what is not in it counts as 0.
    """
    if counts is None or min(counts.values()) < 0:
        return None
    usage = Usage.model_validate(counts)
    possible = (
        sent // _LONGEST_TOKEN <= usage.prompt_tokens <= bound.prompt_tokens
        and len(text.encode()) // _LONGEST_TOKEN <= usage.completion_tokens <= bound.completion_tokens
        and usage.cached_tokens <= usage.prompt_tokens
        and usage.reasoning_tokens <= usage.completion_tokens
    )
    return usage if possible else None
