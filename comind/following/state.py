"""What the days so far amount to."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from comind.eventlog.log import Record
from comind.eventlog.store import LogSchema
from comind.following.events import (
    FOLLOWING_EVENTS,
    Candidate,
    CompetitionObserved,
    FollowingEvent,
    NoticeRecorded,
    Scored,
    Sending,
    Sent,
    SliceEnded,
    SliceStarted,
    StandingRecorded,
    SubmissionApproved,
    SubmissionDecided,
)

__all__ = ["FOLLOWING_LOG", "Following", "SubmissionHandedIn", "apply"]


@dataclass(frozen=True, slots=True)
class SubmissionHandedIn:
    """One submission; `reference` is None while nobody knows whether it was taken."""

    candidate: Candidate
    message: str
    reference: str | None = None
    scored: Scored | None = None


@dataclass(frozen=True, slots=True)
class Following:
    """Everything that the next day may look at; made by `apply` alone."""

    looked: CompetitionObserved | None = None
    """The last look."""
    begun: SliceStarted | None = None
    """The slice that is going on or, if a candidate is known, the last one."""
    going_on: bool = False
    """Whether a slice was begun and has not ended."""
    ended: tuple[SliceEnded, ...] = ()
    started: tuple[datetime, ...] = ()
    """When each of these slices was begun."""
    decided: SubmissionDecided | None = None
    handed: tuple[SubmissionHandedIn, ...] = ()
    """Oldest first; what turned out not to be taken is left out."""
    allowed: frozenset[str] = frozenset()
    """Files that a person has agreed to."""
    rules: str = ""
    """Hash of the rules as they were first seen, or as a person has last agreed to them."""
    stood: StandingRecorded | None = None
    notices: tuple[NoticeRecorded, ...] = ()

    @property
    def candidate(self) -> Candidate | None:
        """What the last slice would hand in."""
        return self.ended[-1].candidate if self.ended else None

    @property
    def agreed(self) -> Candidate | None:
        """What a person has agreed to and was not handed in yet, the newest first."""
        handed = {each.candidate.sha256 for each in self.handed}
        found = (each.candidate for each in reversed(self.ended) if each.candidate is not None)
        return next((c for c in found if c.sha256 in self.allowed - handed), None)

    @property
    def uncertain(self) -> SubmissionHandedIn | None:
        """What was perhaps handed in when we were killed."""
        return next((each for each in self.handed if each.reference is None), None)

    @property
    def pending(self) -> tuple[SubmissionHandedIn, ...]:
        """What was handed in and has no score yet."""
        return tuple(each for each in self.handed if each.reference and each.scored is None)

    @property
    def last_taken(self) -> Candidate | None:
        """What was handed in last, where it was not refused as broken."""
        taken = (each for each in reversed(self.handed) if not (each.scored and each.scored.error))
        return next((each.candidate for each in taken), None)

    def campaign_on(self, data_sha256: str) -> str | None:
        """Return the campaign that works on these data; None where there is none yet."""
        same = self.begun is not None and self.begun.data_sha256 == data_sha256
        return self.begun.campaign if same and self.begun else None

    def spent_on(self, day: date) -> tuple[float, float]:
        """Return seconds and dollars of the slices that were begun on a day (UTC)."""
        pairs = zip(self.started, self.ended, strict=True)
        slices = [ended for began, ended in pairs if began.astimezone(UTC).date() == day]
        return sum(each.seconds for each in slices), sum(each.usd for each in slices)

    def best_public(self, *, maximize: bool) -> float | None:
        """Return the best of our public scores."""
        scores = [
            each.scored.public_score
            for each in self.handed
            if each.scored is not None and each.scored.public_score is not None
        ]
        return (max if maximize else min)(scores, default=None)


def apply(state: Following, record: Record[FollowingEvent]) -> Following:
    """Return the state after one more record."""
    match record.event:
        case CompetitionObserved() as looked:
            return replace(state, looked=looked, rules=state.rules or looked.rules_sha256)
        case NoticeRecorded() as notice:
            return replace(state, notices=(*state.notices, notice))
        case SliceStarted() as begun:
            return replace(state, begun=begun, going_on=True)
        case SliceEnded() as ended:
            started = state.begun.at if state.begun else ended.at
            return replace(
                state,
                ended=(*state.ended, ended),
                started=(*state.started, started),
                going_on=False,
            )
        case SubmissionDecided() as decided:
            return replace(state, decided=decided)
        case SubmissionApproved(sha256=sha256, rules_sha256=rules):
            return replace(state, allowed=state.allowed | {sha256}, rules=rules or state.rules)
        case StandingRecorded() as stood:
            return replace(state, stood=stood)
        case Sending() | Sent() | Scored() as step:
            return replace(state, handed=tuple(_handed(state.handed, step)))


FOLLOWING_LOG = LogSchema(FOLLOWING_EVENTS, Following(), apply)


def _handed(
    handed: tuple[SubmissionHandedIn, ...], step: Sending | Sent | Scored
) -> Iterator[SubmissionHandedIn]:
    for each in handed:
        match step:
            case Sent(sha256=sha256, reference=reference):
                if each.reference is not None or each.candidate.sha256 != sha256:
                    yield each
                elif reference:
                    yield replace(each, reference=reference)
            case Scored(reference=reference) as scored if each.reference == reference:
                yield replace(each, scored=scored)
            case _:
                yield each
    if isinstance(step, Sending):
        yield SubmissionHandedIn(step.candidate, step.message)
