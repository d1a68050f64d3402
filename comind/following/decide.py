"""Decide whether the best solution is worth one of the day's submissions.

A public score is a query of test labels, and the number per day is limited. So a file is submitted only
if it differs from the last one by more than one standard error of the paired difference on the same
validation rows, the rule of a campaign's final pick.
"""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

from comind.domain.metric import Paired
from comind.following.events import Candidate, CompetitionObserved, SubmissionDecided, Verdict
from comind.following.state import Following

Policy = Literal["never", "ask", "auto"]

_DAY = timedelta(days=1)


def decide(
    state: Following,
    candidate: Candidate | None,
    policy: Policy,
    compare: Callable[[Candidate, Candidate], Paired | None],
    at: datetime,
    used_up: str = "",
) -> SubmissionDecided:
    """Decide on a slice's candidate, given the last observation.

    Args:
        state: of the followed competition.
        candidate: what the slice would submit, if anything.
        policy: whether submissions are allowed.
        compare: returns the paired difference of the first to the second, None if their rows differ.
        at: the time of the decision, by the server's clock.
        used_up: why the user's budget allows no further submission now; empty if it does. A file
            that the user approved is submitted nevertheless.
    """
    observation = state.observation
    assert observation is not None, "a decision follows an observation"
    verdict: Verdict = "keep"
    ahead: Paired | None = None
    reason = _obstacle(state, candidate, observation)
    if not reason:
        assert candidate is not None
        last = state.last_submitted
        ahead = compare(candidate, last) if last is not None else None
        verdict, reason = _compared(candidate, last, ahead)
    if verdict == "submit" and state.submissions_left < 1:
        verdict, reason = "keep", f"{reason}, but no submission is left today"
    elif verdict == "submit":
        assert candidate is not None
        verdict, reason = _permitted(state, observation, policy, candidate.sha256, reason)
        if used_up and verdict != "keep" and candidate.sha256 not in state.approved:
            verdict, reason = "keep", f"{reason}, but {used_up}"
    return SubmissionDecided(at=at, verdict=verdict, reason=reason, candidate=candidate, ahead=ahead)


def submissions_used_up(state: Following, total: int | None, today: int | None) -> str:
    """Return why the user's budget of submissions allows none now; empty if it allows one.

    Of `total` submissions until the deadline, a share is free by the time: that of the days that have
    begun since the first observation. Without a deadline all are free at once.
    """
    seen = state.observation
    assert seen is not None, "a decision follows an observation"
    sent = len(state.submissions)
    if today is not None and state.submitted_on(seen.at.astimezone(UTC).date()) >= today:
        return f"the {today} submissions of today are used up"
    if total is None:
        return ""
    free = total
    if seen.deadline is not None and state.first_observed is not None:
        days = math.ceil((seen.deadline - state.first_observed) / _DAY)
        begun = 1 + (seen.at - state.first_observed) // _DAY
        free = min(total, math.ceil(total * begun / max(1, days)))
    return f"{sent} of {total} submissions are used, and {free} are free by now" if sent >= free else ""


def _obstacle(state: Following, candidate: Candidate | None, observation: CompetitionObserved) -> str:
    """Return the reason why nothing can be submitted, or ""."""
    if candidate is None:
        return "no attempt has a valid submission"
    if any(each.candidate.sha256 == candidate.sha256 for each in state.submissions):
        return "it was submitted before"
    if state.campaign_on(observation.data_sha256) != candidate.campaign:
        return "it was made from data that have been replaced since"
    if observation.is_over:
        return "the deadline has passed"
    return observation.closed


def _compared(candidate: Candidate, last: Candidate | None, ahead: Paired | None) -> tuple[Verdict, str]:
    """Compare the candidate with the last submission.

    Scores on different rows, as after a new release of the data, are compared with the standard error of
    both: a file that is worse beyond the noise is kept.
    """
    if last is None:
        return "submit", "it is the first submission"
    if ahead is None:
        rows = f"it was validated on other rows than {last.attempt}, the last submission"
        loss = last.validation.value.signed - candidate.validation.value.signed
        error = math.hypot(
            candidate.validation.interval.standard_error, last.validation.interval.standard_error
        )
        if loss > error:
            return (
                "keep",
                f"{rows}, and its score is worse by {loss:.4g}, with a standard error of {error:.2g}",
            )
        return "submit", rows
    if ahead.difference <= ahead.standard_error:
        return "keep", f"it is not better than {last.attempt}, the last submission, beyond the noise"
    return "submit", (
        f"it is better than {last.attempt}, the last submission, by {ahead.difference:.4g} "
        f"with a standard error of {ahead.standard_error:.2g}"
    )


def _permitted(
    state: Following, observation: CompetitionObserved, policy: Policy, sha256: str, reason: str
) -> tuple[Verdict, str]:
    """Apply the policy and the user's approvals to a candidate that should be submitted."""
    approved = sha256 in state.approved
    if policy == "never" and not approved:
        return "keep", f"{reason}, but nothing is submitted without --submit ask or auto"
    if state.rules != observation.rules_sha256:
        return "ask", f"{reason}, but the rules have changed; approve them with --allow rules"
    if approved:
        return "submit", f"{reason}; you approved it"
    if policy == "ask":
        return "ask", f"{reason}; approve it with --allow {sha256[:12]}"
    return "submit", reason
