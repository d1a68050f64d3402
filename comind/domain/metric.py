"""Define scores with a direction and a confidence interval."""

import math
from functools import total_ordering
from typing import Self

from pydantic import field_validator, model_validator

from comind.domain.value import Value

__all__ = ["Interval", "MetricValue", "Paired", "ValidationScore"]


@total_ordering
class MetricValue(Value):
    """A metric's value and its direction; `a < b` means that a is worse than b."""

    value: float
    maximize: bool

    @field_validator("value")
    @classmethod
    def _finite(cls, value: float) -> float:
        if not math.isfinite(value):
            raise ValueError("a metric value is a finite number")
        return value

    def __lt__(self, other: Self) -> bool:
        if self.maximize != other.maximize:
            raise ValueError("two metric values with different directions have no order")
        return self.value < other.value if self.maximize else self.value > other.value

    def better_than(self, other: Self | None) -> bool:
        """Whether this is strictly better; any value is better than None."""
        return other is None or other < self

    def __str__(self) -> str:
        return f"{self.value:.5g}"


class Interval(Value):
    """Bounds of a confidence interval at `level`, in units of the metric."""

    low: float
    high: float
    level: float = 0.95

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError("the lower bound is above the upper one")
        return self

    def __str__(self) -> str:
        return f"[{self.low:.5g}, {self.high:.5g}]"


class ValidationScore(Value):
    """The grader's score of a validation submission; never a leaderboard score."""

    metric: str
    value: MetricValue
    interval: Interval
    rows: int

    def __str__(self) -> str:
        return f"{self.metric} {self.value} {self.interval}"


class Paired(Value):
    """How much better one submission is than another on the same rows; positive is better."""

    difference: float
    standard_error: float
    interval: Interval

    @property
    def tie(self) -> bool:
        """Whether the difference is within the noise: at most one standard error."""
        return abs(self.difference) <= self.standard_error

    @property
    def clear(self) -> bool:
        """Whether the difference is significant: more than two standard errors."""
        return abs(self.difference) > 2 * self.standard_error
