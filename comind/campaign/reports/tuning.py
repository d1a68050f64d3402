"""Measure how far a campaign was tuned to its holdout, and the optimism of its best score.

Computed from the logs: the gradings of all attempts and blends, the standard errors of the measured
differences between them, and what agents were shown. `comind/domain/metric.py` has the formula of
optimism, `comind/domain/revealed_bits.py` that of bits.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work_state import AttemptState
from comind.domain.metric import MetricValue, Paired, selection_optimism
from comind.domain.revealed_bits import PAIRED_BITS, grading_bits, table_bits
from comind.grading.grader_port import GradeReport
from comind.system.plurals import quantity

_FEW_GRADINGS = 5  # with fewer, selection has hardly any effect
_FEW_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Tuning:
    """Use of the validation rows by a campaign; differences are in units of the metric."""

    gradings: int = 0
    """Number of predictions scored on the validation rows, over all steps of all attempts."""
    on_sample: int = 0
    """Number of these of steps on the sample, none of which can be the best."""
    out_of_fold: int = 0
    """Number of scored out-of-fold predictions, which do not use the validation rows."""
    rows: int = 0
    """Number of validation rows."""
    error: float | None = None
    """Standard error of the difference of two scores; None if none was measured."""
    bits: float = 0.0
    """What all that was shown to agents could have revealed about the labels of these rows, at most."""
    optimism: float | None = None
    """Expected difference of the best score between validation and other rows; None if unknown."""
    others: int = 0
    """Number of attempts with another score than the best one."""
    near: int = 0
    """Number of these within one standard error of the best."""
    flags: tuple[str, ...] = ()
    """A line for each attempt whose score cannot be trusted."""
    lead: float = 0.0
    """Difference between the best attempt and the next one."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Flags, a line if the best is within noise of others, one if its score is too optimistic."""
        found = [*self.flags]
        if self.error is not None and self.near >= _FEW_OTHERS and 2 * self.near >= self.others:
            found.append(
                f"{self.rows} validation rows cannot tell the best attempt from others: {self.near} of "
                f"{self.others} are within one standard error ({self.error:.2g})"
            )
        full = self.gradings - self.on_sample
        graded = self.others and full >= _FEW_GRADINGS
        if graded and self.optimism and self.optimism > self.lead:
            found.append(
                f"the best score is about {self.optimism:.2g} too good, as the best of {full} "
                f"gradings on the same {self.rows} rows; it leads by {self.lead:.2g}"
            )
        return tuple(found)

    def __str__(self) -> str:
        """Return gradings, bits and optimism in a few words."""
        times = quantity(self.gradings, "grading")
        bits = f" that could reveal {self.bits:.0f} bits" if self.bits else ""
        return times + bits + (f", optimism about {self.optimism:.2g}" if self.optimism else "")


def tuning_of(state: CampaignState, works: Mapping[str, AttemptState]) -> Tuning:
    """Measure the tuning of a campaign by `works`, the states of its work by id.

    Blends count as gradings, but the best score is an attempt's: a blend was judged on rows that it was
    not selected on.
    """
    graded = {each.id: works[each.id] for each in state.works.rankable() if each.id in works}
    attempts = [graded[each.id] for each in state.works.attempts() if each.id in graded]
    signed = [value.signed for each in attempts for value in _scores(each)]
    leaders = [each.leader_score.value for each in attempts if each.leader_score is not None]
    best = sorted(leaders, reverse=True)
    error = _error(state, graded.values())
    behind = [abs(best[0].value - each.value) for each in best if each != best[0]] if best else []
    return Tuning(
        gradings=sum(1 for each in graded.values() for _ in _gradings(each)),
        on_sample=sum(map(_on_sample, graded.values())),
        out_of_fold=sum(cell.out_of_fold is not None for each in graded.values() for cell in each.cells),
        rows=state.split.validation_rows if state.split else 0,
        bits=_bits(state, attempts),
        flags=tuple(map(str, state.flags)),
        error=error,
        optimism=selection_optimism(signed, error) if error is not None else None,
        others=len(behind),
        near=sum(each <= error for each in behind) if error is not None else 0,
        lead=min(behind, default=0.0),
    )


def _scores(state: AttemptState) -> Iterator[MetricValue]:
    """Yield the scores of all graded steps, except those on the sample, which are never the best."""
    for cell in state.cells:
        if cell.report is not None and cell.report.score is not None:
            yield cell.report.score.value


def _gradings(state: AttemptState) -> Iterator[tuple[GradeReport, Paired | None]]:
    """Yield the reports with a score, also of steps on the sample, each with its paired difference."""
    for cell in state.cells:
        if cell.report is not None and cell.report.score is not None:
            yield cell.report, cell.gain
        if cell.sample is not None and cell.sample.report.score is not None:
            yield cell.sample.report, cell.sample.gain


def _on_sample(state: AttemptState) -> int:
    """Return the number of scored steps on the sample."""
    return sum(cell.sample is not None and cell.sample.report.score is not None for cell in state.cells)


def _bits(state: CampaignState, attempts: Sequence[AttemptState]) -> float:
    """Return what agents' scores, differences, parts and order, and tables of errors, reveal."""
    ended = [each.outcome for each in attempts]
    gains = sum(isinstance(each, CodeOutcome) and each.gain is not None for each in ended)
    graded = [found for each in attempts for found in _gradings(each)]
    newest = state.compared
    table = table_bits(len(newest.attempts)) if newest is not None and not newest.reason else 0.0
    return (
        state.comparisons * table
        + gains * PAIRED_BITS
        + math.fsum(
            grading_bits(
                number,
                sum(len(part.worst) for part in report.parts if not part.public),
                paired=gain is not None,
            )
            for number, (report, gain) in enumerate(graded, 1)
        )
    )


def _error(state: CampaignState, works: Iterable[AttemptState]) -> float | None:
    """Return the standard error of the difference of two scores; None if none was measured.

    The larger of two medians: over steps of one attempt, which are correlated, and over the leaderboard.
    """
    cells = (cell.gain for each in works for cell in each.cells if cell.gain is not None)
    steps = [gain.standard_error for gain in cells if gain.standard_error > 0]
    board = state.picked.leaderboard if state.picked else ()
    behind = [each.behind.standard_error for each in board if each.behind is not None]
    found = [median(each) for each in (steps, [error for error in behind if error > 0]) if each]
    return max(found, default=None)
