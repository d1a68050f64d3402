"""prefect.yaml deploys flows that exist, with parameters that they take."""

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.flows import load_flow_from_entrypoint
from rich.console import Console

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.servers.run_environment import LOGGED_RUNS, RUN_ENVIRONMENT
from tests.e2e.prefect_graph import filtered

_WORKERS = "collections_data/views/aggregate-worker-metadata.json"
_ROOT = Path(__file__).parents[2]
_DEPLOYMENTS: list[dict[str, Any]] = yaml.safe_load((_ROOT / "prefect.yaml").read_text())["deployments"]


@pytest.mark.parametrize("deployment", _DEPLOYMENTS, ids=lambda each: str(each["name"]))
def test_a_deployment_is_a_flow_with_its_parameters(deployment: dict[str, Any]) -> None:
    """The entrypoint is found by its module, and the parameters are valid."""
    flow = load_flow_from_entrypoint(deployment["entrypoint"], use_placeholder_flow=False)
    assert flow.validate_parameters(deployment["parameters"])
    pools = {"solve-docker": "comind-docker", "solve-kubernetes": "comind-kubernetes"}
    assert deployment["work_pool"]["name"] == pools.get(deployment["name"], "comind")


def test_jobs_of_deployments_have_the_environment_of_ours() -> None:
    """prefect.yaml sets the variables that commands set for the runs that they start."""
    for deployment in _DEPLOYMENTS:
        assert deployment["work_pool"]["job_variables"]["env"] == RUN_ENVIRONMENT


def test_prefect_reads_every_deployment() -> None:
    """Prefect's own loader finds the same names, with its placeholders and merged keys."""
    from prefect.cli.deploy._config import _load_deploy_configs_and_actions

    configs, _ = _load_deploy_configs_and_actions(_ROOT / "prefect.yaml", console=Console())
    assert [each["name"] for each in configs] == [each["name"] for each in _DEPLOYMENTS]


@pytest.mark.parametrize("kind", ["docker", "kubernetes"])
def test_variables_of_jobs_are_those_of_their_work_pool(kind: str) -> None:
    """Prefect's description of the pool's type has each variable that the deployment sets."""
    described = resources.files("prefect.server.api") / _WORKERS
    worker = json.loads(described.read_text())[f"prefect-{kind}"][kind]
    known = worker["default_base_job_configuration"]["variables"]["properties"]
    (deployment,) = (each for each in _DEPLOYMENTS if each["name"] == f"solve-{kind}")
    assert deployment["work_pool"]["job_variables"].keys() <= known.keys()


@pytest.mark.parametrize("kind", ["docker", "kubernetes"])
def test_a_pool_of_containers_has_the_fields_of_its_type(kind: str) -> None:
    """Base job templates for nodes have only fields that Prefect describes for the type."""
    described = resources.files("prefect.server.api") / _WORKERS
    worker = json.loads(described.read_text())[f"prefect-{kind}"][kind]
    known = worker["default_base_job_configuration"]["job_configuration"]
    ours = json.loads((_ROOT / "infra" / "pools" / f"{kind}.json").read_text())["job_configuration"]
    assert ours.keys() <= known.keys() | {"container_create_kwargs"}  # newer than the description
    if kind == "kubernetes":  # what its worker requires
        wanted = known["job_manifest"]["spec"]["template"]["spec"]
        job = ours["job_manifest"]["spec"]["template"]["spec"]
        assert (wanted.keys() - {"serviceAccountName"}) <= job.keys()
        assert job["containers"][0]["name"] == wanted["containers"][0]["name"]


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_campaign_is_started_from_a_deployment(tmp_path: Path) -> None:
    """After `prefect deploy`, a run of the deployment solves the demo in the project's folder.

    Its process is killed once, and the run retried, which resumes the campaign. Prefect and a file have
    its log; the worker's shell sets nothing but the server's address.
    """
    from comind.servers.tool_servers import prefect_server, prepare_environment

    prepare_environment(tmp_path)
    (tmp_path / "prefect.yaml").write_bytes((_ROOT / "prefect.yaml").read_bytes())
    with prefect_server(tmp_path) as api:
        settings = {**os.environ, "PREFECT_API_URL": api, "PWD": str(tmp_path)}
        for name in LOGGED_RUNS:
            del settings[name]

        def prefect(*arguments: str) -> None:
            command = [sys.executable, "-m", "prefect", "--no-prompt", *arguments]
            done = subprocess.run(
                command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr

        prefect("work-pool", "create", "comind", "--type", "process")
        prefect("deploy", "--name", "solve", "--name", "track")
        prefect(
            "deployment", "run", "solve/solve", "--param", 'settings={"model": "offline", "folds": 0}'
        )
        settings["COMIND_KILL_AT"] = "attempt-ended"
        prefect("worker", "start", "--pool", "comind", "--run-once")
        [crashed] = filtered(api, "flow_runs", {"flow_runs": {"name": {"any_": ["solve demo-tumours"]}}})
        assert crashed["state_name"] == "Crashed"
        del settings["COMIND_KILL_AT"]
        prefect("flow-run", "retry", crashed["id"])
        prefect("worker", "start", "--pool", "comind", "--run-once")
        states = {each["name"]: each["state_name"] for each in filtered(api, "flow_runs", {})}
        assert states["solve demo-tumours"] == "Completed"
        logged = [each["name"] for each in filtered(api, "logs", {})]
    project = ProjectFolder(tmp_path)
    [campaign] = project.campaigns()
    assert "comind.campaign.loop" in logged
    assert ": ended: " in project.campaign(campaign).program_log.read_text()
    assert read_state(project.campaign(campaign)).ended is not None
    assert project.campaign(campaign).submission.is_file()
