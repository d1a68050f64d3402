"""Find the blend of candidates that gains most on rows that it was not selected on, and accept it."""

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from comind.domain.metric import Paired
from comind.errors import SubmissionError
from comind.grading.blending.averaging import BESIDE
from comind.grading.blending.error_correlation import correlation, prediction_errors
from comind.grading.blending.held_out import held_out_gain, pooled_gain, row_parts, singles_of
from comind.grading.blending.selection import (
    FREE,
    Beside,
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
    rows: np.ndarray | None = None
    """Their positions in train.csv, ascending."""
    beside: Mapping[int, pd.DataFrame] = MappingProxyType({})
    """What candidates keep beside labels, in the same rows."""


class KeptBeside(NamedTuple):
    """What candidates keep beside labels for the rows of the truth."""

    mean: str
    labels: tuple[str, ...]
    """As of `Beside`."""
    tables: Mapping[int, pd.DataFrame]
    """By position among all candidates."""

    def of(self, tables: Mapping[int, pd.DataFrame], places: Sequence[int]) -> Beside:
        """Return those of the candidates at these positions."""
        return Beside(self.mean, self.labels, [tables.get(place) for place in places])


def fit_blend(  # noqa: PLR0913 - what there is to know of the candidates
    metric: Metric,
    truth: pd.DataFrame,
    predictions: Iterable[pd.DataFrame],
    groups: np.ndarray | None = None,
    *,
    out_of_fold: OutOfFold | None = None,
    beside: KeptBeside | None = None,
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
    others = {} if out_of_fold is None else _distinct_stack(means[0], out_of_fold, most)
    places, tables = distinct_candidates(means[0], truth, predictions, most, others)
    if len(tables) == 1:
        return BlendReport(candidates=1, reason="the errors of all scored steps are the same")
    kept = None if beside is None else beside.of(beside.tables, places)
    pool = CandidatePool(metric, truth, tables, means, costs.of(places), kept)
    if len(pool.allowed(means[0])) <= 1:
        few = f"no two of {len(tables)} candidates can be refitted in the time left"
        return BlendReport(candidates=len(tables), reason=few)
    if metric.by_program and (slow := _slowness(pool, groups, clock)):
        return BlendReport(candidates=len(tables), reason=slow)
    try:
        ways = [_selected(pool, groups, most)]
    except (ValueError, SubmissionError) as error:
        why = f"a part of the rows has no score: {error}"
        return BlendReport(candidates=len(tables), reason=why)
    if out_of_fold is not None:
        rows = pool.with_rows(
            out_of_fold.truth,
            [others.get(each) for each in places],
            None if beside is None else beside.of(out_of_fold.beside, places),
        )
        ways = _with_stack(ways[0], pool, groups, rows, out_of_fold.groups)
    reports = [_report(way, pool, places) for way in ways]
    best = max(range(len(ways)), key=lambda at: (not reports[at].reason, ways[at].gain.difference))
    return reports[best]


def _slowness(pool: CandidatePool, groups: np.ndarray | None, clock: Callable[[], float]) -> str:
    """Return why a program is too slow to select by; empty if it is not."""
    begun = clock()
    pool.score_all(singles_of(pool), row_parts(len(pool.truth), 2, groups)[0])
    if (seconds := clock() - begun) <= _PROGRAM_SECONDS:
        return ""
    return f"the evaluator takes {seconds:.0f} s for {pool.size} scores, too long to select by"


class _Way(NamedTuple):
    """A blend, and its gain on rows that it was not selected on."""

    weights: Selection
    gain: Paired
    stacked: bool = False
    rows: int = 0
    """Out-of-fold rows on which it was judged, too."""


def _report(way: _Way, pool: CandidatePool, places: Sequence[int]) -> BlendReport:
    """Return the report on a way; `places` are the positions of the pool's candidates."""
    chosen, members = way.weights, way.weights.members
    report = BlendReport(
        candidates=pool.size,
        mean=chosen.mean,
        members=tuple(places[number] for number in members),
        weights=_by_target(chosen.weights[members]),
        offsets=() if chosen.offsets is None else tuple(chosen.offsets.tolist()),
        labels=pool.labels if chosen.mean in BESIDE else (),
        stacked=way.stacked,
        out_of_fold_rows=way.rows,
        gain=way.gain,
    )
    return report.model_copy(update={"reason": rejection_reason(report, single=chosen.is_single)})


def _selected(pool: CandidatePool, groups: np.ndarray | None, most: int) -> _Way:
    """Return the blend of the first candidates that is selected on the rows of `pool`.

    It is judged on halves of these.
    """
    halves = row_parts(len(pool.truth), 2, groups)
    way = partial(select, pool, most=most)
    return _Way(way(np.arange(len(pool.truth))), held_out_gain(pool, halves, groups, way))


def _with_stack(
    selected: _Way,
    pool: CandidatePool,
    groups: np.ndarray | None,
    others: CandidatePool,
    other_groups: np.ndarray | None,
) -> list[_Way]:
    """Return the stack and the selected blend, judged on the out-of-fold rows of `others` as well.

    The latter only if all members have predictions there, and the candidate that is best on the rows of
    `pool`, as it is what they are compared with. Only the selected blend where no stack can be learned.
    """
    if len(others.truth) < LEAST_ROWS or len(others.allowed(others.means[0])) <= 1:
        return [selected]
    rows = np.arange(len(pool.truth))
    try:
        stack = Stack(others, other_groups)
        learned = held_out_gain(pool, row_parts(len(rows), 2, groups), groups, lambda _: stack.weights)
        ways = [_Way(stack.weights, learned, stacked=True), selected]
        best = pool.known[int(np.argmax(pool.score_all(singles_of(pool), rows)))]
        gains = [stack.gain(way.weights) if best in others.known else None for way in ways]
    except (ValueError, RuntimeError, SubmissionError):  # the metric is undefined on a part, or no fit
        return [selected]
    return [
        way
        if more is None
        else way._replace(gain=pooled_gain((way.gain, more), (len(rows), stack.rows)), rows=stack.rows)
        for way, more in zip(ways, gains, strict=True)
    ]


def _distinct_stack(mean: str, rows: OutOfFold, most: int) -> dict[int, pd.DataFrame]:
    """Return the out-of-fold predictions with errors unlike all earlier ones, by place.

    Their labels are public, so the candidates of a stack tell nothing of those of validation.
    """
    places = list(rows.predictions)
    kept, _ = distinct_candidates(mean, rows.truth, rows.predictions.values(), most)
    return {places[number]: rows.predictions[places[number]] for number in kept}


def most_candidates(metric: Metric, cells: int) -> int:
    """Return how many candidates are compared, of a truth with so many cells."""
    most = _PROGRAM_CANDIDATES if metric.by_program else _MOST_CANDIDATES
    return int(np.clip(_CELLS // cells, 2, most))


def distinct_candidates(
    mean: str,
    truth: pd.DataFrame,
    predictions: Iterable[pd.DataFrame],
    most: int,
    needed: Container[int] = (),
) -> tuple[list[int], list[pd.DataFrame]]:
    """Return the positions and tables of the first predictions with errors unlike all earlier ones.

    Then those of the others that are at the positions `needed`.
    """
    found: dict[int, pd.DataFrame] = {}
    further: dict[int, pd.DataFrame] = {}
    errors: list[np.ndarray] = []
    for place, table in enumerate(predictions):
        wrong = prediction_errors(mean, truth, table)
        if len(errors) < most and all(correlation(wrong, other) < _SAME_ERRORS for other in errors):
            errors.append(wrong)
            found[place] = table
        elif place in needed:
            further[place] = table
        if len(errors) == most and not needed:
            break
    found |= further
    return list(found), list(found.values())


def rejection_reason(report: BlendReport, *, single: bool) -> str:
    """Return why a blend is rejected; empty if it is no single candidate and not expected to lose."""
    assert report.gain is not None
    if single:
        return f"no average of {report.candidates} candidates is better than the best of them"
    if report.gain.expected_of_combination >= 0:
        return ""
    return (
        f"on rows that it was not selected on, a blend of {report.candidates} candidates is "
        f"{-report.gain.difference:.3g} worse than the best of them (standard error "
        f"{report.gain.standard_error:.3g})"
    )


def _by_target(rows: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """Return the values of each row, a single one if those of all target columns are the same."""
    same = (rows == rows[:, :1]).all()
    return tuple(tuple(row[:1].tolist() if same else row.tolist()) for row in rows)
