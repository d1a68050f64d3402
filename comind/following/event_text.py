"""Describe the events of a followed competition, for its history and the program's log."""

from collections.abc import Mapping
from typing import Any

from comind.following.events import (
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
from comind.system.plurals import quantity


def line_of(event: FollowingEvent) -> str:
    """Return an event in one line; empty for one that another event completes."""
    match event:
        case CompetitionObserved():
            notebooks = quantity(event.notebooks, "notebook")
            community = f"{notebooks}, {quantity(event.discussions, 'discussion')}"
            found = f"{quantity(event.new_items, 'new item')} ({community})"
            return f"fetched: {found}, {quantity(event.teams, 'team')}"
        case NoticeRecorded():
            return f"{event.subject}: {event.text}"
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
            validation = f", {candidate.validation}" if isinstance(candidate, Candidate) else ""
            return f"sent: {name_of(candidate)}{validation}"
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


def name_of(submitted: Candidate | SubmittedFile) -> str:
    """Return the attempt, or the name, and the hash of a file."""
    name = submitted.attempt if isinstance(submitted, Candidate) else submitted.name
    return f"{name} ({submitted.sha256[:12]})"


def _score(scored: SubmissionScored) -> str:
    if scored.error:
        return f"rejected: {scored.error}"
    public, private = scored.public_score, scored.private_score
    both = [("public", public), ("private", private)]
    return ", ".join(f"{half} {value:g}" for half, value in both if value is not None) or "hidden"


def describe_submission(values: Mapping[str, Any]) -> str:
    """Return a submission as `submissions_of` has it in one line."""
    scores = [
        f"{half} {values[f'{half}_score']:g}"
        for half in ("public", "private")
        if values[f"{half}_score"] is not None
    ]
    found = ", ".join(scores) or values["reason"] or values["status"]
    return f"{values['submitted_at'][:10]} {values['competition']}, {values['sha256'][:12]}: {found}"


def describe_standing(standing: StandingRecorded) -> str:
    """Return score, rank and percentile in one line."""
    place = f"rank {standing.rank} of {standing.teams}, percentile {standing.percentile:.0f}"
    return f"{'final, private' if standing.final else 'public'} {standing.score:g}: {place}"
