"""How much a campaign has been tuned to its validation rows, and what that makes of its best score.

A function of the logs: the gradings of all attempts, blends included, and the standard errors of the
differences that were measured between them. `comind/domain/metric.py` has the formula.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from comind.campaign.attempt import WORK_EVENTS
from comind.campaign.folder import CampaignFolder
from comind.campaign.history import AttemptState, fold
from comind.campaign.state import CampaignState
from comind.domain.metric import MetricValue, selection_optimism
from comind.errors import LogError
from comind.eventlog.log import read_log

__all__ = ["Tuning", "read_tuning", "tuning_of"]

_FEW_GRADINGS = 5  # so few choose hardly anything
_FEW_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a campaign has asked of its validation rows; differences are in units of the metric."""

    gradings: int = 0
    """Submissions that were scored on the validation rows, those of all steps of all attempts."""
    out_of_fold: int = 0
    """Predictions for rows of train.csv that were scored; they use up no validation rows."""
    rows: int = 0
    """How many validation rows there are."""
    error: float | None = None
    """Standard error of the difference of two scores; None where none was measured."""
    optimism: float | None = None
    """By how much the best score is expected to be better than it is on other rows; None if unknown."""
    others: int = 0
    """Attempts with another score than the best one."""
    near: int = 0
    """Of these, those within one standard error of the best."""
    lead: float = 0.0
    """How much better the best attempt is than the next one."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line where validation cannot tell the best from others, and where it promises too much."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[str]:
        if self.error is not None and self.near >= _FEW_OTHERS and 2 * self.near >= self.others:
            yield (
                f"{self.rows} validation rows cannot tell the best attempt from others: {self.near} of "
                f"{self.others} are within one standard error ({self.error:.2g})"
            )
        if (
            self.optimism
            and self.others
            and self.gradings >= _FEW_GRADINGS
            and self.optimism > self.lead
        ):
            yield (
                f"the best score is about {self.optimism:.2g} too good, as the best of {self.gradings} "
                f"gradings on the same {self.rows} rows; it leads by {self.lead:.2g}"
            )

    def __str__(self) -> str:
        """Return the gradings and the optimism in a few words."""
        times = f"{self.gradings} grading{'s' if self.gradings != 1 else ''}"
        return f"{times}, optimism about {self.optimism:.2g}" if self.optimism else times


def tuning_of(state: CampaignState, works: Mapping[str, AttemptState]) -> Tuning:
    """Return how much the validation rows of a campaign were used by this much of its work.

    Blends are gradings like any other, but the best score is that of an attempt: a blend was judged on
    rows that it was not selected on.
    """
    graded = {each.id: works[each.id] for each in state.works.rankable() if each.id in works}
    attempts = [graded[each.id] for each in state.works.attempts() if each.id in graded]
    values = [value for each in attempts for value in _scores(each)]
    leaders = [each.leader_score.value for each in attempts if each.leader_score is not None]
    best = sorted(leaders, reverse=True)
    error = _error(state, graded.values())
    behind = [_distance(best[0], each) for each in best if each != best[0]] if best else []
    signed = [value.value if value.maximize else -value.value for value in values]
    return Tuning(
        gradings=sum(1 for each in graded.values() for _ in _scores(each)),
        out_of_fold=sum(cell.out_of_fold is not None for each in graded.values() for cell in each.cells),
        rows=state.split.validation_rows if state.split else 0,
        error=error,
        optimism=selection_optimism(signed, error) if error is not None else None,
        others=len(behind),
        near=sum(each <= error for each in behind) if error is not None else 0,
        lead=min(behind, default=0.0),
    )


def read_tuning(state: CampaignState, folder: CampaignFolder) -> Tuning:
    """Return the same from a campaign's folder; work whose log is not there counts for nothing."""
    works = {}
    for each in state.works.rankable():
        log = folder.work(each.id).log
        try:
            works[each.id] = fold(read_log(log, WORK_EVENTS))
        except (LogError, OSError):
            continue
    return tuning_of(state, works)


def _scores(state: AttemptState) -> Iterator[MetricValue]:
    """Yield the scores of all graded steps."""
    for cell in state.cells:
        if cell.report is not None and cell.report.score is not None:
            yield cell.report.score.value


def _distance(one: MetricValue, other: MetricValue) -> float:
    return abs(one.value - other.value)


def _error(state: CampaignState, works: Iterable[AttemptState]) -> float | None:
    """Return the standard error of the difference of two scores, as far as it was measured.

    Steps of one attempt are more alike than attempts are, so the leaderboard's differences, once they
    are there, are larger, and count.
    """
    cells = (cell.gain for each in works for cell in each.cells if cell.gain is not None)
    steps = [gain.standard_error for gain in cells if gain.standard_error > 0]
    board = state.picked.leaderboard if state.picked else ()
    behind = [each.behind.standard_error for each in board if each.behind is not None]
    found = [median(each) for each in (steps, [error for error in behind if error > 0]) if each]
    return max(found, default=None)
