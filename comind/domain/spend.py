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
    usd: float = Field(default=0.0, ge=0)
    calls: int = Field(default=0, ge=0)
    lost_calls: int = Field(default=0, ge=0)
    """Calls that were under way when we were killed: perhaps billed, and sent again."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Self) -> "Spend":
        return Spend(
            seconds=self.seconds + other.seconds,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            usd=self.usd + other.usd,
            calls=self.calls + other.calls,
            lost_calls=self.lost_calls + other.lost_calls,
        )


class Budget(Value):
    """Limits of a whole campaign; None is no limit."""

    seconds: float | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)


class WorkBudget(Value):
    """Limits of one attempt."""

    seconds: float = Field(gt=0)
    steps: int = Field(gt=0)
    cell_seconds: float = Field(gt=0)
