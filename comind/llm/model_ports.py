"""Define the ports of chat and embedding models, with their requests and replies."""

import hashlib
from collections.abc import Container, Sequence
from typing import Literal, NamedTuple, Protocol

from pydantic import Field, JsonValue

from comind.domain.image import Image
from comind.domain.spend import Usage
from comind.domain.value import AnyText, Value

__all__ = ["ChatModel", "Embedded", "Embedder", "Message", "ModelReply", "ModelRequest", "Usage"]


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[Image, ...] = Field(default=(), exclude_if=lambda images: not images)
    """Of users' messages; they follow the text."""

    def without_images(self, kept: Container[int] = ()) -> "Message":
        """Return the message with a line in place of each image, except for the numbers in `kept`."""
        numbered = [*enumerate(self.images)]
        lines = (
            f"\n\n(A picture is left out here: {image.caption})"
            for number, image in numbered
            if number not in kept
        )
        shown = tuple(image for number, image in numbered if number in kept)
        return Message(role=self.role, content="".join([self.content, *lines]), images=shown)


class ModelRequest(Value):
    """A conversation and the JSON schema of its reply."""

    role: str
    messages: tuple[Message, ...]
    reply_name: str = ""
    reply_schema: dict[str, JsonValue] = {}
    """JSON schema of the reply type, set by `ask` with its name."""
    standing: dict[str, JsonValue] | None = None
    """Schema of the conversation's usual reply, where this request is an exception."""
    max_tokens: int = Field(default=4096, gt=0)
    """Token limit of the reply, reasoning included."""
    temperature: float | None = None
    closing: bool = False
    """Whether the call may use the share of the budget that is reserved for ending work."""
    raises: int = Field(default=0, ge=0)
    """How many times the token limit was doubled after a truncated reply."""
    bound: Usage | None = Field(default=None, exclude=True)
    """Upper bound that the caller has reserved, once there is one; not in the fingerprint."""
    timeout_seconds: float | None = Field(default=None, exclude=True)
    """Time until the caller's deadline; not in the fingerprint."""

    def within(self, bound: Usage) -> "ModelRequest":
        """Return the request limited to a reserved usage, whatever its model learns meanwhile."""
        return self.model_copy(update={"bound": bound})

    def fingerprint(self) -> str:
        """Return the SHA-256 by which a recorded reply is matched with this request."""
        unraised = None if self.raises else {"raises"}  # as before there were any
        return hashlib.sha256(self.model_dump_json(exclude=unraised).encode()).hexdigest()


class ModelReply(Value):
    """The completion of a request."""

    text: AnyText
    form: Literal["json", "text"] = "json"
    """Format of `text`: one JSON object, or our text format."""
    model: AnyText
    finish: AnyText = "stop"
    """stop, length, refusal, content_filter, tool_calls, or a reason of the server's own."""
    limit: int | None = None
    """Token limit of a truncated reply, reasoning included, if known."""
    can_rise: bool = False
    """Whether that limit can be raised."""
    usage: Usage = Usage()
    exact: bool = True
    """Whether `usage` is the server's count; else that is implausible, and this is the upper bound."""
    seconds: float = Field(default=0.0, ge=0)


class ChatModel(Protocol):
    """A model that completes conversations."""

    name: str

    @property
    def context_tokens(self) -> int:
        """Context window, prompt and reply together; a refusal may lower it."""
        ...

    @property
    def reply_tokens(self) -> int | None:
        """Token limit of replies that the user set in place of the roles' limits, if any."""
        ...

    @property
    def takes_images(self) -> bool:
        """Whether messages may have images; a refusal may end it, after which they are left out."""
        ...

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply to `request`.

        Raises:
            ModelBusyError: there is no reply now; a retry may succeed.
            ModelRefusedError: the endpoint refuses; a retry would fail, too.
            ReplyError: this request cannot be answered, for instance because it is too long.
        """
        ...

    def bound(self, request: ModelRequest) -> Usage:
        """Return an upper bound on the usage of one attempt at `request`; a lost call is charged it."""
        ...


class Embedded(NamedTuple):
    """Embeddings of some texts; `exact` as in `ModelReply`."""

    vectors: object
    """As the server sent them, not validated."""
    usage: Usage
    exact: bool = True
    seconds: float = 0.0


class Embedder(Protocol):
    """A model that embeds texts; raises the errors of `ChatModel.complete`."""

    name: str

    def bound(self, texts: Sequence[str]) -> Usage:
        """Return an upper bound on the usage of one attempt."""
        ...

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text; none may be empty."""
        ...
