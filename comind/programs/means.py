"""The mean score of a program over instances, in which all cases have the same weight.

As CO-Bench averages: a case with many instances counts as much as one with few.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from comind.domain.competition import NORMALISED_SCORE
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.programs.program_runs import Instance, InstanceScore

_LEVEL = 0.95


def mean_score(instances: Sequence[Instance], scores: Sequence[InstanceScore]) -> ValidationScore:
    """Return the mean score, with the interval of a normal mean."""
    mean, _, interval = _mean(instances, [each.score for each in scores])
    value = MetricValue(value=mean, maximize=True)
    return ValidationScore(metric=NORMALISED_SCORE, value=value, interval=interval, rows=len(scores))


def mean_difference(
    instances: Sequence[Instance], one: Sequence[InstanceScore], other: Sequence[InstanceScore]
) -> Paired:
    """Return the mean of the differences on each instance; positive if the first program is better."""
    differences = [first.score - second.score for first, second in zip(one, other, strict=True)]
    mean, error, interval = _mean(instances, differences)
    return Paired(difference=mean, standard_error=error, interval=interval)


def _mean(instances: Sequence[Instance], values: Sequence[float]) -> tuple[float, float, Interval]:
    """Return mean, standard error and interval."""
    found, weights, count = np.array(values), _weights(instances), len(values)
    mean = float(weights @ found)
    spread = float(np.sum((weights * (found - mean)) ** 2))
    error = float(np.sqrt(spread * count / (count - 1))) if count > 1 else 0.0
    half = NormalDist().inv_cdf((1 + _LEVEL) / 2) * error
    return mean, error, Interval(low=mean - half, high=mean + half, level=_LEVEL)


def _weights(instances: Sequence[Instance]) -> npt.NDArray[np.float64]:
    sizes = Counter(each.case for each in instances)
    return np.array([1 / (len(sizes) * sizes[each.case]) for each in instances])
