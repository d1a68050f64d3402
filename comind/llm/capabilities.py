"""What a server understands of the protocol: assumed at first, then learnt from its refusals.

Servers say that they speak OpenAI's protocol and mean a part of it. Each ability is used until it is
refused once, and then no more. A refusal costs no tokens, so nothing has to be probed beforehand.
"""

import re
from typing import Literal

from comind.domain.value import Value
from comind.llm.settings import Protocol

__all__ = ["Capabilities", "Limit"]

Limit = Literal["max_tokens", "max_completion_tokens", "none"]


class Capabilities(Value):
    """The words that a server knows."""

    protocol: Protocol = "chat"
    stream: bool = True
    """Whether it sends a reply piece by piece, and says at its end what it took."""
    structured: bool = True
    """Whether it takes a JSON schema for the reply, and keeps to it."""
    strict: bool = True
    """Whether it takes the schema as one to be enforced."""
    system: bool = True
    """Whether it takes instructions apart from the conversation."""
    temperature: bool = True
    effort: bool = True
    limit: Limit = "max_tokens"
    """What it calls the most tokens of a reply (of the chat protocol)."""
    thinks: bool = False
    """Whether its model thinks before it replies, which takes room beside the reply."""
    longest: int | None = None
    """Most tokens of a reply that may be asked for; None where it has not said."""
    fixed_protocol: bool = False
    """Whether the user named the protocol."""

    def after(self, status: int, message: str) -> "Capabilities | None":
        """Return the dialect without what a refusal complains of; None where it is of something else."""
        said = message.lower()
        if status in (404, 405, 501) and "model" not in said:
            return self._other_protocol()
        for words, found in (
            (_STREAM, self._without("stream")),
            (_LIMIT, self._no_longer(said)),
            (_LIMIT, self._other_limit(said)),
            (_TEMPERATURE, self._without("temperature")),
            (_EFFORT, self._without("effort")),
            (_SYSTEM, self._without("system")),
            (_STRICT, self._without("strict") if self.structured else None),
            (_SCHEMA, self._without("structured")),
            (_PROTOCOL, self._other_protocol()),
        ):
            if words.search(said) and found is not None:
                return found
        return None

    def _without(self, ability: str) -> "Capabilities | None":
        return self.model_copy(update={ability: False}) if getattr(self, ability) else None

    def _no_longer(self, said: str) -> "Capabilities | None":
        """Return the dialect with the longest reply that the server names, if that is news."""
        found = _LONGEST.search(said)
        longest = next((int(each) for each in found.groups() if each), 0) if found else 0
        longest -= "(exclusive)" in said
        known = self.longest is not None and longest >= self.longest
        return self.model_copy(update={"longest": longest}) if longest > 0 and not known else None

    def _other_limit(self, said: str) -> "Capabilities | None":
        """Return the next name for the longest reply; a server that knows none is told no limit."""
        if self.limit == "none" or _TOO_LONG.search(said):
            return None
        following: dict[Limit, Limit] = {
            "max_tokens": "max_completion_tokens",
            "max_completion_tokens": "none",
        }
        other = following[self.limit]
        if self.limit == "max_completion_tokens" and "'max_tokens'" in said.partition("instead")[2]:
            other = "max_tokens"
        return self.model_copy(update={"limit": other})

    def _other_protocol(self) -> "Capabilities | None":
        if self.fixed_protocol or self.protocol == "responses":
            return None
        return self.model_copy(update={"protocol": "responses"})


_STREAM = re.compile(r"\bstream")
_LIMIT = re.compile(r"max_(completion_|output_)?tokens|maxoutputtokens")
# As OpenAI, Anthropic, DeepSeek, Gemini and others say it; no words of the context's.
_LONGEST = re.compile(
    r"at most (\d+) (?:completion|output)|> (\d+), which is the maximum|\[\s*\d+\s*,\s*(\d+)\s*\]"
    r"|to (\d+) \(|(?:less than or equal to|at most|<=|cannot exceed|no more than)\W{0,3}(\d+)"
)
_TOO_LONG = re.compile(r"context|too (large|long|high)|at most|less than|maximum|exceed")
_TEMPERATURE = re.compile(r"temperature")
_EFFORT = re.compile(r"reasoning(_effort)?|effort")
_SYSTEM = re.compile(r"system (role|message|prompt)|role.{0,20}system|alternate|developer")
_STRICT = re.compile(r"strict|additionalproperties|is not permitted|invalid schema")
_SCHEMA = re.compile(r"response_format|json_schema|schema|grammar|text\.format|structured")
_PROTOCOL = re.compile(r"/v1/responses|responses (api|endpoint)|chat completions? (is|are) not")
