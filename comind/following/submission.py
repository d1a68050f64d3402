"""Submit a file exactly once, and reconcile the log with Kaggle's list of submissions.

SubmissionStarted ──► request ──► SubmissionSent(reference) ──► graded or rejected ──► SubmissionScored
                         └─ killed, or no answer: the list of submissions shows whether it was accepted
"""

import math
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

from comind.errors import KaggleBusyError, KaggleRefusedError
from comind.following.events import (
    Candidate,
    StandingRecorded,
    SubmissionScored,
    SubmissionSent,
    SubmissionStarted,
    SubmittedFile,
)
from comind.following.state import FollowingLog
from comind.grading.leaderboard import Leaderboard
from comind.kaggle.port import Kaggle, LeaderboardRow, SubmissionFacts, parse_score
from comind.kaggle.rate_limit import paginate
from comind.system.failpoints import failpoint
from comind.system.files import hash_file
from comind.system.timing import Clock

_MAX_PAGES = 10  # of the list of submissions, newest first


def submit_candidate(
    log: FollowingLog,
    kaggle: Kaggle,
    slug: str,
    candidate: Candidate | SubmittedFile,
    file: Path,
    at: datetime,
    text: str = "",
) -> None:
    """Submit a candidate's file; `text` takes the place of campaign and attempt in its description.

    Raises:
        KaggleRefusedError: Kaggle rejects it.
        KaggleBusyError: no answer; `reconcile_submissions` finds out whether it was accepted.
    """
    sent = hash_file(file)
    message = f"{text or _described(candidate)} {sent[:12]}"
    log.record(SubmissionStarted(at=at, candidate=candidate, file_sha256=sent, message=message))
    failpoint("submission-sending")
    try:
        reference = kaggle.submit(slug, file, message)
    except (KaggleRefusedError, KaggleBusyError) as error:
        if not getattr(error, "may_have_succeeded", False):
            log.record(SubmissionSent(at=at, sha256=candidate.sha256, reference=""))
        raise
    failpoint("submission-taken")
    if reference:  # else uncertain until reconciled
        log.record(SubmissionSent(at=at, sha256=candidate.sha256, reference=reference))


def _described(submitted: Candidate | SubmittedFile) -> str:
    if isinstance(submitted, Candidate):
        return f"CoMind {submitted.campaign} {submitted.attempt}"
    return f"CoMind {submitted.name}"


def reconcile_submissions(log: FollowingLog, kaggle: Kaggle, slug: str, at: datetime) -> None:
    """Look up the outcome of uncertain and unscored submissions in Kaggle's list.

    After the end of the competition, private scores as well, until all are known.
    """
    observation = log.state.observation
    over = observation is not None and observation.is_over
    waiting = log.state.without_private if over else ()
    if log.state.uncertain is None and not log.state.pending and not waiting:
        return
    listed = list(paginate(partial(kaggle.submissions, slug), chunks=_MAX_PAGES))
    uncertain = log.state.uncertain
    if uncertain is not None:
        found = (each.ref for each in listed if each.description == uncertain.message)
        sha256 = uncertain.candidate.sha256
        log.record(SubmissionSent(at=at, sha256=sha256, reference=next(found, "")))
    known = {each.ref: each for each in listed}
    for each in log.state.pending:
        facts = known.get(each.reference or "")
        if facts is not None and facts.status != "pending":
            log.record(_scored(facts, at))
    for each in waiting:
        facts = known.get(each.reference or "")
        if facts is not None and parse_score(facts.private_score) is not None:
            log.record(_scored(facts, at))


def wait_for_scores(
    log: FollowingLog, kaggle: Kaggle, slug: str, clock: Clock, *, seconds: float, every: float
) -> None:
    """Poll until everything has a score, or until the timeout of `seconds`; the next day polls again."""
    for _ in range(1 + math.floor(seconds / every)):
        reconcile_submissions(log, kaggle, slug, clock.now())
        if not log.state.pending:
            return
        clock.sleep(every)


def leaderboard_standing(
    score: float,
    rows: Iterable[LeaderboardRow],
    at: datetime,
    *,
    maximize: bool,
    final: bool = False,
) -> StandingRecorded | None:
    """Return the rank of a score, ties sharing the better one; None for an empty leaderboard."""
    scores = [value for row in rows if (value := parse_score(row.score)) is not None]
    if not scores:
        return None
    better = sum(other > score if maximize else other < score for other in scores)
    return StandingRecorded(
        at=at,
        score=score,
        rank=better + 1,
        teams=max(len(scores), better + 1),
        final=final,
        thresholds=Leaderboard(scores, maximize=maximize).thresholds,
    )


def _scored(facts: SubmissionFacts, at: datetime) -> SubmissionScored:
    return SubmissionScored(
        at=at,
        reference=facts.ref,
        public_score=parse_score(facts.public_score),
        private_score=parse_score(facts.private_score),
        error=(facts.error or "it was rejected") if facts.status == "error" else "",
    )
