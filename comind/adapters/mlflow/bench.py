"""Track a bench as a run whose children are the runs of its campaigns."""

import json
from datetime import UTC, datetime
from pathlib import Path

from comind.adapters.mlflow.server_errors import server_errors
from comind.adapters.mlflow.tracking_store import BENCH, TrackingStore
from comind.bench.results import BenchResults

_CAMPAIGN = "comind.campaign"
_EXPERIMENT = "benches"


@server_errors()
def write_bench_run(project: Path, folder: Path, results: BenchResults) -> None:
    """Write a bench's run with its results as artifacts, and make it the parent of its campaigns' runs.

    Idempotent: the run is found by the bench's name.

    Raises:
        OrchestrationError: the tracking server does not answer.
    """
    store = TrackingStore(project)
    now = datetime.now(UTC)
    experiment = store.get_or_create_experiment(_EXPERIMENT)
    run = store.get_or_create_run(experiment, results.name, {BENCH: results.name}, now, {})
    conditions = results.conditions.model_dump(mode="json", exclude={"known_leaks", "knowledge"})
    run.set_tags({f"comind.{name}": value for name, value in conditions.items()})
    run.set_tags(
        {
            "comind.arms": ", ".join(results.arms),
            "comind.competitions": ", ".join(results.competitions),
            "comind.knowledge": json.dumps(results.conditions.knowledge),
        }
    )
    for path in sorted(folder.iterdir()):
        if not path.name.startswith("."):
            run.log_artifact(path, path.name if path.is_dir() else None)
    for each in results.runs:
        run_id = store.find_run_id({_CAMPAIGN: each.campaign}) if each.campaign else None
        if run_id is not None:
            store.adopt(run_id, run, results.name, {"comind.arm": each.arm})
    done = all(each.status == "ended" for each in results.runs)
    run.set_terminated(now, "FINISHED" if done else "FAILED")
