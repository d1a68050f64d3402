"""Whether the best solution is worth one of the day's submissions.

A public score is a look at test labels, and there are few of them a day. So a file is handed in only if
it can be told from what was handed in before: by the paired difference on the same validation rows, more
than one standard error, as the final pick of a campaign is made.
"""

from collections.abc import Callable
from typing import Literal

from comind.domain.metric import Paired
from comind.following.events import Candidate, CompetitionObserved, SubmissionDecided, Verdict
from comind.following.state import Following

__all__ = ["Compare", "Policy", "decide"]

Policy = Literal["never", "ask", "auto"]
Compare = Callable[[Candidate, Candidate], Paired | None]
"""How much better the first is than the second; None where they are not of the same rows."""


def decide(
    state: Following, candidate: Candidate | None, policy: Policy, compare: Compare
) -> SubmissionDecided:
    """Return what becomes of a slice's candidate, given the last look."""
    looked = state.looked
    assert looked is not None, "one decides on what was seen"
    verdict: Verdict = "keep"
    ahead: Paired | None = None
    reason = _obstacle(state, candidate, looked)
    if not reason:
        assert candidate is not None
        last = state.last_taken
        ahead = compare(candidate, last) if last is not None else None
        verdict, reason = _weighed(last, ahead)
    if verdict == "submit" and looked.submissions_left < 1:
        verdict, reason = "keep", f"{reason}, but no submission is left today"
    elif verdict == "submit":
        assert candidate is not None
        verdict, reason = _permitted(state, looked, policy, candidate.sha256, reason)
    return SubmissionDecided(
        at=looked.at, verdict=verdict, reason=reason, candidate=candidate, ahead=ahead
    )


def _obstacle(state: Following, candidate: Candidate | None, looked: CompetitionObserved) -> str:
    """Return why nothing at all is to be handed in, or nothing."""
    if candidate is None:
        return "no attempt has a valid submission"
    if any(each.candidate.sha256 == candidate.sha256 for each in state.handed):
        return "it was handed in already"
    if state.campaign_on(looked.data_sha256) != candidate.campaign:
        return "it was made from data that were released anew since"
    if looked.is_over:
        return "the deadline has passed"
    return looked.closed


def _weighed(last: Candidate | None, ahead: Paired | None) -> tuple[Verdict, str]:
    """Say whether the candidate is better than what was handed in last."""
    if last is None:
        return "submit", "nothing was handed in before"
    if ahead is None:
        return "submit", f"it was validated on other rows than {last.attempt}, which was handed in"
    if ahead.difference <= ahead.standard_error:
        return "keep", f"it is not better than {last.attempt}, which was handed in, beyond the noise"
    return "submit", (
        f"it is better than {last.attempt}, which was handed in, by {ahead.difference:.4g} "
        f"with a standard error of {ahead.standard_error:.2g}"
    )


def _permitted(
    state: Following, looked: CompetitionObserved, policy: Policy, sha256: str, reason: str
) -> tuple[Verdict, str]:
    """Say whether what should be handed in may be."""
    agreed = sha256 in state.allowed
    if policy == "never" and not agreed:
        return "keep", f"{reason}, but nothing is handed in without --submit ask or auto"
    if state.rules != looked.rules_sha256:
        return "ask", f"{reason}, but the rules have changed; agree to them with --allow rules"
    if agreed:
        return "submit", f"{reason}; you agreed"
    if policy == "ask":
        return "ask", f"{reason}; agree with --allow {sha256[:12]}"
    return "submit", reason
