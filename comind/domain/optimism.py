"""Estimate the optimism of the best of many scores on the same rows (the winner's curse)."""

import math
from collections.abc import Sequence
from statistics import NormalDist, median

__all__ = ["expected_maximum", "selection_optimism"]

_BLOM = 0.375


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
