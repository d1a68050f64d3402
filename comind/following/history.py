"""Group the log of a followed competition by day."""

from datetime import UTC, date
from pathlib import Path
from typing import Any, NamedTuple

from comind.eventlog.log import LogTail
from comind.following.events import FOLLOWING_EVENTS, Candidate, FollowingEvent, NoticeRecorded
from comind.following.state import Following, SubmissionRecord, following_log_path, read_following


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


def submissions_of(project: Path, campaign: str) -> list[dict[str, Any]]:
    """Return the submissions of a campaign for `--json`, oldest first.

    Raises:
        LogError: a log is corrupt.
    """
    return [
        submission_values(slug, each)
        for slug in followed_competitions(project)
        for each in read_following(project, slug).submissions
        if isinstance(each.candidate, Candidate) and each.candidate.campaign == campaign
    ]


def submission_values(slug: str, known: SubmissionRecord) -> dict[str, Any]:
    """Return a submission for `--json`."""
    what, scored = known.candidate, known.scored
    campaign = what if isinstance(what, Candidate) else None
    return {
        "campaign": campaign and campaign.campaign,
        "attempt": campaign and campaign.attempt,
        "competition": slug,
        "sha256": known.file_sha256,
        "message": known.message,
        "status": "pending" if scored is None else "error" if scored.error else "complete",
        "reason": scored.error if scored else "",
        "public_score": scored.public_score if scored else None,
        "private_score": scored.private_score if scored else None,
        "submitted_at": known.at.isoformat(),
        "reference": known.reference,
    }


def todays_notices(state: Following) -> list[str]:
    """Return the notices of the last run, with their dates."""
    seen = state.observation
    last = (each for each in state.notices if seen is None or each.at >= seen.at)
    return [dated_notice(each) for each in last]


def dated_notice(notice: NoticeRecorded) -> str:
    """Return a notice in one line."""
    return f"{notice.at:%Y-%m-%d} {notice.subject}: {notice.text}"
