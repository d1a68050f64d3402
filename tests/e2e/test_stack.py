"""`make stack-up`: one campaign on the servers of several machines."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from flows.services.server import free_port
from tests.e2e.command import comind

_SCRIPT = Path(__file__).parents[2] / "infra" / "stack.sh"
_PROGRAMS = {"BIN": str(Path(sys.executable).parent)}

Stack = Callable[[str], str]


@pytest.fixture
def stack() -> Iterator[Stack]:
    """Run `stack.sh`; all that it started is stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="comind-stack-"))
    folder.chmod(0o711)  # PostgreSQL's user passes
    ports = " ".join(str(free_port()) for _ in range(4))
    settings = {**os.environ, **_PROGRAMS, "STACK": str(folder), "STACK_PORTS": ports}

    def run(command: str) -> str:
        done = subprocess.run(
            [_SCRIPT, command], env=settings, check=False, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield run
    run("down")
    shutil.rmtree(folder)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_campaign_runs_on_the_servers(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect and MLflow keep it in PostgreSQL and the store, which may restart meanwhile."""
    printed = stack("up")
    for line in printed.splitlines():
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            monkeypatch.setenv(name, value)
    assert "starting" not in stack("up")
    assert all(" runs (" in line for line in stack("status").splitlines())
    project = tmp_path / "project"
    solve = ("solve", "demo-tumours", "--out", project, "--model", "offline", "--json")
    with ThreadPoolExecutor() as threads:
        running = threads.submit(comind, *solve, "--iterations", "1", "--profile", "quick")
        _await_a_cell(project)
        _restart_postgres(stack)
        ran = running.result()
    assert ran.exit_code == 0, ran.stderr
    assert not list(project.rglob("mlflow.db"))
    stack("down")
    stack("up")
    client = MlflowClient(os.environ["MLFLOW_TRACKING_URI"])
    experiment = client.get_experiment_by_name("demo-tumours")
    assert experiment is not None
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    artifacts = client.list_artifacts(runs[ran.json["campaign"]].info.run_id)
    assert "leaderboard.csv" in {each.path for each in artifacts}
    local = client.download_artifacts(runs["attempt-000"].info.run_id, "report.md", str(tmp_path))
    assert Path(local).read_text()


def _await_a_cell(project: Path) -> None:
    end = time.monotonic() + 120
    while not any(
        "cell-started" in log.read_text() for log in project.glob("runs/*/attempt-*/log.jsonl")
    ):
        assert time.monotonic() < end
        time.sleep(0.1)


def _restart_postgres(stack: Stack) -> None:
    """End it while it is in use, and start it again."""
    (line,) = [line for line in stack("status").splitlines() if line.startswith("postgres")]
    os.kill(int(line.partition("(")[2].rstrip(")")), signal.SIGINT)
    time.sleep(3)
    assert "starting postgres" in stack("up")


def test_a_port_that_is_in_use_is_one_line(tmp_path: Path) -> None:
    """It names the setting, and nothing is installed or started."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        settings = {**os.environ, "STACK": str(tmp_path / "s"), "STACK_PORTS": f"{port} 1 2 3"}
        done = subprocess.run(
            [_SCRIPT, "up"], env=settings, check=False, capture_output=True, text=True, timeout=60
        )
    expected = f"stack.sh: port {port} for postgres is in use: name others in STACK_PORTS\n"
    assert (done.returncode, done.stderr) == (4, expected)
    assert not list((tmp_path / "s").iterdir())
