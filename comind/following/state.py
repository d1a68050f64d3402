"""Log of a followed competition, and the state it folds to."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from comind.domain.community import ItemOutcome
from comind.eventlog.log import Record
from comind.eventlog.store import EventStore, LogSchema
from comind.following.event_text import line_of
from comind.following.events import (
    FOLLOWING_EVENTS,
    Candidate,
    CompetitionObserved,
    FollowingEvent,
    NoticeRecorded,
    SliceEnded,
    SliceStarted,
    StandingRecorded,
    SubmissionApproved,
    SubmissionDecided,
    SubmissionScored,
    SubmissionSent,
    SubmissionsSelected,
    SubmissionStarted,
    SubmittedFile,
)

_log = logging.getLogger(__name__)
_SELECTED = 2  # submissions that count at the end


@dataclass(frozen=True, slots=True)
class SubmissionRecord:
    """One submission; `reference` is None while it is unknown whether Kaggle accepted it."""

    candidate: Candidate | SubmittedFile
    message: str
    at: datetime
    reference: str | None = None
    scored: SubmissionScored | None = None
    file_sha256: str = ""
    """Of the file sent."""


@dataclass(frozen=True, slots=True)
class Following:
    """State of a followed competition; made by the reducer of `FOLLOWING_LOG` alone."""

    observation: CompetitionObserved | None = None
    """The last observation."""
    first_observed: datetime | None = None
    last_slice: SliceStarted | None = None
    """The running slice, or the last one."""
    slice_running: bool = False
    """Whether a slice was started and has not ended."""
    ended: tuple[SliceEnded, ...] = ()
    starts: tuple[datetime, ...] = ()
    """Start of each of these slices."""
    decision: SubmissionDecided | None = None
    submissions: tuple[SubmissionRecord, ...] = ()
    """Oldest first, without those that Kaggle turned out not to have accepted."""
    approved: frozenset[str] = frozenset()
    """Hashes of files that the user approved."""
    rules: str = ""
    """Hash of the rules as first observed, or as last approved by the user."""
    standing: StandingRecorded | None = None
    selection: SubmissionsSelected | None = None
    notices: tuple[NoticeRecorded, ...] = ()

    @property
    def candidate(self) -> Candidate | None:
        """The candidate of the last slice."""
        return self.ended[-1].candidate if self.ended else None

    @property
    def approved_candidate(self) -> Candidate | None:
        """The newest candidate that the user approved and that was not submitted yet."""
        submitted = {each.candidate.sha256 for each in self.submissions}
        found = (each.candidate for each in reversed(self.ended) if each.candidate is not None)
        return next((c for c in found if c.sha256 in self.approved - submitted), None)

    @property
    def uncertain(self) -> SubmissionRecord | None:
        """A submission that was interrupted, so that Kaggle may have accepted it."""
        return next((each for each in self.submissions if each.reference is None), None)

    @property
    def pending(self) -> tuple[SubmissionRecord, ...]:
        """Accepted submissions without a score."""
        return tuple(each for each in self.submissions if each.reference and each.scored is None)

    @property
    def without_private(self) -> tuple[SubmissionRecord, ...]:
        """Scored submissions whose private score is not known."""
        return tuple(
            each
            for each in self.submissions
            if each.scored and not each.scored.error and each.scored.private_score is None
        )

    @property
    def submissions_left(self) -> int:
        """Files that may still be sent on the day of the last observation, as Kaggle counts them.

        A file that Kaggle rejects does not count.
        """
        seen = self.observation
        if seen is None:
            return 0
        since = [each for each in self.submissions if each.at >= seen.at]
        taken = sum(1 for each in since if not (each.scored and each.scored.error))
        return max(0, seen.submissions_left - taken)

    @property
    def last_submitted(self) -> Candidate | None:
        """The last candidate submitted, unless Kaggle rejected it as invalid."""
        taken = (each for each in reversed(self.submissions) if not (each.scored and each.scored.error))
        return next((each.candidate for each in taken if isinstance(each.candidate, Candidate)), None)

    @property
    def items(self) -> dict[tuple[str, str, str], ItemOutcome]:
        """Community items with their attempts, by campaign, kind and name."""
        return {
            (ended.campaign, each.item_type, each.name): each
            for ended in self.ended
            for each in ended.items
        }

    def submission_of(
        self, candidate: Candidate | SubmittedFile, file_sha256: str
    ) -> SubmissionRecord | None:
        """Return the last submission of a candidate, or of the same file by any command."""
        return next(
            (
                each
                for each in reversed(self.submissions)
                if each.candidate.sha256 == candidate.sha256 or each.file_sha256 == file_sha256
            ),
            None,
        )

    def submitted_on(self, day: date) -> int:
        """Return the number of submissions of a day (UTC)."""
        return sum(each.at.astimezone(UTC).date() == day for each in self.submissions)

    def campaign_on(self, data_sha256: str) -> str | None:
        """Return the campaign on these data; None if there is none yet."""
        same = self.last_slice is not None and self.last_slice.data_sha256 == data_sha256
        return self.last_slice.campaign if same and self.last_slice else None

    def spent_on(self, day: date) -> tuple[float, float]:
        """Return seconds and dollars of the slices that were started on a day (UTC)."""
        pairs = zip(self.starts, self.ended, strict=True)
        slices = [ended for began, ended in pairs if began.astimezone(UTC).date() == day]
        return sum(each.seconds for each in slices), sum(each.usd for each in slices)

    def final_score(self, *, maximize: bool) -> float | None:
        """Return the private score that counts: the better one of the two with the best public scores.

        These two are what Kaggle selects where a team has selected none. None without private scores.
        """
        pairs = [
            (each.scored.public_score, each.scored.private_score)
            for each in self.submissions
            if each.scored and each.scored.public_score is not None
        ]
        selected = sorted(pairs, key=lambda pair: pair[0] or 0.0, reverse=maximize)[:_SELECTED]
        private = [score for _, score in selected if score is not None]
        return (max if maximize else min)(private, default=None)

    def best_public(self, *, maximize: bool) -> float | None:
        """Return the best public score; None without any."""
        scores = [
            each.scored.public_score
            for each in self.submissions
            if each.scored is not None and each.scored.public_score is not None
        ]
        return (max if maximize else min)(scores, default=None)


_LAST: dict[type[FollowingEvent], str] = {
    SubmissionDecided: "decision",
    StandingRecorded: "standing",
    SubmissionsSelected: "selection",
}
"""Field of the state with the last event of a type."""


def _apply(state: Following, record: Record[FollowingEvent]) -> Following:
    """Return the state after an event."""
    match record.event:
        case CompetitionObserved() as observation:
            return replace(
                state,
                observation=observation,
                first_observed=state.first_observed or observation.at,
                rules=state.rules or observation.rules_sha256,
            )
        case NoticeRecorded() as notice:
            return replace(state, notices=(*state.notices, notice))
        case SliceStarted() as started:
            return replace(state, last_slice=started, slice_running=True)
        case SliceEnded() as ended:
            start = state.last_slice.at if state.last_slice else ended.at
            return replace(
                state,
                ended=(*state.ended, ended),
                starts=(*state.starts, start),
                slice_running=False,
            )
        case SubmissionApproved(sha256=sha256, rules_sha256=rules):
            return replace(state, approved=state.approved | {sha256}, rules=rules or state.rules)
        case SubmissionDecided() | StandingRecorded() | SubmissionsSelected() as last:
            changed: dict[str, Any] = {_LAST[type(last)]: last}
            return replace(state, **changed)
        case SubmissionStarted() | SubmissionSent() | SubmissionScored() as step:
            return replace(state, submissions=tuple(_updated(state.submissions, step)))


FOLLOWING_LOG = LogSchema(FOLLOWING_EVENTS, Following(), _apply)


def following_log_path(project: Path, slug: str) -> Path:
    """Return the path of a competition's log in `project`."""
    return project / "runs" / "following" / slug / "log.jsonl"


