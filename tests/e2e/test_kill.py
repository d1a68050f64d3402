"""kill -9 between any two writes: the campaign goes on to the same end, and nothing is doubled."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.states import Running

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.campaign.reports.campaign_view import read_view
from comind.following.state import following_log_path
from comind.servers.orphans import close_killed_runs
from comind.system.failpoints import KILL_POINTS
from tests.e2e.command import MODEL, QUIET, begin_tracking, comind, processes_of
from tests.e2e.forked import start_forked
from tests.e2e.prefect_graph import filtered

_SIGKILLED = -9
_ONE_OF_EACH_KIND = (
    "split-written",  # between files and DVC
    "call-sent",  # within an effect
    "cell-recorded",  # between two effects
    "attempt-ended",  # between an attempt's log and the campaign's
    "work-finished",  # between the log and MLflow
    "checkpoints-versioned",  # between DVC and git
    "final-picked",  # in the closing phase
    "submission-delivered",  # at the very end
)


def _final_state(project: Path, campaign: str) -> dict[str, Any]:
    """Return all that must not depend on kills: attempts, scores, MLflow's runs, the ref's files."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.database import tracking_uri

    state = read_state(ProjectFolder(project).campaign(campaign))
    client = MlflowClient(tracking_uri=tracking_uri(project))
    runs = client.search_runs([client.get_experiment_by_name("demo-tumours").experiment_id])
    tree = subprocess.run(
        ["git", "-C", project, "ls-tree", "-r", "--name-only", f"refs/comind/{campaign}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.replace(campaign, "CAMPAIGN")
    return {
        "attempts": [
            (a.id, a.work.draft.title, str(a.outcome and a.outcome.score), a.outcome and a.outcome.steps)
            for a in state.works.attempts()
        ],
        "best": state.best and state.best.work_id,
        "calls": sum(
            r.outcome.spend.calls - r.outcome.spend.lost_calls for r in state.works if r.outcome
        ),
        "ended": state.ended,
        "submission": ProjectFolder(project).campaign(campaign).submission.read_bytes(),
        "tracked": sorted(
            (
                run.data.tags.get("comind.attempt", "campaign"),
                run.info.status,
                run.data.metrics.get("score", run.data.metrics.get("best_score")),
                run.data.metrics.get("calls", 0) - run.data.metrics.get("lost_calls", 0),
                [m.value for m in client.get_metric_history(run.info.run_id, "step/score")],
                sorted(artifact.path for artifact in client.list_artifacts(run.info.run_id)),
            )
            for run in runs
        ),
        # What our own code has uncommitted is no matter of the campaign.
        "tree": sorted(name for name in tree.split() if not name.endswith(".diff")),
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> dict[str, Any]:
    """The final state of a campaign that nobody killed."""
    project = tmp_path_factory.mktemp("undisturbed")
    ran = comind(*_SOLVE, "--out", project, "--json", prove=True)
    assert ran.exit_code == 0, ran.stderr
    return _final_state(project, ran.json["campaign"])


_SOLVE = (
    "solve",
    "demo-tumours",
    "--model",
    MODEL,
    "--baseline",
    "none",
    "--iterations",
    "1",
    "--coders",
    "2",
)


def _gone(project: Path) -> Iterator[list[str]]:
    """Yield what is left of a killed campaign's processes, for as long as it may take them to end."""
    for _ in range(100):
        yield processes_of(project)
        time.sleep(0.1)


def _flow_runs(api: str, campaign: str) -> list[dict[str, Any]]:
    """Return the campaign's flow runs, oldest first."""
    wanted = {"flow_runs": {"name": {"any_": [campaign]}}, "sort": "EXPECTED_START_TIME_ASC"}
    return filtered(api, "flow_runs", wanted)


def _cancel(api: str, run: str) -> None:
    """Cancel a flow run as Prefect's page does."""
    with SyncPrefectClient(api, auth_string=os.environ["PREFECT_API_AUTH_STRING"]) as client:
        client.request("POST", f"/flow_runs/{run}/set_state", json={"state": {"type": "CANCELLING"}})


def _states(api: str, campaign: str) -> list[str]:
    """Return the names of the states of the campaign's flow runs, oldest first."""
    return [run["state_name"] for run in _flow_runs(api, campaign)]


def _statuses(project: Path) -> list[str]:
    """Return the statuses of all of the project's runs in MLflow."""
    from mlflow.tracking import MlflowClient

    from comind.adapters.mlflow.database import tracking_uri

    client = MlflowClient(tracking_uri=tracking_uri(project))
    experiments = [each.experiment_id for each in client.search_experiments()]
    return [run.info.status for run in client.search_runs(experiments)]


@pytest.mark.timeout(900)  # up to twenty processes, one after another
@pytest.mark.parametrize(
    "points",
    [
        pytest.param(_ONE_OF_EACH_KIND, id="one of each kind"),
        pytest.param(KILL_POINTS, id="all", marks=pytest.mark.torture),
    ],
)
def test_a_campaign_survives_kills(
    points: Sequence[str], tmp_path: Path, shared_server: str, undisturbed: dict[str, Any]
) -> None:
    """Killed once at each of these points, one campaign still ends as if it had not been touched."""
    project = tmp_path / "killed"
    arguments = [*_SOLVE, "--out", project, "--json"]
    campaign = ""
    for point in points:
        ran = comind(*arguments, prove=True, COMIND_KILL_AT=point)
        assert ran.exit_code == _SIGKILLED, f"{point} was not reached: {ran.stderr}"
        left = next((rest for rest in _gone(project) if not rest), processes_of(project))
        assert left == [], f"killed at {point}, these were left behind"
        campaign = next((project / "runs").iterdir()).name
        arguments = ["solve", "--resume", campaign, "--out", project, "--json"]
    ran = comind(*arguments)
    assert ran.exit_code == 0, ran.stderr
    assert _final_state(project, campaign) == undisturbed
    assert len(list((project / "runs").iterdir())) == 1
    states = _states(shared_server, campaign)
    assert {*states} <= {"Crashed", "Completed"}, "one for each process"
    assert states[-1] == "Completed"


@pytest.mark.torture  # tests/unit/system/test_supervised.py
def test_a_killed_campaign_takes_its_own_server_along(tmp_path: Path) -> None:
    """A Prefect server that a campaign started for itself ends with it, and so does the grader."""
    ran = comind(*_SOLVE, "--out", tmp_path, COMIND_KILL_AT="cell-recorded", PREFECT_API_URL="")
    assert ran.exit_code == _SIGKILLED, ran.stderr
    left = next((rest for rest in _gone(tmp_path) if not rest), processes_of(tmp_path))
    assert left == []


def test_repair_closes_what_a_killed_campaign_left(tmp_path: Path, shared_server: str) -> None:
    """Its run in Prefect is marked, a killed reproduction's folder goes; once done, nothing is said."""
    ran = comind(*_SOLVE, "--out", tmp_path, COMIND_KILL_AT="cell-recorded")
    assert ran.exit_code == _SIGKILLED, ran.stderr
    campaign = next((tmp_path / "runs").iterdir()).name
    assert _states(shared_server, campaign) == ["Running"]
    assert {*_statuses(tmp_path)} == {"RUNNING"}
    left = tmp_path / ".dvc" / "tmp" / "reproduce-0"
    left.mkdir(parents=True)
    repaired = comind("repair", "--out", tmp_path, "--json")
    assert repaired.exit_code == 0, repaired.stderr
    said = "\n".join(repaired.json["repaired"])
    assert f"{campaign}: its runs in Prefect and MLflow were closed" in said
    assert f"removed {left}, left behind by a dead process" in said
    assert _states(shared_server, campaign) == ["Crashed"]
    assert {*_statuses(tmp_path)} == {"KILLED"}
    assert not left.exists()
    assert comind("repair", "--out", tmp_path, "--json").json["repaired"] == []


_HAND_IN = """
import pandas as pd
for part, name in (('validation', 'validation_submission.csv'), ('test', 'submission.csv')):
    rows = pd.read_csv(f'input/demo-tumours/{part}.csv')
    rows[['sample_id']].assign(benign=1).to_csv(name, index=False)
"""
_LONG = [
    *QUIET,
    {"reply": "Selection", "say": {"ideas": []}},
    {"reply": "Drafts", "say": {"drafts": [{"title": "all", "kind": "novel", "method": "One class."}]}},
    {"reply": "CodingStep", "contains": "# Your draft", "say": {"goal": "Begin.", "code": _HAND_IN}},
    {"reply": "CodingStep", "say": {"goal": "Wait.", "code": "import time; time.sleep(250)"}},
]


def test_killed_benches_and_followed_days_are_closed(tmp_path: Path, shared_server: str) -> None:
    """Their runs in Prefect are Crashed once no process holds their lock; those of others go on."""

    @flow
    def anything() -> None: ...

    plan = tmp_path / "plan.yaml"
    plan.write_text(
        yaml.safe_dump({"name": "small", "competitions": ["demo-tumours"], "arms": {"a": {}}})
    )
    ended = following_log_path(tmp_path, "ended")
    under_way = following_log_path(tmp_path, "under-way")
    for path in (ended, under_way, tmp_path / "benches" / "small" / ".lock"):
        path.parent.mkdir(parents=True)
        path.touch()
    names = ["following ended", "following under-way", f"bench {plan}"]
    with SyncPrefectClient(shared_server, auth_string=os.environ["PREFECT_API_AUTH_STRING"]) as client:
        given = {"project": str(tmp_path)}
        runs = [client.create_flow_run(anything, name, given, state=Running()).id for name in names]
        other = {"project": "/elsewhere"}
        elsewhere = client.create_flow_run(anything, "following ended", other, state=Running())
        with under_way.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert close_killed_runs(tmp_path) == sorted([names[0], names[2]])
        states = [client.read_flow_run(run).state for run in (*runs, elsewhere.id)]
    assert [state and state.name for state in states] == ["Crashed", "Running", "Crashed", "Running"]


@pytest.mark.timeout(900)
def test_runs_of_a_stopped_campaign_are_cancelled_and_resumed(
    tmp_path: Path, shared_server: str
) -> None:
    """By SIGTERM or in Prefect: there they are Cancelled, and in MLflow KILLED until it resumes."""
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump(_LONG))
    said = tmp_path / "stdout", tmp_path / "stderr"
    project = tmp_path / "project"
    project.mkdir()
    begin_tracking(project)
    arguments = [
        "solve",
        "demo-tumours",
        "--model",
        f"scripted:{script}",
        "--baseline",
        "none",
        "--no-prove",
    ]

    def started(*given: str, runs: int) -> BaseProcess:
        """Start a command, and wait until all its runs are running, and its attempt a long cell."""
        process = start_forked([*given, "--out", str(project)], None, os.environ, said)
        while process.is_alive():
            logs = [log.read_text() for log in project.glob("runs/*/*/log.jsonl")]
            waits = any('"goal":"Wait."' in log for log in logs)
            delivered = any(project.glob("runs/*/submission.csv"))
            if waits and delivered and _statuses(project) == ["RUNNING", "RUNNING"]:
                campaign = next((project / "runs").iterdir()).name
                if _states(shared_server, campaign)[runs - 1 :] == ["Running"]:
                    return process
            time.sleep(0.5)
        raise AssertionError(said[1].read_text())

    process = started(*arguments, "--coders", "1", runs=1)
    campaign = next((project / "runs").iterdir()).name
    resume = f"comind solve --resume {campaign} --out {project}"
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    process.join(200)
    assert process.exitcode == 128 + signal.SIGTERM
    assert f"stopped; resume with: {resume}" in said[1].read_text()
    assert _states(shared_server, campaign) == ["Cancelled"]
    assert _statuses(project) == ["KILLED", "KILLED"]

    process = started("solve", "--resume", campaign, runs=2)
    _cancel(shared_server, _flow_runs(shared_server, campaign)[-1]["id"])
    process.join(200)
    assert process.exitcode == 128 + signal.SIGTERM
    assert "the run was cancelled in Prefect" in said[1].read_text()
    assert _states(shared_server, campaign) == ["Cancelled", "Cancelled"]
    assert _statuses(project) == ["KILLED", "KILLED"]


@pytest.mark.torture  # tests/unit/campaign/test_campaign_view.py
def test_the_best_step_is_there_before_its_attempt_ends(tmp_path: Path, shared_server: str) -> None:
    """Killed in the middle of an attempt, a campaign leaves its best graded step as submission.csv."""
    script = tmp_path / "script.yaml"
    script.write_text(yaml.safe_dump(_LONG))
    arguments = ["solve", "demo-tumours", "--model", f"scripted:{script}", "--baseline", "none"]
    command = [sys.executable, "-m", "comind.cli", *arguments, "--coders", "1", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        delivered: list[Path] = []
        deadline = time.monotonic() + 200
        while not delivered and time.monotonic() < deadline:
            assert running.poll() is None, "it ended before anything was delivered"
            time.sleep(0.2)
            delivered = list(tmp_path.glob("runs/*/submission.csv"))
        running.kill()
    campaign = ProjectFolder(tmp_path).campaign(delivered[0].parent.name)
    state = read_state(campaign)
    assert [attempt.outcome for attempt in state.works.attempts()] == [None], "it was still running"
    best = read_view(campaign).best
    assert best is not None
    submission = campaign.work(best.work_id).test_submission(best.submitted.step)
    assert delivered[0].read_bytes() == submission.read_bytes()
    assert next((rest for rest in _gone(tmp_path) if not rest), processes_of(tmp_path)) == []
