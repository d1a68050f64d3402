"""What work costs, and how much it may cost."""

from typing import NamedTuple, Self

from pydantic import Field

from comind.domain.value import Value

__all__ = ["Budget", "LimitReached", "Spend", "Usage", "WorkBudget"]

_WARNINGS = (0.5, 0.8)  # of a limit


class Usage(Value):
    """What model calls took."""

    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """Of the prompt tokens: those that the server had in its cache."""
    completion_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)
    """Of the completion tokens: those that nobody sees."""
    usd: float = Field(default=0.0, ge=0)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


class Spend(Usage):
    """Resources used up; spends add."""

    seconds: float = Field(default=0.0, ge=0)
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

    def __add__(self, other: Self) -> "Spend":
        mine, others = self.model_dump(), other.model_dump()
        return Spend.model_validate({name: mine[name] + others[name] for name in mine})


class LimitReached(NamedTuple):
    """A share of a limit that is spent, and worth a warning."""

    share: float
    limit: float
    unit: str

    def __str__(self) -> str:
        return f"{self.share:.0%} of {self.limit:g} {self.unit}"


class Budget(Value):
    """Limits of a whole campaign; None is no limit.

    `closing_share` of tokens and dollars is kept back for the calls that bring work to its end; of what
    was added, where a budget was raised on top of what had been spent before.
    """

    seconds: float | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    closing_share: float = Field(default=0.05, ge=0, lt=1)
    closing_time_share: float = Field(default=0.0, ge=0, lt=1)
    """Of the seconds: the most that is kept back for the closing phase."""
    usd_before: float = Field(default=0.0, ge=0)
    tokens_before: int = Field(default=0, ge=0)

    @property
    def open_usd(self) -> float | None:
        """Dollars up to which new work may begin."""
        return None if self.usd is None else self._open(self.usd, self.usd_before)

    @property
    def open_tokens(self) -> float | None:
        """Tokens up to which new work may begin."""
        return None if self.tokens is None else self._open(self.tokens, self.tokens_before)

    def _open(self, limit: float, before: float) -> float:
        return limit - self.closing_share * max(0.0, limit - before)

    def shares(self, spend: Spend) -> dict[str, float]:
        """Return which share of dollars and of tokens is spent, by unit, where they have a limit."""
        limits = {"dollars": (spend.usd, self.usd), "tokens": (spend.tokens, self.tokens)}
        return {unit: spent / limit for unit, (spent, limit) in limits.items() if limit}

    def reached(self, spend: Spend) -> list[LimitReached]:
        """Return what is worth a warning: a half, and four fifths, of dollars and tokens."""
        limits = {"dollars": self.usd or 0.0, "tokens": float(self.tokens or 0)}
        return [
            LimitReached(warning, limits[unit], unit)
            for unit, share in self.shares(spend).items()
            for warning in _WARNINGS
            if share >= warning
        ]


class WorkBudget(Value):
    """Limits of one attempt."""

    seconds: float = Field(gt=0)
    steps: int = Field(gt=0)
    cell_seconds: float = Field(gt=0)
