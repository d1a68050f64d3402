"""`make stack-up`: one campaign on the servers of several machines."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from flows.services.server import free_port
from tests.e2e.command import comind

_SCRIPT = Path(__file__).parents[2] / "infra" / "stack.sh"

Stack = Callable[[str], str]


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Run `stack.sh`; all that it started is stopped at the end."""
    folder = tmp_path_factory.mktemp("stack")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(parent.stat().st_mode | 0o011)  # PostgreSQL's user passes
    ports = " ".join(str(free_port()) for _ in range(4))
    settings = {**os.environ, "STACK": str(folder), "STACK_PORTS": ports}

    def run(command: str) -> str:
        done = subprocess.run(
            [_SCRIPT, command], env=settings, check=True, capture_output=True, text=True, timeout=300
        )
        return done.stdout

    yield run
    run("down")


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
    solve = ("solve", "demo-tumours", "--out", tmp_path, "--model", "offline", "--json")
    ran = comind(*solve, "--iterations", "1", "--profile", "quick")
    assert ran.exit_code == 0, ran.stderr
    assert not list(tmp_path.rglob("mlflow.db"))
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
