"""Whether there is still time to begin something: what cannot come to a score is not begun."""

import math
from statistics import median

from comind.campaign.plan import BASELINE_ROLE, CLOSING, Code, Think
from comind.campaign.state import CampaignState

__all__ = ["time_shortage"]

_LEAST_SECONDS = 60.0  # of an attempt, before it is known how long a step takes
_LEAST_STEPS = 2  # of an attempt, the second of which is perhaps scored
_LEAST_SHARE = 0.1  # of the campaign's time; more is not asked for to begin an attempt


def time_shortage(work: Think | Code, state: CampaignState) -> str:
    """Return why `work` is not begun any more, in one line; empty where there is time for it.

    Pure, by what earlier work has taken: a replay of the log decides the same.
    """
    left = state.open_seconds()
    if math.isinf(left) or (isinstance(work, Code) and _is_platform_work(work)):
        return ""
    needed = min(_attempt_seconds(state), _LEAST_SHARE * (state.budget.seconds or math.inf))
    if isinstance(work, Think):
        needed += _thinking_seconds(state)
    if left >= needed:
        return ""
    return (
        f"{left:.0f} s are left beside what the closing phase needs, and about {needed:.0f} s pass "
        "until a new attempt is scored"
    )


def _is_platform_work(work: Code) -> bool:
    return work.operator in CLOSING or work.role == BASELINE_ROLE


def _attempt_seconds(state: CampaignState) -> float:
    """Return about how long the first steps of an attempt take, by the attempts that have ended."""
    took = [
        attempt.outcome.spend.seconds / attempt.outcome.steps
        for attempt in state.works.attempts()
        if attempt.outcome is not None and attempt.outcome.steps and not _is_platform_work(attempt.work)
    ]
    return _LEAST_STEPS * median(took) if took else _LEAST_SECONDS


def _thinking_seconds(state: CampaignState) -> float:
    """Return about how long it takes until thoughts have led to an attempt, by those that did.

    Of thoughts in a row that were begun side by side the sum counts, so this is rather too much.
    """
    rounds, begun = [], 0.0
    for record in state.works:
        if isinstance(record.work, Think):
            begun += record.outcome.spend.seconds if record.outcome is not None else 0.0
        elif begun:
            rounds.append(begun)
            begun = 0.0
    return max(0.0, median(rounds) - begun) if rounds else 0.0
