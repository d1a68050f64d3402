"""How much a model reads and may reply: what its settings say, then what its server refuses.

A reply's limit is what its role asks for, or what the user says in its place, with room for thoughts
where the model thinks first; doubled for each time that a reply was cut off; never more than a share of
the context, nor than the server takes.
"""

import re
import threading

from comind.llm.base import ModelRequest
from comind.llm.settings import ASSUMED_CONTEXT, ModelSettings

__all__ = ["Limits", "known_thinker", "reply_share"]

_REPLY_SHARE = 0.4  # of the context, for the reply: 3,276 tokens of 8,192; 52,428 of 131,072
_THOUGHT_TOKENS = 8_192
_LEAST_CONTEXT = 1_024  # no server that is of any use reads less, whatever it says

# Families that think unless they are told not to, by any provider's name for them; others are known by
# their first reply that holds thoughts.
_THINKERS = re.compile(
    r"(^|[/:_ -])(o\d|gpt-5|gpt-oss|deepseek-(r\d|reasoner)|gemini-(2\.5|[3-9])|qwen-?3|qwq|qvq"
    r"|magistral|grok-(4|3-mini)|glm-(4\.[5-9]|[5-9]|z1)|minimax-m\d|seed-oss|ernie-x1|hunyuan-t1"
    r"|exaone-deep)|think|reason"
)
_NOT_THINKERS = re.compile(
    r"non-?(think|reason)|no-?(think|reason)|gpt-5\S*-chat|qwen-?3\S*(instruct|coder|max|embedding)|-image"
)
_NO_EFFORT = ("none", "off")


def known_thinker(name: str, effort: str | None) -> bool:
    """Say whether a model thinks before it replies, by its name or as its user wants it."""
    if effort is not None:
        return effort.casefold() not in _NO_EFFORT
    name = name.casefold()
    return _THINKERS.search(name) is not None and _NOT_THINKERS.search(name) is None


def reply_share(context_tokens: int) -> int:
    """Return how much of a context a reply may take at most, its thoughts included."""
    return int(_REPLY_SHARE * context_tokens)


class Limits:
    """The limits of one model, for all its requests; safe to share between threads."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self.context_tokens = settings.context_tokens or ASSUMED_CONTEXT
        """Of prompt and reply together."""
        self.assumed = settings.context_tokens is None
        """Whether nobody has said how much it reads."""

    def reply(self, request: ModelRequest, *, thinks: bool, longest: int | None) -> int:
        """Return the most tokens of the reply to a request.

        Args:
            request: what is asked for, and how often its limit was raised.
            thinks: whether thoughts count as part of the reply.
            longest: what the server takes at most; None where it has not said.
        """
        told, thoughts = self._settings.max_tokens, self._settings.reasoning_tokens
        if thoughts is None:
            thoughts = _THOUGHT_TOKENS if thinks else 0
        most = (told or request.max_tokens) + thoughts
        if told is None:
            most *= 2**request.raises
        most = min(most, reply_share(self.context_tokens), longest or most)
        return min(most, request.reply_limit or most)

    def can_rise(self, request: ModelRequest, limit: int, *, thinks: bool, longest: int | None) -> bool:
        """Say whether a reply that was cut off at `limit` has more room with one more raise."""
        more = request.model_copy(update={"raises": request.raises + 1, "reply_limit": None})
        return self.reply(more, thinks=thinks, longest=longest) > limit

    def learn_context(self, said: int | None, fitting: int) -> None:
        """Take in that a server found a conversation too long.

        Args:
            said: the context that it named, if it did.
            fitting: tokens of prompt and reply that may well fit; taken for the context where nobody has
                named one.
        """
        if said is None and not self.assumed:
            return  # our count of this very conversation may have been wrong
        with self._lock:
            found = max(_LEAST_CONTEXT, fitting if said is None else said)
            self.context_tokens = min(self.context_tokens, found)
            self.assumed = self.assumed and said is None
