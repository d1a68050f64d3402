"""MLflow is a projection of the logs: it can be repeated, and rebuilt from nothing."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from mlflow.tracking import MlflowClient

from comind.campaign.events import SplitMade
from tasks.tracking import CampaignTracker, run_of, tracking_uri
from tests.unit.campaign.world import World

_SPLIT = SplitMade(
    key="demo-1",
    public_sha256="a",
    sealed_sha256="b",
    metric="accuracy",
    maximize=True,
    validation_rows=3,
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a finished campaign of the tiny agent and an up-to-date MLflow."""
    root = tmp_path_factory.mktemp("tracked project")  # with a space in its name
    world = World(root)
    campaign = world.campaign()
    campaign.record(_SPLIT)
    world.run(campaign)
    CampaignTracker(root, world.folder.name).catch_up()
    return root


def _everything(project: Path) -> list[dict[str, Any]]:
    """Return all that MLflow holds, apart from ids."""
    client = MlflowClient(tracking_uri=tracking_uri(project))
    experiment = client.get_experiment_by_name("demo")
    assert experiment is not None
    found = []
    for run in client.search_runs([experiment.experiment_id]):
        tags = {key: value for key, value in run.data.tags.items() if key.startswith("comind.")}
        history = {
            name: [
                (m.value, m.step, m.timestamp) for m in client.get_metric_history(run.info.run_id, name)
            ]
            for name in run.data.metrics
        }
        found.append(
            {
                "name": run.info.run_name,
                "status": run.info.status,
                "times": (run.info.start_time, run.info.end_time),
                "tags": tags,
                "params": run.data.params,
                "metrics": history,
                "artifacts": sorted(a.path for a in client.list_artifacts(run.info.run_id)),
            }
        )
    return sorted(found, key=lambda run: str(run["name"]))


def test_a_campaign_and_its_attempts_are_runs(project: Path) -> None:
    """The parent holds the best score and totals, each child its score, steps, spend and artifacts."""
    runs = {run["name"]: run for run in _everything(project)}
    assert sorted(runs) == ["attempt-000", "attempt-001", "attempt-002", "demo-tiny-1"]
    parent, child = runs["demo-tiny-1"], runs["attempt-001"]
    assert parent["metrics"]["best_score"][-1][0] == 0.95
    assert parent["metrics"]["valid_attempts"][-1][0] == 3
    assert parent["tags"]["comind.ended"] == "done: all iterations are over"
    assert parent["params"]["split.metric"] == "accuracy"
    assert child["status"] == "FINISHED"
    assert child["tags"]["comind.parents"] == "attempt-000"
    assert [value for value, _, _ in child["metrics"]["step/score"]] == [0.95, 0.9]
    assert child["metrics"]["prompt_tokens"][0][0] == 200
    assert child["artifacts"] == [
        "code.py",
        "draft.json",
        "log.jsonl",
        "notebook.ipynb",
        "report.md",
        "submissions",
    ]


def test_tracking_again_changes_nothing(project: Path) -> None:
    """A second projection of the same logs, as after a crash, leaves MLflow as it was."""
    before = _everything(project)
    CampaignTracker(project, "demo-tiny-1").catch_up()
    assert _everything(project) == before


def test_mlflow_is_rebuilt_from_the_logs(project: Path, tmp_path: Path) -> None:
    """With an empty database, the same logs give the same runs."""
    shutil.copytree(project / "runs", tmp_path / "runs")
    CampaignTracker(tmp_path, "demo-tiny-1").catch_up()
    assert _everything(tmp_path) == _everything(project)
    assert run_of(tmp_path, "demo-tiny-1") is not None
    assert run_of(tmp_path, "another") is None
