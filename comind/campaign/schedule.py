"""Whether there is still time to begin something: what cannot come to a score is not begun."""

import math
from statistics import median

from comind.campaign.outcome import CodeOutcome
from comind.campaign.plan import BASELINE_ROLE, Code, Think
from comind.campaign.state import CampaignState
from comind.domain.draft import Operator

__all__ = ["too_late_for"]

_LEAST_SECONDS = 60.0  # of an attempt, before it is known how long a step takes
_LEAST_STEPS = 2  # of an attempt, the second of which is perhaps scored
_LEAST_SHARE = 0.1  # of the campaign's time; more is not asked for to begin anything


def too_late_for(work: Think | Code, state: CampaignState) -> str:
    """Return why `work` is not begun any more, in one line; empty where there is time for it.

    Pure, by what earlier work has taken: a replay of the log decides the same.
    """
    left = state.open_seconds()
    if math.isinf(left) or (isinstance(work, Code) and _is_ours(work)):
        return ""
    needed = _attempt_seconds(state)
    if isinstance(work, Think):
        needed += _thought_seconds(state)
    needed = min(needed, _LEAST_SHARE * (state.budget.seconds or math.inf))
    if left >= needed:
        return ""
    return (
        f"{left:.0f} s are left beside what the closing phase needs, and about {needed:.0f} s pass "
        "until a new attempt is scored"
    )


def _is_ours(work: Code) -> bool:
    return work.operator is Operator.REFIT or work.role == BASELINE_ROLE


def _attempt_seconds(state: CampaignState) -> float:
    """Return about how long the first steps of an attempt take, by the attempts that have ended."""
    took = [
        attempt.outcome.spend.seconds / attempt.outcome.steps
        for attempt in state.works.attempts()
        if attempt.outcome is not None and attempt.outcome.steps and not _is_ours(attempt.work)
    ]
    return _LEAST_STEPS * median(took) if took else _LEAST_SECONDS


def _thought_seconds(state: CampaignState) -> float:
    """Return about how long a thought takes, by those that have ended."""
    took = [
        record.outcome.spend.seconds
        for record in state.works
        if record.outcome is not None and not isinstance(record.outcome, CodeOutcome)
    ]
    return median(took) if took else 0.0
