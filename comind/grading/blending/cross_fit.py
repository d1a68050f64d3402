"""Accept a blend by cross-fitting: select on one half of the rows, score on the other, both ways."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.domain.metric import Paired
from comind.errors import SubmissionError
from comind.grading.blending.error_correlation import correlation, prediction_errors
from comind.grading.blending.held_out import held_out_gain, pooled_gain, row_parts, singles_of
from comind.grading.blending.selection import (
    FREE,
    CandidatePool,
    Costs,
    Selection,
    select,
    supported_means,
)
from comind.grading.blending.stacking import LEAST_ROWS, Stack
from comind.grading.grader_port import BlendReport
from comind.metrics.metric_types import Metric

_MOST_CANDIDATES = 20
_PROGRAM_CANDIDATES = 5  # where a program scores them
_PROGRAM_SECONDS = 10.0  # for a score of each, at most
_SAME_ERRORS = 0.999  # correlation from which on candidates count as one
_CELLS = 50_000_000  # of all candidates
_LEAST_ROWS = 50


class OutOfFold(NamedTuple):
    """Rows of train.csv with the candidates' predictions by models that were not fitted on them."""

    truth: pd.DataFrame
    predictions: Mapping[int, pd.DataFrame]
    """By position among all candidates; those that have none are not there."""
    groups: np.ndarray | None = None


def fit_blend(
    metric: Metric,
    truth: pd.DataFrame,
    predictions: Iterable[pd.DataFrame],
    groups: np.ndarray | None = None,
    *,
    out_of_fold: OutOfFold | None = None,
    costs: Costs = FREE,
    clock: Callable[[], float] = time.monotonic,
) -> BlendReport:
    """Return the blend of these predictions, or the reason why it is rejected.

    `predictions` are parsed tables in the shape of `truth`, the best first, consumed as needed. There
    are two ways to a blend: weights selected on rows of `truth`, and, where two candidates are in
    `out_of_fold`, a stack learned on its rows. Each is judged on rows that it was not selected on,
    against the candidate that is best on the rows selected on: on one half of `truth` (of whole groups)
    after a selection on the other one, both ways, and on out-of-fold rows, a stack by cross-validation.
    The way that gains most is taken, and accepted if it is not expected to lose.
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
    costs = costs.of(places)
    pool = CandidatePool(metric, truth, tables, means, costs)
    if metric.by_program:
        begun = clock()
        pool.score_all(singles_of(pool), row_parts(len(truth), 2, groups)[0])
        if (seconds := clock() - begun) > _PROGRAM_SECONDS:
            slow = f"the evaluator takes {seconds:.0f} s for {len(tables)} scores, too long to select by"
            return BlendReport(candidates=len(tables), reason=slow)
    try:
        stack = _stack(metric, out_of_fold, places, costs)
        ways = _judged(pool, groups, stack)
    except (ValueError, SubmissionError) as error:
        why = f"a part of the rows has no score: {error}"
        return BlendReport(candidates=len(tables), reason=why)
    final, gain = max(ways, key=lambda way: way.gain.difference)
    report = BlendReport(
        candidates=len(tables),
        mean=final.mean,
        members=tuple(places[number] for number in final.members),
        weights=tuple(_by_target(final.weights[number]) for number in final.members),
        offsets=() if final.offsets is None else _by_target(final.offsets),
        out_of_fold_rows=stack.rows if stack is not None and final is stack.weights else 0,
        gain=gain,
    )
    return report.model_copy(update={"reason": rejection_reason(report)})


class _Way(NamedTuple):
    """A blend, and its gain on rows that it was not selected on."""

    weights: Selection
    gain: Paired


def _judged(pool: CandidatePool, groups: np.ndarray | None, stack: Stack | None) -> list[_Way]:
    """Return the stack, if there is one, and the blend that is selected on the rows of `pool`.

    Both are judged on the out-of-fold rows as well, if all members have predictions there.
    """
    rows = len(pool.truth)
    halves = row_parts(rows, 2, groups)
    selected = select(pool, np.arange(rows))
    ways = [_Way(selected, held_out_gain(pool, halves, groups, partial(select, pool)))]
    if stack is None:
        return ways
    ways.insert(0, _Way(stack.weights, held_out_gain(pool, halves, groups, lambda _: stack.weights)))
    judged = ((way, stack.gain(way.weights)) for way in ways)
    return [
        way if more is None else _Way(way.weights, pooled_gain((way.gain, more), (rows, stack.rows)))
        for way, more in judged
    ]


def _stack(metric: Metric, rows: OutOfFold | None, places: Sequence[int], costs: Costs) -> Stack | None:
    """Return a stack of the candidates that have out-of-fold predictions; None of fewer than two."""
    tables = [rows.predictions.get(place) if rows is not None else None for place in places]
    known = sum(each is not None for each in tables)
    if rows is None or len(rows.truth) < LEAST_ROWS or known <= 1:
        return None
    pool = CandidatePool(metric, rows.truth, tables, supported_means(metric), costs)
    return Stack(pool, rows.groups)


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


def rejection_reason(report: BlendReport) -> str:
    """Return why a blend is rejected; empty if it is not expected to lose."""
    assert report.gain is not None
    if len(report.members) == 1:
        return f"no average of {report.candidates} candidates is better than the best of them"
    if report.gain.expected_of_combination >= 0:
        return ""
    return (
        f"on rows that it was not selected on, a blend of {report.candidates} candidates is "
        f"{-report.gain.difference:.3g} worse than the best of them (standard error "
        f"{report.gain.standard_error:.3g})"
    )


def _by_target(row: np.ndarray) -> tuple[float, ...]:
    """Return the values of the target columns, a single one if they are the same."""
    same = (row == row[:1]).all()
    return tuple(row[:1].tolist() if same else row.tolist())
