"""Track a followed competition as a run: score, rank and percentile over time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from comind.adapters.mlflow.server_errors import server_errors
from comind.adapters.mlflow.tracking_store import Point, TrackedRun, TrackingStore
from comind.eventlog.log import Record
from comind.eventlog.store import StateTail
from comind.following import events
from comind.following.state import FOLLOWING_LOG, following_log_path

_FOLLOWING = "comind.following"
_EXPERIMENT = "following"
_DECISIONS = "decisions.json"
_COLUMNS = ("time", "verdict", "attempt", "file", "validation", "ahead", "standard_error", "reason")
_NOTICES = 20  # newest ones, as the length of a tag is limited


class FollowingTracker:
    """Projects the log of a followed competition to MLflow; steps count observations."""

    def __init__(self, project: Path, slug: str) -> None:
        """Open the database; `sync` creates the run with the first event."""
        self._slug = slug
        self._store = TrackingStore(project)
        self._log = StateTail(following_log_path(project, slug), FOLLOWING_LOG)
        self._observations = 0
        self._run: TrackedRun | None = None
        self._decisions: list[Sequence[object]] = []

    @server_errors()
    def sync(self) -> None:
        """Write the log's new events and the table of decisions; idempotent.

        The run is finished when the competition is over.

        Raises:
            OrchestrationError: the tracking server does not answer.
        """
        for record in self._log.read():
            self._observations += isinstance(record.event, events.CompetitionObserved)
            run = self._run = self._run or self._open(record)
            run.log_metrics(
                Point(name, value, record.event.at, self._observations)
                for name, value in _metrics(record.event)
            )
            run.set_tags(self._tags(record.event))
            if isinstance(record.event, events.SubmissionDecided):
                self._decisions.append(_decision(record.event))
        seen = self._log.state.observation
        if self._run is None or seen is None:
            return
        self._run.log_table(_DECISIONS, _COLUMNS, self._decisions)
        if seen.is_over and seen.deadline is not None:
            self._run.set_terminated(seen.deadline, "FINISHED")
        else:
            self._run.reopen()  # as the deadline may have moved

    def _open(self, record: Record[events.FollowingEvent]) -> TrackedRun:
        identity = {_FOLLOWING: self._slug}
        experiment = self._store.get_or_create_experiment(_EXPERIMENT)
        return self._store.get_or_create_run(
            experiment, f"following {self._slug}", identity, record.event.at, {}
        )

    def _tags(self, event: events.FollowingEvent) -> dict[str, str]:
        match event:
            case events.NoticeRecorded():
                notices = [
                    f"{each.at:%Y-%m-%d} {each.subject}: {each.text}"
                    for each in self._log.state.notices[-_NOTICES:]
                ]
                return {"comind.notices": "\n".join(notices)}
            case events.SliceEnded(campaign=campaign):
                return {"comind.campaign_followed": campaign}
            case events.SubmissionScored(error=error) if error:
                return {"comind.submission_error": error}
            case _:
                return {}


def _decision(decided: events.SubmissionDecided) -> Sequence[object]:
    """Return a decision as a row of `_COLUMNS`."""
    found, ahead = decided.candidate, decided.ahead
    return (
        decided.at.isoformat(timespec="seconds"),
        decided.verdict,
        found and found.attempt,
        found and found.sha256,
        found and found.validation.value.value,
        ahead and ahead.difference,
        ahead and ahead.standard_error,
        decided.reason,
    )


def _metrics(event: events.FollowingEvent) -> Iterator[tuple[str, float]]:
    match event:
        case events.CompetitionObserved():
            for name in ("teams", "submissions_left", "notebooks", "discussions", "new_items"):
                yield name, getattr(event, name)
        case events.SliceEnded(candidate=candidate):
            yield "slice_seconds", event.seconds
            yield "slice_usd", event.usd
            yield "attempts", event.attempts
            if candidate is not None:
                yield "validation_score", candidate.validation.value.value
        case events.SubmissionScored(public_score=public, private_score=private):
            if public is not None:
                yield "public_score", public
            if private is not None:
                yield "private_score", private
        case events.StandingRecorded(final=final):
            yield "final_private_score" if final else "best_public_score", event.score
            yield "final_rank" if final else "rank", event.rank
            yield "final_percentile" if final else "percentile", event.percentile
        case _:
            pass
