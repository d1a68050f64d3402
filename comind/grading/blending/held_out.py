"""Compare blends with the best single candidate, on rows that neither was selected on."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from comind.domain.metric import Interval, Paired
from comind.grading.blending.selection import CandidatePool, Selection
from comind.metrics.bootstrap import MIN_CLUSTERS, resampling

_Z = 1.96
_SEED = 20260102  # fixed, for reproducible blends
_DIGITS = 3


def row_parts(rows: int, parts: int, groups: np.ndarray | None) -> list[np.ndarray]:
    """Return the positions of the rows of random parts of about the same size, ascending.

    `groups` numbers the group of each row, shape (rows,). With few groups, rows are divided one by one,
    as in resampling.
    """
    units = np.arange(rows)
    if groups is not None and len(np.unique(groups)) >= MIN_CLUSTERS:
        units = groups
    names = np.random.default_rng(_SEED).permutation(np.unique(units))
    ends = [len(names) * part // parts for part in range(parts + 1)]
    return [np.flatnonzero(np.isin(units, names[start:end])) for start, end in pairwise(ends)]


def held_out_gain(
    pool: CandidatePool,
    parts: Sequence[np.ndarray],
    groups: np.ndarray | None,
    way: Callable[[np.ndarray], Selection],
) -> Paired:
    """Return the gain of blends over the best candidate, on each part after selection on the others.

    `way` returns the blend that is selected on some rows.

    Raises:
        ValueError: the metric is undefined on one of the parts.
    """
    singles, gains = singles_of(pool), []
    for number, judged_on in enumerate(parts):
        chosen_on = others(parts, number)
        best = singles[int(np.argmax(pool.score_all(singles, chosen_on)))]
        clusters = None if groups is None else groups[judged_on]
        draws = resampling(pool.metric, len(judged_on), clusters)
        tables = (pool.predict(each, judged_on) for each in (way(chosen_on), best))
        gains.append(draws.compare(pool.metric, pool.truth_of(judged_on), *tables))
    return pooled_gain(gains, [len(part) for part in parts])


def others(parts: Sequence[np.ndarray], number: int) -> np.ndarray:
    """Return the rows of all parts but one."""
    return np.concatenate([part for place, part in enumerate(parts) if place != number])


def singles_of(pool: CandidatePool) -> list[Selection]:
    """Return each candidate that has predictions, by itself."""
    mean = "mean" if "mean" in pool.means else pool.means[0]
    return [pool.shared_weights(mean, np.eye(pool.size, dtype=int)[number]) for number in pool.known]


def pooled_gain(gains: Sequence[Paired], rows: Sequence[int]) -> Paired:
    """Return the mean of independent differences, weighted by their numbers of rows."""
    shares = np.array(rows) / sum(rows)
    errors = shares * [each.standard_error for each in gains]
    difference = _rounded(float(shares @ [each.difference for each in gains]))
    error = _rounded(float(np.linalg.norm(errors)))
    around = Interval(low=_rounded(difference - _Z * error), high=_rounded(difference + _Z * error))
    return Paired(difference=difference, standard_error=error, interval=around)


def _rounded(value: float) -> float:
    """Round to three digits, to bound what a report reveals of the labels."""
    return float(f"{value:.{_DIGITS}g}")
