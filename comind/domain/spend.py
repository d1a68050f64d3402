"""What work costs, and how much it may cost."""

from typing import Self

from pydantic import Field

from comind.domain.value import Value

__all__ = ["Budget", "Spend", "WorkBudget"]


class Spend(Value):
    """Resources used up; spends add."""

    seconds: float = Field(default=0.0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """Of the prompt tokens: those that the server had in its cache."""
    reasoning_tokens: int = Field(default=0, ge=0)
    """Of the completion tokens: those that nobody sees."""
    usd: float = Field(default=0.0, ge=0)
    model_seconds: float = Field(default=0.0, ge=0)
    """Of calls that were answered."""
    calls: int = Field(default=0, ge=0)
    retries: int = Field(default=0, ge=0)
    """Tries that failed."""
    lost_calls: int = Field(default=0, ge=0)
    """Calls that were under way when we were killed: perhaps billed, and sent again."""
    bound_tokens: int = Field(default=0, ge=0)
    """Of the tokens: those booked at a bound, as nobody knows what the call took."""
    bound_usd: float = Field(default=0.0, ge=0)
    """Of the dollars: the same."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Self) -> "Spend":
        mine, others = self.model_dump(), other.model_dump()
        return Spend.model_validate({name: mine[name] + others[name] for name in mine})


class Budget(Value):
    """Limits of a whole campaign; None is no limit.

    `closing_share` of tokens and dollars is kept back for the calls that bring work to its end.
    """

    seconds: float | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    closing_share: float = Field(default=0.05, ge=0, lt=1)


class WorkBudget(Value):
    """Limits of one attempt."""

    seconds: float = Field(gt=0)
    steps: int = Field(gt=0)
    cell_seconds: float = Field(gt=0)
