"""Decide whether the best solution is worth one of the day's submissions.

A public score is a query of test labels, and the number per day is limited. So a file is submitted only
if it differs from the last one by more than one standard error of the paired difference on the same
validation rows, the rule of a campaign's final pick.
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Literal

from comind.domain.metric import Paired, ValidationScore
from comind.following.events import Candidate, CompetitionObserved, SubmissionDecided, Verdict
from comind.following.state import Following

__all__ = ["Policy", "decide"]

Policy = Literal["never", "ask", "auto"]


def decide(
    state: Following,
    candidate: Candidate | None,
    policy: Policy,
    compare: Callable[[Candidate, Candidate], Paired | None],
) -> SubmissionDecided:
    """Decide on a slice's candidate, given the last observation.

    `compare` returns the paired difference of the first to the second, None if their rows differ.
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
    if verdict == "submit" and observation.submissions_left < 1:
        verdict, reason = "keep", f"{reason}, but no submission is left today"
    elif verdict == "submit":
        assert candidate is not None
        verdict, reason = _permitted(state, observation, policy, candidate.sha256, reason)
    return SubmissionDecided(
        at=observation.at, verdict=verdict, reason=reason, candidate=candidate, ahead=ahead
    )


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
        return "submit", "nothing was submitted before"
    if ahead is None:
        rows = f"it was validated on other rows than {last.attempt}, the last submission"
        loss = last.validation.value.signed - candidate.validation.value.signed
        error = math.hypot(_standard_error(candidate.validation), _standard_error(last.validation))
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


def _standard_error(score: ValidationScore) -> float:
    """Return the standard error of a score, from its confidence interval."""
    quantile = NormalDist().inv_cdf((1 + score.interval.level) / 2)
    return (score.interval.high - score.interval.low) / (2 * quantile)


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
