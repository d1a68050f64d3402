"""Report on a followed competition: status, submissions, what to select, and each day's events."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from comind.domain.community import ItemOutcome
from comind.following.event_text import describe_standing, line_of, name_of
from comind.following.events import (
    Candidate,
    CompetitionObserved,
    FollowingEvent,
    SliceEnded,
    StandingRecorded,
)
from comind.following.final_selection import public_order, valid_submissions
from comind.following.history import DayHistory
from comind.following.state import Following, SubmissionRecord
from comind.reporting.paper_figures import Curve
from comind.reporting.sections import ReportList, ReportPart, ReportSection, ReportTable
from comind.system.plurals import quantity


def following_sections(state: Following, days: Iterable[DayHistory]) -> list[ReportSection]:
    """Return the status, the submissions, and a section for each day, the newest first."""
    seen: set[tuple[str, str]] = set()
    by_day = [
        ReportSection(str(day.day), [ReportList(list(_day_lines(day.events, seen)))])
        for day in sorted(days, key=lambda each: each.day)
    ]
    return [ReportSection("", list(_status(state))), *reversed(by_day)]


def score_curves(days: Iterable[DayHistory]) -> list[Curve]:
    """Return the validation scores of candidates, and the best public score, over time."""
    validation, public = list[tuple[datetime, float]](), list[tuple[datetime, float]]()
    for event in (event for day in days for event in day.events):
        if isinstance(event, SliceEnded) and event.candidate is not None:
            validation.append((event.at, event.candidate.validation.value.value))
        elif isinstance(event, StandingRecorded) and not event.final:
            public.append((event.at, event.score))
    curves = [Curve("validation", validation), Curve("public, best so far", public)]
    return [each for each in curves if each.points]


def _day_lines(events: Iterable[FollowingEvent], seen: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a day; items that are not in `seen` are new, and are added to it."""
    for event in events:
        if line := line_of(event):
            yield line
        for item in event.items if isinstance(event, SliceEnded) else ():
            key = (item.item_type, item.name)
            yield from _item_lines(item, new=key not in seen)
            seen.add(key)


def _item_lines(item: ItemOutcome, *, new: bool) -> Iterator[str]:
    if new:
        about = f": {item.summary}" if item.summary else ""
        yield f"new {item.item_type} {item.name}, {item.title}{about}"
    if item.attempts:
        best = "" if item.best is None else f", best validation {item.best:.5g}"
        yield f"used {item.item_type} {item.name}, by {', '.join(item.attempts)}{best}"


def _status(state: Following) -> Iterator[ReportPart]:
    seen = state.observation
    if seen is None:
        yield "Nothing was fetched yet."
        if state.submissions:
            yield _submission_table(state.submissions)
        return
    yield ReportList(list(_status_lines(state, seen)))
    if state.submissions:
        yield _submission_table(state.submissions)
        if not seen.is_over and (selection := list(_selection(state))):
            yield ReportList(selection)


def _status_lines(state: Following, seen: CompetitionObserved) -> Iterator[str]:
    yield f"deadline: {_deadline(seen)}"
    yield f"teams: {seen.teams}"
    if not seen.is_over:
        yield f"submissions left on {seen.at.astimezone(UTC):%Y-%m-%d}: {state.submissions_left}"
    if state.candidate is not None:
        yield f"candidate: {name_of(state.candidate)}, {state.candidate.validation}"
    if state.standing is not None:
        yield describe_standing(state.standing)
        yield from _medals(state.standing)
    minutes = round(sum(each.seconds for each in state.ended) / 60)
    yield f"spent: {quantity(minutes, 'minute')}, ${sum(each.usd for each in state.ended):.2f}"
    decision = state.decision
    if decision is not None and decision.verdict == "ask":
        yield f"waits for you: {decision.reason}"


def _deadline(seen: CompetitionObserved) -> str:
    if seen.deadline is None:
        return "none"
    left = "over" if seen.is_over else f"in {quantity((seen.deadline - seen.at).days, 'day')}"
    return f"{seen.deadline:%Y-%m-%d %H:%M %Z}, {left}"


def _medals(standing: StandingRecorded) -> Iterator[str]:
    """Yield the scores that earn a medal on the leaderboard of that day, and the distance to them."""
    if standing.thresholds is None:
        return
    zones = {name: getattr(standing.thresholds, name) for name in ("gold", "silver", "bronze")}
    parts = [f"{name} {score:g} ({standing.score - score:+.4g})" for name, score in zones.items()]
    yield f"medals as of {standing.at:%Y-%m-%d}, and our score minus theirs: {', '.join(parts)}"


def _submission_table(submissions: Iterable[SubmissionRecord]) -> ReportTable:
    rows = []
    for each in submissions:
        public = _cell(each.scored.public_score if each.scored else None)
        private = _cell(each.scored.private_score if each.scored else None)
        day = f"{each.at:%Y-%m-%d}"
        validation = str(each.candidate.validation) if isinstance(each.candidate, Candidate) else ""
        rows.append([name_of(each.candidate), day, validation, public, private])
    return ReportTable(["submission", "sent", "validation", "public", "private"], rows, left=3)


def _selection(state: Following) -> Iterator[str]:
    """Yield which submissions to select, and a warning where the scores name different ones."""
    chosen = state.selection
    if chosen is None:
        return
    judged = valid_submissions(state.submissions)
    public = [each for each in judged if each.scored.public_score is not None]
    best = max(public, key=public_order, default=None)
    if best is not None and best.candidate.sha256 != chosen.first.sha256:
        names = f"{name_of(chosen.first)} is the best by validation, {name_of(best.candidate)} by"
        yield f"validation and public score disagree: {names} public score"
    text = f"{name_of(chosen.first)}, the best by validation"
    if chosen.second is not None and chosen.correlation is not None:
        why = f"whose errors correlate least with those of the first ({chosen.correlation:g})"
        text += f", and {name_of(chosen.second)}, {why}"
    elif chosen.second is not None:
        text += f", and {name_of(chosen.second)}, the best of the others by public score"
    yield f"select for the end: {text}"


def _cell(score: float | None) -> str:
    return "" if score is None else f"{score:g}"
