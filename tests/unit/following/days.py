"""Helpers: logs of a followed competition."""

from datetime import UTC, datetime, timedelta
from typing import Any

from comind.domain.metric import Interval, MetricValue, ValidationScore
from comind.eventlog.log import Record
from comind.following.events import (
    Candidate,
    CompetitionObserved,
    FollowingEvent,
    SliceEnded,
    SliceStarted,
    SubmissionScored,
    SubmissionSent,
    SubmissionStarted,
)
from comind.following.state import FOLLOWING_LOG, Following

START = datetime(2024, 3, 1, 12, tzinfo=UTC)


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def observation(number: int = 0, **changes: Any) -> CompetitionObserved:
    given: dict[str, Any] = {
        "at": day(number),
        "deadline": day(30),
        "rules_sha256": "rules",
        "data_sha256": "data",
        "community_sha256": f"community-{number}",
        "leaderboard_sha256": f"leaderboard-{number}",
        "notebooks": 3,
        "discussions": 2,
        "new_items": 1,
        "teams": 100,
        "submissions_left": 5,
    }
    return CompetitionObserved.model_validate(given | changes)


def candidate(name: str = "a", value: float = 0.8) -> Candidate:
    score = ValidationScore(
        metric="accuracy",
        value=MetricValue(value=value, maximize=True),
        interval=Interval(low=value - 0.05, high=value + 0.05),
        rows=100,
    )
    return Candidate(campaign="c1", attempt=f"attempt-{name}", sha256=f"{name}" * 64, validation=score)


def slice_ended(
    number: int, what: Candidate | None, seconds: float = 60.0, usd: float = 0.5
) -> list[FollowingEvent]:
    begun = SliceStarted(at=day(number), campaign="c1", seconds=seconds, data_sha256="data")
    spent = {"seconds": seconds, "usd": usd}
    end = SliceEnded(at=day(number), campaign="c1", attempts=1, candidate=what, **spent)
    return [begun, end]


def submissions(number: int, what: Candidate, reference: str = "1") -> list[FollowingEvent]:
    return [
        SubmissionStarted(at=day(number), candidate=what, message=f"comind {what.sha256[:12]}"),
        SubmissionSent(at=day(number), sha256=what.sha256, reference=reference),
    ]


def scored(number: int, reference: str = "1", **changes: Any) -> SubmissionScored:
    return SubmissionScored.model_validate({"at": day(number), "reference": reference} | changes)


def after(*events: FollowingEvent | list[FollowingEvent]) -> Following:
    each = [e for event in events for e in (event if isinstance(event, list) else [event])]
    return FOLLOWING_LOG.fold(Record(seq, START, float(seq), event) for seq, event in enumerate(each))
