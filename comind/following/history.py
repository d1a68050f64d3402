"""Group the log of a followed competition by day, and report it as Markdown."""

from collections.abc import Iterable, Iterator
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
    SubmissionStarted,
)
from comind.following.state import Following, SubmissionRecord, following_log_path

__all__ = [
    "DayHistory",
    "dated_notice",
    "followed_competitions",
    "history_report",
    "line_of",
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


def history_report(slug: str, state: Following, days: Iterable[DayHistory]) -> str:
    """Return status and history as Markdown, the newest day first."""
    lines = [f"# {slug}", "", *_status_lines(state), ""]
    for day in sorted(days, key=lambda each: each.day, reverse=True):
        events = filter(None, map(line_of, day.events))
        lines += [f"## {day.day}", "", *(f"- {line}" for line in events), ""]
    return "\n".join(lines)


def _status_lines(state: Following) -> Iterator[str]:
    seen = state.observation
    if seen is None:
        yield "Nothing was fetched yet."
        return
    yield f"- deadline: {_deadline(seen)}"
    yield f"- teams: {seen.teams}"
    if not seen.is_over:
        yield f"- submissions left today: {seen.submissions_left}"
    if state.candidate is not None:
        yield f"- candidate: {_name(state.candidate)}, {state.candidate.validation}"
    if state.standing is not None:
        yield f"- {_standing(state.standing)}"
        yield from _medals(state.standing)
    seconds = sum(each.seconds for each in state.ended)
    yield f"- spent: {seconds / 60:.0f} minutes, ${sum(each.usd for each in state.ended):.2f}"
    decision = state.decision
    if decision is not None and decision.verdict == "ask":
        yield f"- waits for you: {decision.reason}"
    yield from _submission_table(state)


def _deadline(seen: CompetitionObserved) -> str:
    if seen.deadline is None:
        return "none"
    left = "over" if seen.is_over else f"in {(seen.deadline - seen.at).days} days"
    return f"{seen.deadline:%Y-%m-%d %H:%M %Z}, {left}"


def _medals(standing: StandingRecorded) -> Iterator[str]:
    """Yield the scores that earn a medal on the leaderboard of that day, and the distance to them."""
    if standing.thresholds is None:
        return
    zones = {name: getattr(standing.thresholds, name) for name in ("gold", "silver", "bronze")}
    parts = [f"{name} {score:g} ({standing.score - score:+.4g})" for name, score in zones.items()]
    yield f"- medals as of {standing.at:%Y-%m-%d}, and our score minus theirs: {', '.join(parts)}"


def _submission_table(state: Following) -> Iterator[str]:
    """Yield the submissions with their scores and, before the deadline, the two to select."""
    if not state.submissions:
        return
    yield from ("", "| submission | validation | public | private |", "|---|---|---|---|")
    for each in state.submissions:
        scored = each.scored
        public = _cell(scored.public_score if scored else None)
        private = _cell(scored.private_score if scored else None)
        yield f"| {_name(each.candidate)} | {each.candidate.validation} | {public} | {private} |"
    yield ""
    if state.observation is not None and not state.observation.is_over:
        yield from _selection(state)


def _selection(state: Following) -> Iterator[str]:
    """Yield the two submissions to select: the best by validation, and the best by public score."""
    valid = [each for each in state.submissions if each.scored and not each.scored.error]
    if not valid:
        return
    maximize = valid[0].candidate.validation.value.maximize
    sign = 1.0 if maximize else -1.0
    best = max(valid, key=lambda each: each.candidate.validation.value.signed)
    public = [each for each in valid if each.scored and each.scored.public_score is not None]
    first = max(public, key=lambda each: sign * _public(each), default=best)
    others = [each for each in public if each is not best]
    second = max(others, key=lambda each: sign * _public(each), default=None)
    if first is not best:
        by_both = f"{_name(best.candidate)} is the best by validation, {_name(first.candidate)} by"
        yield f"- validation and public score disagree: {by_both} public score"
    chosen = f"{_name(best.candidate)}, the best by validation"
    if second is not None:
        chosen += f", and {_name(second.candidate)}, the best of the others by public score"
    yield f"- select for the end: {chosen}"


def _public(submission: SubmissionRecord) -> float:
    assert submission.scored is not None
    assert submission.scored.public_score is not None
    return submission.scored.public_score


def _cell(score: float | None) -> str:
    return "" if score is None else f"{score:g}"


def line_of(event: FollowingEvent) -> str:
    """Return an event in one line; empty for one that another event completes."""
    match event:
        case CompetitionObserved():
            community = f"{event.notebooks} notebooks, {event.discussions} discussions"
            return f"fetched: {event.new_items} new items ({community}), {event.teams} teams"
        case NoticeRecorded():
            return f"{event.kind}: {event.text}"
        case SliceStarted():
            return f"runs: {event.campaign}, for {event.seconds / 60:.0f} minutes"
        case SliceEnded(candidate=best):
            found = f"best {_name(best)}, {best.validation}" if best else "no result"
            spent = f"{event.seconds / 60:.0f} minutes, ${event.usd:.2f}"
            return f"tried: {event.campaign}, {spent}, {event.attempts} attempts so far; {found}"
        case SubmissionApproved():
            return f"approved: {event.sha256[:12] or 'the rules'}"
        case SubmissionDecided(candidate=candidate):
            what = f"{_name(candidate)}: " if candidate else ""
            return f"decided: {event.verdict}: {what}{event.reason}"
        case _:
            return _submission_line(event)


def _submission_line(event: FollowingEvent) -> str:
    match event:
        case SubmissionStarted(candidate=candidate):
            return f"sent: {_name(candidate)}, {candidate.validation}"
        case SubmissionSent(reference=""):
            return "not accepted: Kaggle has no such submission"
        case SubmissionScored():
            return f"scored: {_score(event)}"
        case StandingRecorded():
            return _standing(event)
        case _:
            return ""


def _name(candidate: Candidate) -> str:
    return f"{candidate.attempt} ({candidate.sha256[:12]})"


def _score(scored: SubmissionScored) -> str:
    if scored.error:
        return f"rejected: {scored.error}"
    public, private = scored.public_score, scored.private_score
    both = [("public", public), ("private", private)]
    return ", ".join(f"{kind} {value:g}" for kind, value in both if value is not None) or "hidden"


def _standing(standing: StandingRecorded) -> str:
    place = f"rank {standing.rank} of {standing.teams}, percentile {standing.percentile:.0f}"
    return f"{'final, private' if standing.final else 'public'} {standing.score:g}: {place}"
