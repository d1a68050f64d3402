"""Metrics over time are a projection of the log of a followed competition."""

from pathlib import Path

from mlflow.tracking import MlflowClient

from comind.following.events import NoticeRecorded, StandingRecorded, SubmissionDecided
from comind.following.state import FollowingLog
from tasks.mlflow.database import tracking_uri
from tasks.mlflow.following import FollowingTracker
from tasks.mlflow.store import TrackingStore
from tests.unit.following.days import candidate, day, observation, scored, slice_ended, submissions


def _history(project: Path, run_id: str, name: str) -> list[tuple[int, float]]:
    client = MlflowClient(tracking_uri=tracking_uri(project))
    return [(point.step, point.value) for point in client.get_metric_history(run_id, name)]


def test_score_and_rank_are_curves_over_the_days(tmp_path: Path) -> None:
    """Each observation is a step; writing is idempotent, from any process."""
    with FollowingLog(tmp_path, "somewhere") as log:
        for number, (score, rank) in enumerate([(0.7, 40), (0.8, 20)]):
            log.record(observation(number))
            what = candidate("ab"[number], score)
            for event in (*slice_ended(number, what), *submissions(number, what, str(number))):
                log.record(event)
            log.record(SubmissionDecided(at=day(number), verdict="submit", reason="better"))
            log.record(scored(number, str(number), public_score=score))
            log.record(StandingRecorded(at=day(number), public_score=score, rank=rank, teams=100))
        log.record(NoticeRecorded(at=day(1), kind="rules", text="the rules have changed"))
    tracker = FollowingTracker(tmp_path, "somewhere")
    for _ in range(2):
        tracker.sync()
    again = FollowingTracker(tmp_path, "somewhere")
    again.sync()
    ((run_id, tags),) = TrackingStore(tmp_path).search_runs({"comind.following": "somewhere"})
    assert _history(tmp_path, run_id, "rank") == [(1, 40.0), (2, 20.0)]
    assert _history(tmp_path, run_id, "percentile") == [(1, 61.0), (2, 81.0)]
    assert _history(tmp_path, run_id, "public_score") == [(1, 0.7), (2, 0.8)]
    assert tags["comind.notices"] == "2024-03-02 rules: the rules have changed"
    assert tags["comind.decided"] == "submit: better"
