"""Track which parts of the OpenAI protocol a server supports, as learnt from its error responses.

Compatible servers support a part of it. Each capability is used until a request with it is refused. A
refusal costs no tokens, so nothing is probed beforehand.
"""

import re
from typing import Literal

from pydantic import Field

from comind.domain.value import Value
from comind.llm.settings import Protocol

MOST_IMAGES = 7
"""Of one request, whatever the server accepts."""
_LimitParameter = Literal["max_tokens", "max_completion_tokens", "none"]


class Capabilities(Value):
    """The parts of the protocol that a server supports."""

    protocol: Protocol = "chat"
    stream: bool = True
    """Streaming with the usage at the end."""
    structured: bool = True
    """Replies constrained by a JSON schema."""
    strict: bool = True
    """Strict mode of the schema."""
    system: bool = True
    """System messages."""
    temperature: bool = True
    effort: bool = True
    """Reasoning effort."""
    images: int = Field(default=MOST_IMAGES, ge=0)
    """Most images of one request."""
    sees: bool = False
    """Whether a request with images was answered."""
    limit_parameter: _LimitParameter = "max_tokens"
    """Name of the chat protocol's token limit of a reply."""
    reasoning: bool = False
    """Whether the model reasons before it replies, which takes tokens beside the reply."""
    max_reply_tokens: int | None = None
    """Highest token limit of a reply that the server accepts; None: unknown."""
    fixed_protocol: bool = False
    """Whether the user set the protocol."""

    @property
    def can_limit_replies(self) -> bool:
        """Whether the server takes a token limit of a reply."""
        return self.protocol == "responses" or self.limit_parameter != "none"

    def after_refusal(self, status: int, message: str) -> "Capabilities | None":
        """Return the capabilities without the one that a refusal names; None where it names none."""
        message = message.lower()
        if status in (404, 405, 501) and "model" not in message:
            return self._other_protocol()
        for words, found in (
            (_STREAM, self._without("stream")),
            (_LIMIT, self._with_named_limit(message)),
            (_LIMIT, self._with_other_parameter(message)),
            (_TEMPERATURE, self._without("temperature")),
            (_EFFORT, self._without("effort")),
            (_SYSTEM, self._without("system")),
            (_STRICT, self._without("strict") if self.structured else None),
            (_SCHEMA, self._without("structured")),
            (_PROTOCOL, self._other_protocol()),
        ):
            if words.search(message) and found is not None:
                return found
        return None

    def with_fewer_images(self, message: str) -> "Capabilities | None":
        """Lower the number of images to the one that a refusal names; None where it names none."""
        found = _MOST_IMAGES.search(message.lower())
        most = int(found[1]) if found else self.images
        return self.model_copy(update={"images": most}) if most < self.images else None

    def _without(self, capability: str) -> "Capabilities | None":
        return self.model_copy(update={capability: False}) if getattr(self, capability) else None

    def _with_named_limit(self, message: str) -> "Capabilities | None":
        """Lower the token limit of replies to the one that a refusal names, if it is lower."""
        found = _MAX_REPLY.search(message)
        limit = next((int(each) for each in found.groups() if each), 0) if found else 0
        limit -= "(exclusive)" in message
        known = self.max_reply_tokens is not None and limit >= self.max_reply_tokens
        return self.model_copy(update={"max_reply_tokens": limit}) if limit > 0 and not known else None

    def _with_other_parameter(self, message: str) -> "Capabilities | None":
        """Switch to the next name of the token limit, at last to none."""
        if self.limit_parameter == "none" or _TOO_LONG.search(message):
            return None
        following: dict[_LimitParameter, _LimitParameter] = {
            "max_tokens": "max_completion_tokens",
            "max_completion_tokens": "none",
        }
        other = following[self.limit_parameter]
        if other == "none" and "'max_tokens'" in message.partition("instead")[2]:
            other = "max_tokens"
        return self.model_copy(update={"limit_parameter": other})

    def _other_protocol(self) -> "Capabilities | None":
        if self.fixed_protocol or self.protocol == "responses":
            return None
        return self.model_copy(update={"protocol": "responses"})


# The words of vLLM and Groq.
_MOST_IMAGES = re.compile(r"(?:at most|up to|maximum of|more than) (\d{1,4}) image")
_STREAM = re.compile(r"\bstream")
_LIMIT = re.compile(r"max_(completion_|output_)?tokens|maxoutputtokens")
# The words of OpenAI, Anthropic, DeepSeek, Gemini and others; none that refer to the context window.
_MAX_REPLY = re.compile(
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
