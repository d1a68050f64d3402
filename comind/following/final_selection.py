"""Select the two submissions that count at the end: the best by validation, and one that errs otherwise.

A person selects them on Kaggle's page, as its API cannot. The second one hedges: of the submissions
that are not worse than the first beyond the noise, it is the one whose errors on the validation rows
correlate least with those of the first. Without a correlation it is the best other by public score.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from comind.following.events import Candidate, SubmissionScored, SubmissionsSelected
from comind.following.state import SubmissionRecord

Correlations = Callable[[Candidate, Sequence[Candidate]], Sequence[float | None]]
"""Returns the correlations of one candidate's errors with those of others; None where unknown."""

_NOISE = 2.0  # standard errors
_MOST_COMPARED = 7  # with the first; the grader's limit for one request is eight


class JudgedSubmission(NamedTuple):
    """A submission with a validation score and a score of Kaggle's."""

    candidate: Candidate
    scored: SubmissionScored


def valid_submissions(submissions: Sequence[SubmissionRecord]) -> list[JudgedSubmission]:
    """Return the submissions of campaigns that were scored, oldest first."""
    return [
        JudgedSubmission(each.candidate, each.scored)
        for each in submissions
        if each.scored and not each.scored.error and isinstance(each.candidate, Candidate)
    ]


def select_submissions(
    submissions: Sequence[SubmissionRecord], correlations: Correlations, at: datetime
) -> SubmissionsSelected | None:
    """Return the submissions to select; None if none is scored."""
    valid = valid_submissions(submissions)
    if not valid:
        return None
    first, *others = sorted(valid, key=lambda each: -each.candidate.validation.value.signed)
    among = tuple(sorted(each.candidate.sha256 for each in valid))
    close = [each for each in others if _is_close(each, first)][:_MOST_COMPARED]
    found = correlations(first.candidate, [each.candidate for each in close]) if close else ()
    known = [(c, each) for c, each in zip(found, close, strict=True) if c is not None]
    if known:
        least, second = min(known, key=lambda pair: (pair[0], -public_order(pair[1])))
        return SubmissionsSelected(
            at=at, first=first.candidate, second=second.candidate, correlation=least, among=among
        )
    best = max(others, key=public_order, default=None)
    return SubmissionsSelected(
        at=at, first=first.candidate, second=best.candidate if best else None, among=among
    )


def _is_close(one: JudgedSubmission, best: JudgedSubmission) -> bool:
    """Return whether a submission is not worse than the best beyond the noise of both scores."""
    mine, theirs = one.candidate.validation, best.candidate.validation
    error = math.hypot(mine.interval.standard_error, theirs.interval.standard_error)
    return theirs.value.signed - mine.value.signed <= _NOISE * error


def public_order(submission: JudgedSubmission) -> float:
    """Return a sort key: the public score, larger is better; minus infinity if it is hidden."""
    score = submission.scored.public_score
    if score is None:
        return -math.inf
    return score if submission.candidate.validation.value.maximize else -score
