"""Define the settings of models and of rate limiting, as `params.yaml` has them."""

from typing import Literal

from pydantic import Field

from comind.domain.value import Value

ASSUMED_CONTEXT = 32_768
"""Context window in tokens where neither settings nor endpoint nor price list have one."""

Protocol = Literal["chat", "responses"]


class Price(Value):
    """Dollars per million tokens."""

    prompt: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """Prompt tokens from the server's cache; None: priced as the others."""
    completion: float = Field(ge=0)
    """Reasoning included."""


class ModelSettings(Value):
    """One model; None is learnt from the endpoint, or left to its default."""

    name: str | None = None
    """None: the campaign's model."""
    base_url: str | None = None
    """None: OPENAI_BASE_URL, else OpenAI's own."""
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable that holds the API key; the key itself is never stored."""
    protocol: Protocol | None = None
    stream: bool = True
    """Whether to stream replies where the server can."""
    images: bool | None = Field(default=None, exclude_if=lambda images: images is None)
    """Whether to send images until the server refuses them; None: with a context window of 16,384 tokens
    or more."""
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, gt=0)
    """Token limit of a reply in place of the roles' own, never raised. None: the limit of each role,
    doubled at most twice after truncated replies."""
    context_tokens: int | None = Field(default=None, ge=1_024)
    """Context window, prompt and reply together; None: that of the endpoint or the price list, else
    32,768 until a refusal names another one."""
    reasoning_effort: str | None = None
    reasoning_tokens: int | None = Field(default=None, ge=0)
    """Added to the token limit of each reply; None: 8,192 for a reasoning model, by its name, a
    reasoning_effort or its replies."""
    price: Price | None = None
    """Overrides the price list."""
    timeout_seconds: float = Field(default=900, gt=0)
    """Read timeout: longest silence within a call; without streaming, a whole reply's."""
    call_seconds: float = Field(default=3600, gt=0)
    """Timeout of a whole call."""


class Traffic(Value):
    """Rate limits, backoff and circuit breaker, shared by all calls of a campaign."""

    concurrent: int = Field(default=16, ge=1)
    """Calls in flight at once."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    retries: int = Field(default=200, ge=0)
    """Retries of a whole campaign (of one process)."""
    back_off_seconds: float = Field(default=1, gt=0)
    """First pause of the exponential backoff."""
    longest_back_off_seconds: float = Field(default=60, gt=0)
    open_after: int = Field(default=3, ge=1)
    """Failures in a row, of any attempt, after which the circuit breaker opens."""
    patience_minutes: float = Field(default=60, gt=0)
    """Failures without one success for so long end the campaign."""
