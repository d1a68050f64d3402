"""Whether a blend is worth having, told on rows that it was not selected on."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from comind.domain.metric import Interval, Paired
from comind.evaluation.blending.error_correlation import correlation, prediction_errors
from comind.evaluation.blending.means import supported_means
from comind.evaluation.blending.selection import CandidatePool, Selection, select
from comind.evaluation.interval import CLUSTERS, Resampling
from comind.evaluation.metrics.base import Metric
from comind.evaluation.report import BlendReport

__all__ = [
    "ALIKE",
    "MOST_CANDIDATES",
    "cross_fit_gains",
    "differing",
    "halves",
    "judge",
    "pooled",
    "why_not",
]

ALIKE = 0.999
"""Candidates whose errors correlate as much as this are one candidate."""
MOST_CANDIDATES = 20
_CELLS = 50_000_000  # of all candidates together
_LEAST_ROWS = 50
_Z = 1.96
_SEED = 20260102  # fixed: the same candidates always get the same blend
_DIGITS = 3


def judge(
    metric: Metric,
    truth: pd.DataFrame,
    predictions: Iterable[pd.DataFrame],
    groups: np.ndarray | None = None,
) -> BlendReport:
    """Return the blend of these predictions, or why there is none.

    `predictions` are parsed tables in the shape of `truth`, the best first; no more of them are looked
    at than needed. A blend is accepted where blends that were selected on one half of the rows (of
    whole groups) are better on the other half, both ways, than the single one that is best on the
    first half, and on the whole by more than one standard error of the paired difference. So neither
    of the two that are compared was chosen by the rows that judge them.
    """
    means = supported_means(metric)
    if not means:
        return BlendReport(reason=f"predictions for {metric.name} cannot be averaged")
    if len(truth) < _LEAST_ROWS:
        return BlendReport(reason=f"{len(truth)} validation rows are too few to select and judge on")
    most = int(np.clip(_CELLS // truth.size, 2, MOST_CANDIDATES))
    places, tables = differing(means[0], truth, predictions, most)
    if len(tables) == 1:
        return BlendReport(candidates=1, reason="the errors of all scored steps are the same")
    pool = CandidatePool(metric, truth, tables, means)
    try:
        gains = cross_fit_gains(pool, groups)
    except ValueError as error:
        return BlendReport(candidates=len(tables), reason=f"a half of the rows has no score: {error}")
    final = select(pool, np.arange(len(truth)))
    report = BlendReport(
        candidates=len(tables),
        mean=final.mean,
        members=tuple(places[number] for number in final.members),
        weights=tuple(_weights(final, number) for number in final.members),
        gain=pooled(gains, [len(half) for half in halves(len(truth), groups)[::-1]]),
    )
    return report.model_copy(update={"reason": why_not(report, gains)})


def differing(
    mean: str, truth: pd.DataFrame, predictions: Iterable[pd.DataFrame], most: int
) -> tuple[list[int], list[pd.DataFrame]]:
    """Return places and tables of the first predictions whose errors differ from those before them."""
    places: list[int] = []
    tables: list[pd.DataFrame] = []
    errors: list[np.ndarray] = []
    for place, table in enumerate(predictions):
        wrong = prediction_errors(mean, truth, table)
        if all(correlation(wrong, other) < ALIKE for other in errors):
            places.append(place)
            tables.append(table)
            errors.append(wrong)
        if len(tables) == most:
            break
    return places, tables


def halves(rows: int, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of two halves of the rows; those of a group stay together.

    As when rows are resampled, few groups say too little, so rows count for themselves then.
    """
    units = np.arange(rows)
    if groups is not None and len(np.unique(groups)) >= CLUSTERS:
        units = groups
    names = np.random.default_rng(_SEED).permutation(np.unique(units))
    first = np.isin(units, names[: len(names) // 2])
    return np.flatnonzero(first), np.flatnonzero(~first)


def cross_fit_gains(pool: CandidatePool, groups: np.ndarray | None) -> list[Paired]:
    """Return how much better blends are than the best single candidate where neither was selected.

    On the second half, for what was selected on the first one, and the other way round.

    Raises:
        ValueError: the metric has no value on one of the halves.
    """
    one, other = halves(len(pool.truth), groups)
    singles = [_single(pool, number) for number in range(pool.size)]
    gains = []
    for chosen_on, judged_on in ((one, other), (other, one)):
        blend = select(pool, chosen_on)
        best = max(singles, key=lambda each: pool.score(each, chosen_on))
        resampling = Resampling(len(judged_on), None if groups is None else groups[judged_on])
        tables = (pool.predict(each, judged_on) for each in (blend, best))
        gains.append(resampling.compare(pool.metric, pool.true(judged_on), *tables))
    return gains


def pooled(gains: Sequence[Paired], rows: Sequence[int]) -> Paired:
    """Return the mean of differences on so many rows each, which are independent of each other."""
    shares = np.array(rows) / sum(rows)
    errors = shares * [each.standard_error for each in gains]
    difference = _rounded(float(shares @ [each.difference for each in gains]))
    error = _rounded(float(np.linalg.norm(errors)))
    around = Interval(low=_rounded(difference - _Z * error), high=_rounded(difference + _Z * error))
    return Paired(difference=difference, standard_error=error, interval=around)


def _single(pool: CandidatePool, number: int) -> Selection:
    mean = "mean" if "mean" in pool.means else pool.means[0]
    return pool.equal(mean, np.eye(pool.size, dtype=int)[number])


def why_not(report: BlendReport, gains: Sequence[Paired]) -> str:
    """Return why a blend is not accepted; empty where it gains more than one standard error.

    `gains` are those on the halves: both have to be positive.
    """
    assert report.gain is not None
    gain, error = report.gain.difference, report.gain.standard_error
    if len(report.members) == 1:
        return f"no average of {report.candidates} candidates is better than the best of them"
    if gain > error and all(each.difference > 0 for each in gains):
        return ""
    told = "within one standard error" if gain <= error else "on one half alone; standard error"
    return (
        f"on rows that it was not selected on, a blend of {report.candidates} candidates gains "
        f"{gain:.3g}, {told} ({error:.3g})"
    )


def _weights(selection: Selection, number: int) -> tuple[int, ...]:
    """Return a member's weights, one where they are the same in all columns of every member."""
    same = (selection.weights == selection.weights[:, :1]).all()
    row = selection.weights[number]
    return (int(row[0]),) if same else tuple(int(each) for each in row)


def _rounded(value: float) -> float:
    """Return three digits: what a grading tells of the labels stays bounded."""
    return float(f"{value:.{_DIGITS}g}")
