"""Find, complete, stop and delete the runs of campaigns in MLflow."""

from collections.abc import Container
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from comind.adapters.mlflow.campaign import ATTEMPT_TAG, CAMPAIGN_TAG, CampaignTracker
from comind.adapters.mlflow.database import has_runs
from comind.adapters.mlflow.server_errors import server_errors
from comind.adapters.mlflow.tracking_store import PARENT, Point, TrackedRun, TrackingStore
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import LogError
from comind.eventlog.log import is_written


@server_errors()
def campaign_run_id(project: Path, campaign: str) -> str | None:
    """Return the id of a campaign's run in MLflow, or None."""
    return TrackingStore(project).find_run_id({CAMPAIGN_TAG: campaign})


@server_errors()
def campaign_pages(project: Path, limit: int) -> list[tuple[str, str, bool]]:
    """Return names and pages of the last campaigns, newest first, and whether more is better."""
    store = TrackingStore(project)
    experiments = [each.experiment_id for each in store.client.search_experiments()]
    order = ["attributes.start_time DESC"]
    runs = store.client.search_runs(experiments, "", order_by=order, max_results=1000)
    return [
        (
            run.info.run_name,
            TrackedRun(store, run.info.experiment_id, run.info.run_id).page,
            run.data.tags.get("comind.maximize") != "False",
        )
        for run in runs
        if PARENT not in run.data.tags
    ][:limit]


@server_errors()
def delete_runs(project: Path, campaign: str) -> int:
    """Delete all runs of a campaign; returns their number."""
    store = TrackingStore(project)
    runs = store.search_runs({CAMPAIGN_TAG: campaign})
    for run_id, _ in runs:
        store.delete_run(run_id)
    return len(runs)


@server_errors()
def delete_duplicate_runs(project: Path, campaign: str) -> int:
    """Delete duplicate runs of the campaign or of an attempt; returns their number."""
    store, seen, duplicates = TrackingStore(project), set(), 0
    for run_id, tags in store.search_runs({CAMPAIGN_TAG: campaign}):
        attempt = tags.get(ATTEMPT_TAG, "")
        if attempt in seen:
            store.delete_run(run_id)
            duplicates += 1
        seen.add(attempt)
    return duplicates


@server_errors()
def stop_killed_runs(project: Path, going_on: Container[str] = ()) -> list[str]:
    """Set the status of runs of killed processes as their logs say; returns the campaigns' names.

    A run is such a one if it is RUNNING and no process holds the lock of its campaign's log. Those of
    other projects on the same server, and of campaigns that are `going_on`, are not changed.
    """
    if not has_runs(project):
        return []
    running = TrackingStore(project).search_runs({}, "RUNNING")
    stopped = []
    for name in sorted({tags[CAMPAIGN_TAG] for _, tags in running if CAMPAIGN_TAG in tags}):
        log = ProjectFolder(project).campaign(name).log
        if name in going_on or not log.is_file() or is_written(log):
            continue
        with suppress(LogError):  # `comind repair` reports it
            tracker = CampaignTracker(project, name)
            tracker.sync()
            tracker.stop()
            stopped.append(name)
    return stopped


@server_errors()
def log_true_score(project: Path, campaign: str, score: float) -> None:
    """Log `true_score` to the campaign's run; nothing where MLflow has no such run.

    Raises:
        OrchestrationError: the tracking server does not answer.
    """
    run_id = campaign_run_id(project, campaign) if has_runs(project) else None
    if run_id is not None:
        run = TrackedRun(TrackingStore(project), "", run_id)
        run.log_metrics([Point("true_score", score, datetime.now(UTC), 0)])
