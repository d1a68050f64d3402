"""A project with packages `flows` and `tasks` of its own, as Prefect's tutorials make them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from comind.app.defaults import DEPLOYMENTS, STAGES

_LOAD = """
import sys
from prefect.flows import load_flow_from_entrypoint
for entrypoint in sys.argv[1:]:
    print(load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False).name)
"""
_SESSION_HOST = "comind.nodes.session_host_flow.session_host"
_HERE = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder whose packages fail when they are imported."""
    for name in ("flows", "tasks"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('{name} of the project')\n")
    return tmp_path


@pytest.mark.parametrize("safe", [{"PYTHONSAFEPATH": "1"}, {}], ids=["as a worker", "as a script"])
def test_a_deployment_is_loaded_beside_other_flows(project: Path, safe: dict[str, str]) -> None:
    """Prefect loads every entry point of prefect.yaml, in a worker's run and without its variables."""
    entrypoints = {one["entrypoint"] for one in yaml.safe_load(DEPLOYMENTS.read_text())["deployments"]}
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            _LOAD,
            *sorted(entrypoints),
            "comind.nodes.session_host_flow.session_host",
        ],
        cwd=project,
        env={**os.environ, **safe},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    names = {*ran.stdout.split()}
    assert names == {"bench", "follow-competition", "ingest", "reproduce", "session-host", "solve"}


def test_job_variables_leave_the_project_out_of_the_path() -> None:
    """A run of every deployment is started with PYTHONSAFEPATH."""
    for deployment in yaml.safe_load(DEPLOYMENTS.read_text())["deployments"]:
        assert deployment["work_pool"]["job_variables"]["env"].items() >= {"PYTHONSAFEPATH": "1"}.items()


def test_a_stage_runs_beside_other_flows(project: Path) -> None:
    """The command of a stage of dvc.yaml imports no module of the project."""
    command = yaml.safe_load(STAGES.read_text())["stages"]["demos"]["cmd"]
    path = {"PATH": f"{_HERE}:{os.environ['PATH']}"}  # as an activated environment does
    subprocess.run(command.split(), cwd=project, env={**os.environ, **path}, check=True)
    assert (project / "data/demos/demo-tumours/competition.yaml").is_file()
