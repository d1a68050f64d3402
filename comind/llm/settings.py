"""How a model is to be asked, and how hard its endpoint may be pressed; what `params.yaml` can say."""

from typing import Literal

from pydantic import Field

from comind.domain.value import Value

__all__ = ["ASSUMED_CONTEXT", "ModelSettings", "Price", "Protocol", "Traffic"]

ASSUMED_CONTEXT = 32_768
"""Tokens that a model is taken to read where nobody says how many, until a refusal tells."""

Protocol = Literal["chat", "responses"]


class Price(Value):
    """Dollars for a million tokens."""

    prompt: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """Of a prompt's tokens that the server had in its cache; None: as any others."""
    completion: float = Field(ge=0)
    """Reasoning included."""


class ModelSettings(Value):
    """One model; whatever is None is learnt from the endpoint, or left to it."""

    name: str | None = None
    """None: the campaign's model."""
    base_url: str | None = None
    """None: OPENAI_BASE_URL, else OpenAI's own."""
    key_variable: str = "OPENAI_API_KEY"
    """The environment variable that holds the key; a key itself is never written down."""
    protocol: Protocol | None = None
    stream: bool = True
    """Whether replies are asked for piece by piece, where the server knows how."""
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, gt=0)
    """Most tokens of a reply, in place of what each role asks for, be that more or less; then nothing is
    raised. None: what each role asks for, doubled at most twice where a reply was cut off."""
    context_tokens: int | None = Field(default=None, ge=1_024)
    """Tokens of prompt and reply together; None: as the endpoint or the price list says, else 32,768
    until a refusal tells."""
    reasoning_effort: str | None = None
    reasoning_tokens: int | None = Field(default=None, ge=0)
    """Added to the limit of each reply, for what a model thinks first; None: 8,192 if it thinks, by its
    name, a reasoning_effort, or what it replies."""
    price: Price | None = None
    """In place of the one in the price list."""
    timeout_seconds: float = Field(default=900, gt=0)
    """Longest silence of the endpoint within one call; without streams, a whole reply's."""
    call_seconds: float = Field(default=3600, gt=0)
    """Longest whole call, however it drips."""


class Traffic(Value):
    """What a campaign's calls share, whatever role they come from."""

    concurrent: int = Field(default=16, ge=1)
    """Calls under way at once."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    retries: int = Field(default=200, ge=0)
    """Failed calls of a whole campaign (of one process) that are made again."""
    back_off_seconds: float = Field(default=1, gt=0)
    """First pause after a failure; the next ones double."""
    longest_back_off_seconds: float = Field(default=60, gt=0)
    open_after: int = Field(default=3, ge=1)
    """Failures in a row, of any attempt, after which all pause together."""
    patience_minutes: float = Field(default=60, gt=0)
    """How long an endpoint may fail without one success before it counts as gone."""
