"""Hand in, once, and learn what came of it.

Sending ──► request ──► Sent(reference) ──► listed as complete or broken ──► Scored
               └─ killed, or no answer: the list of submissions tells whether it was taken
"""

import math
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from pathlib import Path

from comind.errors import CampaignError, KaggleBusyError, KaggleRefusedError
from comind.following.events import Candidate, Scored, Sending, Sent, StandingRecorded
from comind.following.journal import FollowingLog
from comind.kaggle.port import Kaggle, LeaderboardRow, SubmissionFacts, parse_score
from comind.kaggle.rate_limit import paginate
from comind.system.failpoints import failpoint
from comind.system.files import hash_file
from comind.system.timing import Clock

__all__ = ["hand_in", "settle", "standing", "wait_for_scores"]

_CHUNKS = 10  # of the list of submissions; ours are among the newest


def hand_in(
    log: FollowingLog, kaggle: Kaggle, slug: str, candidate: Candidate, file: Path, at: datetime
) -> None:
    """Hand in a candidate's file.

    Raises:
        CampaignError: the file is not what was decided on.
        KaggleRefusedError: it is not taken.
        KaggleBusyError: there was no answer; if it may have been taken, `settle` will tell.
    """
    if hash_file(file) != candidate.sha256:
        raise CampaignError(f"{file} was changed after it was graded")
    message = f"CoMind {candidate.campaign} {candidate.attempt} {candidate.sha256[:12]}"
    log.record(Sending(at=at, candidate=candidate, message=message))
    failpoint("submission-sending")
    try:
        reference = kaggle.submit(slug, file, message)
    except (KaggleRefusedError, KaggleBusyError) as error:
        if not getattr(error, "perhaps_done", False):
            log.record(Sent(at=at, sha256=candidate.sha256, reference=""))
        raise
    failpoint("submission-taken")
    if reference:  # else it is uncertain until the list of submissions tells
        log.record(Sent(at=at, sha256=candidate.sha256, reference=reference))


def settle(log: FollowingLog, kaggle: Kaggle, slug: str, at: datetime) -> None:
    """Learn what became of what was handed in and has no score, and of what perhaps was handed in."""
    if log.state.uncertain is None and not log.state.pending:
        return
    listed = list(paginate(partial(kaggle.submissions, slug), chunks=_CHUNKS))
    uncertain = log.state.uncertain
    if uncertain is not None:
        found = (each.ref for each in listed if each.description == uncertain.message)
        sha256 = uncertain.candidate.sha256
        log.record(Sent(at=at, sha256=sha256, reference=next(found, "")))
    known = {each.ref: each for each in listed}
    for each in log.state.pending:
        facts = known.get(each.reference or "")
        if facts is not None and facts.status != "pending":
            log.record(_scored(facts, at))


def wait_for_scores(
    log: FollowingLog, kaggle: Kaggle, slug: str, clock: Clock, *, seconds: float, every: float
) -> None:
    """Ask until everything has a score, but for no longer than `seconds`; the next day asks again."""
    for _ in range(1 + math.floor(seconds / every)):
        settle(log, kaggle, slug, clock.now())
        if not log.state.pending:
            return
        clock.sleep(every)


def standing(
    score: float, rows: Iterable[LeaderboardRow], at: datetime, *, maximize: bool
) -> StandingRecorded | None:
    """Return where a public score stands; equal scores share the better rank. None on an empty board."""
    scores = [value for row in rows if (value := parse_score(row.score)) is not None]
    if not scores:
        return None
    better = sum(other > score if maximize else other < score for other in scores)
    return StandingRecorded(
        at=at, public_score=score, rank=better + 1, teams=max(len(scores), better + 1)
    )


def _scored(facts: SubmissionFacts, at: datetime) -> Scored:
    return Scored(
        at=at,
        reference=facts.ref,
        public_score=parse_score(facts.public_score),
        private_score=parse_score(facts.private_score),
        error=(facts.error or "it was refused") if facts.status == "error" else "",
    )
