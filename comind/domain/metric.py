"""Define scores with a direction and a confidence interval, and the optimism of the best of many."""

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import total_ordering
from statistics import NormalDist, median
from typing import Literal, Self

from pydantic import field_validator, model_validator

from comind.domain.value import Value

_BLOM = 0.375
_PRIOR_GAIN = 0.5  # standard errors
_SHARE = 10
_BOUNDS = 5  # bounds of an interval are rounded as if the standard error were so many times as large
_DIGITS, _DIGITS_WITHOUT_ERROR = 5, 3  # significant
_FINEST = 1e-4  # a standard error below this share of a number leaves all its digits


def rounded(value: float, error: float) -> float:
    """Return a number measured with a standard error in the digits that agents see.

    The unit is the largest of 1, 2 or 5 times a power of ten that is at most a tenth of the standard
    error, so rounding increases the error by less than 0.1 %. There are at most five significant digits;
    three without a standard error. docs/security.md counts what such a number reveals about labels.
    """
    if not (error > 0 and math.isfinite(error)):
        return float(f"{value:.{_DIGITS_WITHOUT_ERROR}g}")
    if error < _FINEST * abs(value):
        return float(f"{value:.{_DIGITS}g}")
    power = 10.0 ** math.floor(math.log10(error / _SHARE))
    unit = power * max(each for each in (1, 2, 5) if each == 1 or each * power <= error / _SHARE)
    return float(f"{round(value / unit) * unit:.{_DIGITS}g}")


class ProbabilityForm(StrEnum):
    """Columns of the files of probabilities that attempts keep beside labels, besides the ids."""

    CLASSES = "classes"  # one for each class of train.csv, named by it, with its probability
    NUMBER = "number"  # the target column, with the number before it is rounded to an ordered label


class MetricTraits(Value):
    """Properties of a metric that training, constants and blends depend on."""

    scale: Literal["", "log", "log1p"] = ""
    """Transformation of numbers after which the metric is a plain error."""
    absolute: bool = False
    """Whether errors count by their size rather than their square, so that medians are best."""
    ranking: bool = False
    """Whether only the order of predictions counts."""
    ordered: bool = False
    """Whether labels are ordered, and learnt as numbers."""
    guesses: int = 0
    """Number of labels that a cell has, the best first; 0 for sets without an order."""
    instances: bool = False
    """Whether a cell has a mask for each thing, rather than one for all."""
    similarity: Literal["edits", "words", "whole"] = "edits"
    """What of two texts is compared: their edit distance, their words, or whether they are equal."""
    means: tuple[str, ...] = ("mean",)
    """The averages that suit a blend (`comind/grading/blending/averaging.py`)."""

    def probability_form(self, targets: int) -> ProbabilityForm | None:
        """Return the form of probabilities beside so many columns of labels; None where none are kept.

        They are kept for one column of labels that are averaged by rounding or by vote.
        """
        if targets != 1:
            return None
        if "rounded" in self.means:
            return ProbabilityForm.NUMBER
        return ProbabilityForm.CLASSES if "vote" in self.means else None


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
        return self.signed < other.signed

    @property
    def signed(self) -> float:
        """The value, negative if less is better."""
        return self.value if self.maximize else -self.value

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

    @property
    def standard_error(self) -> float:
        """Half the width, in quantiles of the normal distribution."""
        return (self.high - self.low) / (2 * NormalDist().inv_cdf((1 + self.level) / 2))


class ValidationScore(Value):
    """The grader's score of a validation submission; never a leaderboard score."""

    metric: str
    value: MetricValue
    interval: Interval
    rows: int

    @property
    def shown(self) -> MetricValue:
        """The value in the digits that agents see."""
        value = rounded(self.value.value, self.interval.standard_error)
        return MetricValue(value=value, maximize=self.value.maximize)

    def __str__(self) -> str:
        """Return what agents see: the value, and bounds to half a standard error."""
        error = _BOUNDS * self.interval.standard_error
        low, high = (rounded(bound, error) for bound in (self.interval.low, self.interval.high))
        return f"{self.metric} {self.shown} [{low:.5g}, {high:.5g}]"


class Paired(Value):
    """Paired difference of two submissions on the same rows; positive is better."""

    difference: float
    standard_error: float
    interval: Interval

    @property
    def shown(self) -> tuple[float, float]:
        """Difference and standard error in the digits that agents see."""
        error = self.standard_error
        return rounded(self.difference, error), rounded(error, error)

    @property
    def expected_of_combination(self) -> float:
        """The true gain that is expected of a combination whose gain over its best member this is.

        The mean of this, as measured, and of what combinations gain before anything is measured: half a
        standard error, with a spread of one (posterior of normal values). So a tie is won by the
        combination; simulations are in `docs/design/0013-pick-rules.md`.
        """
        return (self.difference + _PRIOR_GAIN * self.standard_error) / 2

    @property
    def tie(self) -> bool:
        """Whether the difference is within the noise: at most one standard error."""
        return abs(self.difference) <= self.standard_error

    @property
    def clear(self) -> bool:
        """Whether the difference is significant: more than two standard errors."""
        return abs(self.difference) > 2 * self.standard_error


def expected_maximum(count: int) -> float:
    """Return the expected maximum of `count` standard normal values (Blom 1958); 0 for one or none."""
    if count < 2:  # noqa: PLR2004 - the highest of one value is its mean
        return 0.0
    return NormalDist().inv_cdf((count - _BLOM) / (count - 2 * _BLOM + 1))


def selection_optimism(scores: Sequence[float], error: float) -> float:
    """Return how much better the best of `scores` is expected to be here than on other rows.

    Higher is better in `scores`, all on the same rows; `error` is the standard error of the difference
    of two. A score is modelled as a true value plus noise of variance `error ** 2 / 2`. The estimate is
    the distance of the best from the middle, times the share of noise in the variance of the scores
    (empirical Bayes for normal values, Efron and Morris 1975), at most the expected maximum of so many
    noises. Middle and variance are the median and that of the better half, so failed attempts do not
    count.
    """
    if len(scores) < 2 or error <= 0:  # noqa: PLR2004 - one score was not chosen
        return 0.0
    middle, best = median(scores), max(scores)
    better = [(score - middle) ** 2 for score in scores if score >= middle]
    spread = math.fsum(better) / len(better)
    noise = error**2 / 2
    if spread <= 0:
        return 0.0
    highest = math.sqrt(noise) * expected_maximum(len(scores))
    return min(min(1.0, noise / spread) * (best - middle), highest)
