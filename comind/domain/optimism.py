"""How much the best of many scores on the same rows promises too much."""

import math
from collections.abc import Sequence
from statistics import NormalDist, median

__all__ = ["expected_maximum", "selection_optimism"]

_BLOM = 0.375


def expected_maximum(count: int) -> float:
    """Return the expected highest of so many standard normal values (Blom 1958), 0 for one or none."""
    if count < 2:  # noqa: PLR2004 - the highest of one value is its mean
        return 0.0
    return NormalDist().inv_cdf((count - _BLOM) / (count - 2 * _BLOM + 1))


def selection_optimism(scores: Sequence[float], error: float) -> float:
    """Return by how much the best of `scores` is expected to be better than it is on other rows.

    More is better in `scores`, all of them measured on the same rows; `error` is the standard error of
    the difference of two. A score is a true value and noise of variance `error ** 2 / 2`; what is
    expected of the best one is that share of its distance from the middle that noise has in the spread
    of all (empirical Bayes for normal values, Efron and Morris 1975). Middle and spread are the median
    and that of the better half, so that failures count for nothing. It is never more than the expected
    highest of so many noises.
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
