"""Accept a blend by cross-fitting: select on one half of the rows, score on the other, both ways."""

import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from comind.domain.metric import Interval, Paired
from comind.errors import SubmissionError
from comind.grading.blending.error_correlation import correlation, prediction_errors
from comind.grading.blending.selection import CandidatePool, Selection, select, supported_means
from comind.grading.grader_port import BlendReport
from comind.metrics.bootstrap import MIN_CLUSTERS, resampling
from comind.metrics.metric_types import Metric

_MOST_CANDIDATES = 20
_PROGRAM_CANDIDATES = 5  # where a program scores them
_PROGRAM_SECONDS = 10.0  # for a score of each, at most
_SAME_ERRORS = 0.999  # correlation from which on candidates count as one
_CELLS = 50_000_000  # of all candidates
_LEAST_ROWS = 50
_Z = 1.96
_SEED = 20260102  # fixed, for reproducible blends
_DIGITS = 3


def fit_blend(
    metric: Metric,
    truth: pd.DataFrame,
    predictions: Iterable[pd.DataFrame],
    groups: np.ndarray | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> BlendReport:
    """Return the blend of these predictions, or the reason why it is rejected.

    `predictions` are parsed tables in the shape of `truth`, the best first, consumed as needed. A blend
    is accepted if blends selected on one half of the rows (of whole groups) score better on the other
    half, both ways, than the candidate that is best on the first half, and in total by more than one
    standard error of the paired difference. So neither side was selected on the rows that score it.
    """
    means = supported_means(metric)
    if not means:
        return BlendReport(reason=f"predictions for {metric.name} cannot be averaged")
    if len(truth) < _LEAST_ROWS:
        return BlendReport(reason=f"{len(truth)} validation rows are too few to select and judge on")
    most = most_candidates(metric, truth.size)
    places, tables = distinct_candidates(means[0], truth, predictions, most)
    if len(tables) == 1:
        return BlendReport(candidates=1, reason="the errors of all scored steps are the same")
    pool = CandidatePool(metric, truth, tables, means)
    if metric.by_program:
        begun = clock()
        pool.score_all(_singles(pool), split_halves(len(truth), groups)[0])
        if (seconds := clock() - begun) > _PROGRAM_SECONDS:
            slow = f"the evaluator takes {seconds:.0f} s for {len(tables)} scores, too long to select by"
            return BlendReport(candidates=len(tables), reason=slow)
    try:
        gains = cross_fit_gains(pool, groups)
    except (ValueError, SubmissionError) as error:
        return BlendReport(candidates=len(tables), reason=f"a half of the rows has no score: {error}")
    final = select(pool, np.arange(len(truth)))
    report = BlendReport(
        candidates=len(tables),
        mean=final.mean,
        members=tuple(places[number] for number in final.members),
        weights=tuple(_weights(final, number) for number in final.members),
        gain=pooled_gain(gains, [len(half) for half in split_halves(len(truth), groups)[::-1]]),
    )
    return report.model_copy(update={"reason": rejection_reason(report, gains)})


def most_candidates(metric: Metric, cells: int) -> int:
    """Return how many candidates are compared, of a truth with so many cells."""
    most = _PROGRAM_CANDIDATES if metric.by_program else _MOST_CANDIDATES
    return int(np.clip(_CELLS // cells, 2, most))


def distinct_candidates(
    mean: str, truth: pd.DataFrame, predictions: Iterable[pd.DataFrame], most: int
) -> tuple[list[int], list[pd.DataFrame]]:
    """Return the positions and tables of the first predictions with errors unlike all earlier ones."""
    places: list[int] = []
    tables: list[pd.DataFrame] = []
    errors: list[np.ndarray] = []
    for place, table in enumerate(predictions):
        wrong = prediction_errors(mean, truth, table)
        if all(correlation(wrong, other) < _SAME_ERRORS for other in errors):
            places.append(place)
            tables.append(table)
            errors.append(wrong)
        if len(tables) == most:
            break
    return places, tables


def split_halves(rows: int, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of two random halves of the rows; groups stay whole.

    With few groups, rows are divided one by one, as in resampling.
    """
    units = np.arange(rows)
    if groups is not None and len(np.unique(groups)) >= MIN_CLUSTERS:
        units = groups
    names = np.random.default_rng(_SEED).permutation(np.unique(units))
    first = np.isin(units, names[: len(names) // 2])
    return np.flatnonzero(first), np.flatnonzero(~first)


def cross_fit_gains(pool: CandidatePool, groups: np.ndarray | None) -> list[Paired]:
    """Return the gains of blends over the best single candidate, on the half not selected on.

    Raises:
        ValueError: the metric is undefined on one of the halves.
    """
    one, other = split_halves(len(pool.truth), groups)
    singles = _singles(pool)
    gains = []
    for chosen_on, judged_on in ((one, other), (other, one)):
        blend = select(pool, chosen_on)
        best = singles[int(np.argmax(pool.score_all(singles, chosen_on)))]
        clusters = None if groups is None else groups[judged_on]
        draws = resampling(pool.metric, len(judged_on), clusters)
        tables = (pool.predict(each, judged_on) for each in (blend, best))
        gains.append(draws.compare(pool.metric, pool.truth_of(judged_on), *tables))
    return gains


def _singles(pool: CandidatePool) -> list[Selection]:
    """Return each candidate by itself."""
    mean = "mean" if "mean" in pool.means else pool.means[0]
    return [pool.shared_weights(mean, counts) for counts in np.eye(pool.size, dtype=int)]


def pooled_gain(gains: Sequence[Paired], rows: Sequence[int]) -> Paired:
    """Return the mean of independent differences, weighted by their numbers of rows."""
    shares = np.array(rows) / sum(rows)
    errors = shares * [each.standard_error for each in gains]
    difference = _rounded(float(shares @ [each.difference for each in gains]))
    error = _rounded(float(np.linalg.norm(errors)))
    around = Interval(low=_rounded(difference - _Z * error), high=_rounded(difference + _Z * error))
    return Paired(difference=difference, standard_error=error, interval=around)


def rejection_reason(report: BlendReport, gains: Sequence[Paired]) -> str:
    """Return why a blend is rejected; empty if it gains more than one standard error.

    `gains` are those on the halves; both must be positive.
    """
    assert report.gain is not None
    gain, error = report.gain.difference, report.gain.standard_error
    if len(report.members) == 1:
        return f"no average of {report.candidates} candidates is better than the best of them"
    if gain > error and all(each.difference > 0 for each in gains):
        return ""
    why = "within one standard error" if gain <= error else "on one half alone; standard error"
    return (
        f"on rows that it was not selected on, a blend of {report.candidates} candidates gains "
        f"{gain:.3g}, {why} ({error:.3g})"
    )


def _weights(selection: Selection, number: int) -> tuple[int, ...]:
    """Return a member's weights, a single one if no member's differ between columns."""
    same = (selection.weights == selection.weights[:, :1]).all()
    row = selection.weights[number]
    return (int(row[0]),) if same else tuple(int(each) for each in row)


def _rounded(value: float) -> float:
    """Round to three digits, to bound what a report reveals of the labels."""
    return float(f"{value:.{_DIGITS}g}")
