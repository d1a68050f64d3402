"""Group the log of a followed competition by day, and describe each event in one line."""

from datetime import UTC, date
from pathlib import Path
from typing import NamedTuple

from comind.eventlog.log import LogTail
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
)
from comind.following.state import Following, following_log_path
from comind.system.plurals import quantity

__all__ = [
    "DayHistory",
    "dated_notice",
    "describe_standing",
    "followed_competitions",
    "line_of",
    "name_of",
    "read_days",
    "todays_notices",
]


class DayHistory(NamedTuple):
    """Events of one day (UTC, by the server's clock), in order of time."""

    day: date
    events: tuple[FollowingEvent, ...]


def read_days(project: Path, slug: str) -> list[DayHistory]:
    """Return the days on which something was logged, oldest first, without locking the log.

    Raises:
        LogError: the log is corrupt.
    """
    log = LogTail(following_log_path(project, slug), FOLLOWING_EVENTS)
    days: dict[date, list[FollowingEvent]] = {}
    for record in log.read():
        days.setdefault(record.event.at.astimezone(UTC).date(), []).append(record.event)
    return [DayHistory(day, tuple(days[day])) for day in sorted(days)]


def followed_competitions(project: Path) -> list[str]:
    """Return the names of the competitions that have a log in `project`, sorted."""
    place = following_log_path(project, "any").parent.parent
    return sorted(log.parent.name for log in place.glob("*/log.jsonl"))


def todays_notices(state: Following) -> list[str]:
    """Return the notices of the last run, with their dates."""
    seen = state.observation
    last = (each for each in state.notices if seen is None or each.at >= seen.at)
    return [dated_notice(each) for each in last]


def dated_notice(notice: NoticeRecorded) -> str:
    """Return a notice in one line."""
    return f"{notice.at:%Y-%m-%d} {notice.kind}: {notice.text}"


def line_of(event: FollowingEvent) -> str:
    """Return an event in one line; empty for one that another event completes."""
    match event:
        case CompetitionObserved():
            notebooks = quantity(event.notebooks, "notebook")
            community = f"{notebooks}, {quantity(event.discussions, 'discussion')}"
            found = f"{quantity(event.new_items, 'new item')} ({community})"
            return f"fetched: {found}, {quantity(event.teams, 'team')}"
        case NoticeRecorded():
            return f"{event.kind}: {event.text}"
        case SliceStarted():
            return f"runs: {event.campaign}, for {quantity(round(event.seconds / 60), 'minute')}"
        case SliceEnded(candidate=best):
            found = f"best {name_of(best)}, {best.validation}" if best else "no result"
            spent = f"{quantity(round(event.seconds / 60), 'minute')}, ${event.usd:.2f}"
            attempts = f"{quantity(event.attempts, 'attempt')} so far"
            return f"tried: {event.campaign}, {spent}, {attempts}; {found}"
        case SubmissionApproved():
            return f"approved: {event.sha256[:12] or 'the rules'}"
        case SubmissionDecided(candidate=candidate):
            what = f"{name_of(candidate)}: " if candidate else ""
            return f"decided: {event.verdict}: {what}{event.reason}"
        case _:
            return _submission_line(event)


def _submission_line(event: FollowingEvent) -> str:
    match event:
        case SubmissionStarted(candidate=candidate):
            return f"sent: {name_of(candidate)}, {candidate.validation}"
        case SubmissionSent(reference=""):
            return "not accepted: Kaggle has no such submission"
        case SubmissionScored():
            return f"scored: {_score(event)}"
        case StandingRecorded():
            return describe_standing(event)
        case SubmissionsSelected(first=first, second=second):
            names = [name_of(each) for each in (first, second) if each is not None]
            return f"selected for the end: {' and '.join(names)}"
        case _:
            return ""


def name_of(candidate: Candidate) -> str:
    """Return the attempt and the hash of a candidate's file."""
    return f"{candidate.attempt} ({candidate.sha256[:12]})"


def _score(scored: SubmissionScored) -> str:
    if scored.error:
        return f"rejected: {scored.error}"
    public, private = scored.public_score, scored.private_score
    both = [("public", public), ("private", private)]
    return ", ".join(f"{kind} {value:g}" for kind, value in both if value is not None) or "hidden"


def describe_standing(standing: StandingRecorded) -> str:
    """Return score, rank and percentile in one line."""
    place = f"rank {standing.rank} of {standing.teams}, percentile {standing.percentile:.0f}"
    return f"{'final, private' if standing.final else 'public'} {standing.score:g}: {place}"
