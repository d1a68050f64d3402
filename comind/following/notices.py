"""What has changed since the last look, in words for people."""

from collections.abc import Iterator
from datetime import timedelta

from comind.following.events import CompetitionObserved, NoticeKind, NoticeRecorded

__all__ = ["notices_of"]

_WARNINGS = (1, 7)  # days before the deadline, the nearest first


def notices_of(before: CompetitionObserved | None, now: CompetitionObserved) -> list[NoticeRecorded]:
    """Return what a person should know of the newest look; nothing that was said before."""
    return [NoticeRecorded(at=now.at, kind=kind, text=text) for kind, text in _changes(before, now)]


def _changes(
    before: CompetitionObserved | None, now: CompetitionObserved
) -> Iterator[tuple[NoticeKind, str]]:
    if before is not None and before.deadline != now.deadline:
        yield "deadline", f"the deadline has moved: {_moment(before)}, now {_moment(now)}"
    days = _days_left(now)
    if days is not None and (before is None or days != _days_left(before)):
        yield "deadline", f"the deadline is near: {_moment(now)}"
    told = before is not None and before.is_over and before.deadline == now.deadline
    if now.is_over and not told:
        yield "deadline", f"the deadline has passed ({_moment(now)}); nothing more is handed in"
    if before is not None and before.rules_sha256 != now.rules_sha256:
        yield "rules", "the rules have changed; nothing is handed in before you agree: --allow rules"
    if before is not None and before.data_sha256 != now.data_sha256:
        yield "data", "the data were released anew; a new campaign begins on them"
    if now.closed and (before is None or before.closed != now.closed):
        yield "closed", now.closed


def _days_left(look: CompetitionObserved) -> int | None:
    """Return which of the warnings before the deadline a look calls for; None for none."""
    if look.deadline is None or look.is_over:
        return None
    left = look.deadline - look.at
    return next((days for days in _WARNINGS if left <= timedelta(days=days)), None)


def _moment(look: CompetitionObserved) -> str:
    return "none" if look.deadline is None else f"{look.deadline:%Y-%m-%d %H:%M %Z}"
