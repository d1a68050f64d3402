"""The port behind which every model stands."""

import hashlib
from typing import Literal, Protocol

from pydantic import Field, JsonValue

from comind.domain.value import Value

__all__ = ["ChatModel", "Message", "ModelReply", "ModelRequest", "Usage"]


class Message(Value):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelRequest(Value):
    """A conversation and the form of reply that it calls for.

    `facts` say in data what the messages say in prose; a model that reads no prose (the offline one)
    works from them.
    """

    role: str
    messages: tuple[Message, ...]
    reply_name: str
    reply_schema: dict[str, JsonValue]
    facts: dict[str, JsonValue] = {}
    max_tokens: int = Field(default=4096, gt=0)
    temperature: float | None = None

    def fingerprint(self) -> str:
        """Return a hash by which a recorded reply is known to answer this very request."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class Usage(Value):
    """Tokens of one call, as the server counted them (an estimate where it did not)."""

    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)
    usd: float = Field(default=0.0, ge=0)


class ModelReply(Value):
    """What a model said. `form` tells how to read `text`: one JSON object, or our strict text form."""

    text: str
    form: Literal["json", "text"] = "json"
    model: str
    finish: str = "stop"
    usage: Usage = Usage()
    seconds: float = Field(default=0.0, ge=0)


class ChatModel(Protocol):
    """Anything that answers a request."""

    name: str

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply to `request`.

        Raises:
            ModelServiceError: the endpoint is unreachable or refuses, after the stated retries.
        """
        ...

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that answering `request` can cost; what a lost call is booked at."""
        ...