def read_following(project: Path, slug: str) -> Following:
    """Read the state without locking the log.

    Raises:
        LogError: the log is corrupt.
    """
    return FOLLOWING_LOG.read(following_log_path(project, slug))


class FollowingLog(EventStore[Following, FollowingEvent]):
    """Exclusive writer of the log; a context manager."""

    def __init__(self, project: Path, slug: str) -> None:
        """Open the log, or create it.

        Raises:
            CampaignError: another process follows this competition here.
            LogError: the log is corrupt.
        """
        super().__init__(following_log_path(project, slug), FOLLOWING_LOG)
        self._slug = slug

    def record(self, event: FollowingEvent) -> Following:
        """Append `event`, log it, and return the state after it."""
        state = super().record(event)
        if line := line_of(event):
            _log.info("%s: %s", self._slug, line)
        return state


def _updated(
    submissions: tuple[SubmissionRecord, ...],
    step: SubmissionStarted | SubmissionSent | SubmissionScored,
) -> Iterator[SubmissionRecord]:
    for each in submissions:
        match step:
            case SubmissionSent(sha256=sha256, reference=reference):
                if each.reference is not None or each.candidate.sha256 != sha256:
                    yield each
                elif reference:
                    yield replace(each, reference=reference)
            case SubmissionScored(reference=reference) as scored if each.reference == reference:
                yield replace(each, scored=scored)
            case _:
                yield each
    if isinstance(step, SubmissionStarted):
        sent = step.file_sha256 or step.candidate.sha256
        yield SubmissionRecord(step.candidate, step.message, step.at, file_sha256=sent)
