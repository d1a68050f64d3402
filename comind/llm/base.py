"""The port behind which every model stands."""

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from pydantic import Field, JsonValue

from comind.domain.spend import Usage
from comind.domain.value import Value

__all__ = ["ChatModel", "Embedded", "Embedder", "Message", "ModelReply", "ModelRequest", "Usage"]


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelRequest(Value):
    """A conversation and the form of reply that it calls for."""

    role: str
    messages: tuple[Message, ...]
    reply_name: str
    reply_schema: dict[str, JsonValue]
    standing: dict[str, JsonValue] | None = None
    """Schema of the conversation's usual reply, where this request is an exception."""
    max_tokens: int = Field(default=4096, gt=0)
    """Of the reply, reasoning included."""
    temperature: float | None = None
    closing: bool = False
    """Whether the call may be paid from what a campaign keeps back to come to its end."""
    raises: int = Field(default=0, ge=0)
    """How many times its limit was doubled, as replies were cut off."""
    reply_limit: int | None = Field(default=None, gt=0, exclude=True)
    """Tokens of the reply with all that a model adds to `max_tokens`, once they are paid for; no part of
    the fingerprint."""
    timeout_seconds: float | None = Field(default=None, exclude=True)
    """How long a reply is of any use; no part of the fingerprint."""

    def within(self, bound: Usage) -> "ModelRequest":
        """Return the request held to a bound, whatever its model learns in between."""
        return self.model_copy(update={"reply_limit": bound.completion_tokens or None})

    def fingerprint(self) -> str:
        """Return a hash by which a recorded reply is known to answer this very request."""
        unraised = None if self.raises else {"raises"}  # as before there were any
        return hashlib.sha256(self.model_dump_json(exclude=unraised).encode()).hexdigest()


class ModelReply(Value):
    """What a model said. `form` tells how to read `text`: one JSON object, or our strict text form."""

    text: str
    form: Literal["json", "text"] = "json"
    model: str
    finish: str = "stop"
    """stop, length, refusal, content_filter, tool_calls, or a word of the server's own."""
    limit: int | None = None
    """Of a reply that was cut off: most tokens that it might have, thoughts included, if known."""
    can_rise: bool = False
    """Whether that limit can be raised."""
    usage: Usage = Usage()
    exact: bool = True
    """Whether `usage` is the server's count; else that cannot be true, and this is the bound."""
    seconds: float = Field(default=0.0, ge=0)


class ChatModel(Protocol):
    """Anything that answers a request."""

    name: str

    @property
    def context_tokens(self) -> int:
        """Of prompt and reply together; a refusal may teach that it is less than was thought."""
        ...

    @property
    def reply_tokens(self) -> int | None:
        """Most tokens of a reply, if its user wants another limit than what roles ask for."""
        ...

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply to `request`.

        Raises:
            ModelBusyError: there is no reply now; the same request may get one later.
            ModelRefusedError: the endpoint refuses, and would again.
            ReplyError: this very request cannot be answered, such as one that is too long.
        """
        ...

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that one try of `request` can cost; what a lost call is booked at."""
        ...


class Embedded(NamedTuple):
    """What came back for a few texts; `exact` as in a reply."""

    vectors: object
    """As the server sent them: what is wrong with them is found by whoever uses them."""
    usage: Usage
    exact: bool = True
    seconds: float = 0.0


class Embedder(Protocol):
    """Anything that turns texts into vectors; raises what a `ChatModel` raises."""

    name: str

    def bound(self, texts: Sequence[str]) -> Usage:
        """Return the most that one try can cost."""
        ...

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each of a few texts, none of them empty."""
        ...
