"""Compare two attempts: the difference of their scores, its standard error, and what it says.

Where a grader compared both row by row, its difference counts. Else it is that of the two scores in the
digits that agents see, with the correlation of errors that a comparison measured, or an assumed one.
"""

import math
from enum import StrEnum
from typing import NamedTuple

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.domain.metric import ValidationScore

_CLEAR = 2  # standard errors above which a difference counts
_CORRELATION = 0.8  # of the errors of two solutions that were not compared


class Verdict(StrEnum):
    """What the difference to the parent says, by its standard error alone."""

    HELPS = "helps"
    NO_DIFFERENCE = "no difference"
    HURTS = "hurts"


class Gain(NamedTuple):
    """The difference of an attempt to another one; positive is better."""

    over: str
    """The other attempt."""
    difference: float
    error: float
    """Standard error."""
    paired: bool
    """Whether both were compared row by row, rather than by their two scores."""

    @property
    def evidence(self) -> float:
        """The difference in standard errors, without its sign."""
        if self.error > 0:
            return abs(self.difference) / self.error
        return math.inf if self.difference else 0.0

    @property
    def real(self) -> bool:
        """Whether it is better beyond the noise: by more than one standard error."""
        return self.difference > self.error

    @property
    def verdict(self) -> Verdict:
        """Whether the difference is more than two standard errors."""
        if self.evidence <= _CLEAR:
            return Verdict.NO_DIFFERENCE
        return Verdict.HELPS if self.difference > 0 else Verdict.HURTS


def gain_over(attempt: Attempt, other: Attempt, state: CampaignState) -> Gain | None:
    """Return the gain of an attempt over another one; None if one of them has no score."""
    reference, outcome = attempt.work.reference, attempt.outcome
    measured = outcome.gain if outcome is not None else None
    if measured is not None and reference is not None and reference.attempt == other.id:
        return Gain(other.id, measured.difference, measured.standard_error, paired=True)
    if attempt.score is None or other.score is None:
        return None
    known = state.compared.correlation(attempt.id, other.id) if state.compared else None
    error = difference_error(attempt.score, other.score, _CORRELATION if known is None else known)
    difference = attempt.score.shown.signed - other.score.shown.signed
    return Gain(other.id, difference, error, paired=False)


def difference_error(one: ValidationScore, other: ValidationScore, correlation: float) -> float:
    """Return the standard error of the difference of two scores on the same rows.

    It follows from both intervals and the correlation of errors.
    """
    first, second = one.interval.standard_error, other.interval.standard_error
    return math.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))
