"""Define usage, spend and budgets."""

from typing import NamedTuple, Self

from pydantic import Field

from comind.domain.value import Value

_WARNINGS = (0.5, 0.8)  # of a limit


class Usage(Value):
    """Tokens and cost of model calls; supports `+`, and `*` with a number of calls."""

    prompt_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """Prompt tokens that the server read from its cache."""
    completion_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)
    """Completion tokens that are not part of the reply."""
    usd: float = Field(default=0.0, ge=0)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Self) -> Self:
        mine, others = self.model_dump(), other.model_dump()
        return self.model_validate({name: mine[name] + others[name] for name in mine})

    def __mul__(self, times: int) -> Self:
        return self.model_validate({name: times * value for name, value in self.model_dump().items()})


class Spend(Usage):
    """Resources used."""

    seconds: float = Field(default=0.0, ge=0)
    model_seconds: float = Field(default=0.0, ge=0)
    """Duration of the calls that were answered."""
    calls: int = Field(default=0, ge=0)
    retries: int = Field(default=0, ge=0)
    """Attempts of a call that failed."""
    lost_calls: int = Field(default=0, ge=0)
    """Calls in flight when the process was killed: perhaps billed, and sent again."""
    bound_tokens: int = Field(default=0, ge=0)
    """Part of the tokens that is an upper bound, as the usage of the call is unknown."""
    bound_usd: float = Field(default=0.0, ge=0)
    """The same part of the cost."""
    evaluations: int = Field(default=0, ge=0)
    """Gradings of submissions of agents' steps; those of the platform's own work are not counted."""


class LimitReached(NamedTuple):
    """A share of a limit that was spent and calls for a warning."""

    share: float
    limit: float
    unit: str

    def __str__(self) -> str:
        return f"{self.share:.0%} of {self.limit:g} {self.unit}"


class Budget(Value):
    """Limits of a whole campaign; None is no limit.

    `closing_share` of tokens and dollars is reserved for the calls that complete work. Of a budget that
    was raised it is a share of the increase over what had been spent before.
    """

    seconds: float | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    evaluations: int | None = Field(default=None, ge=1)
    closing_share: float = Field(default=0.05, ge=0, lt=1)
    closing_time_share: float = Field(default=0.0, ge=0, lt=1)
    """The most of `seconds` that is reserved for the closing phase."""
    usd_before: float = Field(default=0.0, ge=0)
    tokens_before: int = Field(default=0, ge=0)

    @property
    def open_usd(self) -> float | None:
        """Dollars that may be spent before new work is refused."""
        return None if self.usd is None else self._open(self.usd, self.usd_before)

    @property
    def open_tokens(self) -> float | None:
        """Tokens that may be spent before new work is refused."""
        return None if self.tokens is None else self._open(self.tokens, self.tokens_before)

    def _open(self, limit: float, before: float) -> float:
        return limit - self.closing_share * max(0.0, limit - before)

    def limits(self, spend: Spend) -> dict[str, tuple[float, float]]:
        """Return by unit what is spent and its limit: dollars, tokens and evaluations with a limit."""
        known = {
            "dollars": (spend.usd, self.usd),
            "tokens": (spend.tokens, self.tokens),
            "evaluations": (spend.evaluations, self.evaluations),
        }
        return {unit: (spent, limit) for unit, (spent, limit) in known.items() if limit}

    def shares(self, spend: Spend) -> dict[str, float]:
        """Return the share spent of each limit, by unit."""
        return {unit: spent / limit for unit, (spent, limit) in self.limits(spend).items()}

    def reached(self, spend: Spend) -> list[LimitReached]:
        """Return the warning levels that were reached: a half and four fifths of each limit."""
        return [
            LimitReached(warning, limit, unit)
            for unit, (spent, limit) in self.limits(spend).items()
            for warning in _WARNINGS
            if spent / limit >= warning
        ]


class WorkBudget(Value):
    """Limits of one attempt."""

    seconds: float = Field(gt=0)
    steps: int = Field(gt=0)
    cell_seconds: float = Field(gt=0)
