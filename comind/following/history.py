"""Group the log of a followed competition by day."""

from datetime import UTC, date
from pathlib import Path
from typing import NamedTuple

from comind.eventlog.log import LogTail
from comind.following.events import FOLLOWING_EVENTS, FollowingEvent, NoticeRecorded
from comind.following.state import Following, following_log_path


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
