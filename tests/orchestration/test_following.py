"""A day of a followed competition, and its metrics: a projection of the log."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from comind.adapters.mlflow.database import tracking_uri
from comind.adapters.mlflow.following import FollowingTracker
from comind.adapters.mlflow.tracking_store import TrackingStore
from comind.app.campaign_slices import FollowingParams
from comind.app.followed_day import follow_for_a_day
from comind.app.paths import open_project
from comind.errors import KaggleBusyError
from comind.following.events import NoticeRecorded, StandingRecorded, SubmissionDecided
from comind.following.state import FollowingLog
from comind.kaggle import port
from comind.kaggle.settings import KaggleSettings
from comind.system.timing import ServerClock
from tests.doubles.kaggle import ScriptedKaggle
from tests.orchestration.followed_days import functions_of_a_day
from tests.unit.following.days import candidate, day, observation, scored, slice_ended, submissions
from tests.unit.kaggle.world import SLUG, tiny_world


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
            log.record(StandingRecorded(at=day(number), score=score, rank=rank, teams=100))
        log.record(NoticeRecorded(at=day(1), subject="rules", text="the rules have changed"))
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
    client = MlflowClient(tracking_uri=tracking_uri(tmp_path))
    decisions = json.loads(Path(client.download_artifacts(run_id, "decisions.json")).read_text())
    assert [row[1] for row in decisions["data"]] == ["submit", "submit"]
    assert all(len(row) == len(decisions["columns"]) for row in decisions["data"])
    assert client.get_run(run_id).info.status == "RUNNING"


def test_a_run_ends_with_its_competition(tmp_path: Path) -> None:
    """Its run is apart from those of attempts, and is finished at the deadline."""
    with FollowingLog(tmp_path, "somewhere") as log:
        log.record(observation(0))
        log.record(observation(31))
    FollowingTracker(tmp_path, "somewhere").sync()
    client = MlflowClient(tracking_uri=tracking_uri(tmp_path))
    experiment = client.get_experiment_by_name("following")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.status, run.info.end_time) == ("FINISHED", int(day(30).timestamp() * 1000))


_SERVER_TIME = datetime(2023, 5, 20, 14, tzinfo=UTC)


def test_a_day_has_one_connection_and_one_clock(tmp_path: Path) -> None:
    """A failure while fetching is dated by the server's responses, as all other events are."""
    opened: list[KaggleSettings] = []

    class Connection(ScriptedKaggle):
        def __init__(self, time: ServerClock) -> None:
            super().__init__(tiny_world())
            self.time = time
            self.failures["pages"] = [KaggleBusyError("Kaggle is busy")]

        def competition(self, slug: str) -> port.CompetitionFacts:
            self.time.set(_SERVER_TIME)
            return super().competition(slug)

    def open_kaggle(settings: KaggleSettings, time: ServerClock) -> Connection:
        opened.append(settings)
        return Connection(time)

    project = open_project(str(tmp_path))
    with pytest.raises(KaggleBusyError):
        follow_for_a_day(project, SLUG, FollowingParams(), functions_of_a_day(), open_kaggle)
    with FollowingLog(tmp_path, SLUG) as log:
        (noticed,) = [each.event for each in log.records]
    assert isinstance(noticed, NoticeRecorded)
    assert (noticed.subject, noticed.text) == ("kaggle", "Kaggle is busy")
    assert 0 <= (noticed.at - _SERVER_TIME).total_seconds() < 60
    assert len(opened) == 1
