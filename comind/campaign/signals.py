"""Signals that end work early; they are control flow, not errors, and never leave the worker."""

from typing import ClassVar

from comind.campaign.outcome import FailureKind

__all__ = ["BudgetExceeded", "DeadlineExceeded", "WorkStopped"]


class WorkStopped(Exception):  # noqa: N818 - a signal, not an error
    """The work ends here, with what it has."""

    kind: ClassVar[FailureKind]


class DeadlineExceeded(WorkStopped):
    """The attempt's seconds are used up."""

    kind = FailureKind.TIME


class BudgetExceeded(WorkStopped):
    """The campaign's tokens or money do not allow another call."""

    kind = FailureKind.BUDGET
