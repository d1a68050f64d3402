"""Processes that start at the same moment in a new project set it up once, and none fails."""

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from comind.adapters.dvc.versioning import ensure_repository
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.campaign.work.project_budget import ProjectBudget
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.splits.split_files import make_split

_PROCESSES = 4
_SOLVE = (
    "solve",
    "demo-tumours",
    "--model",
    "offline",
    "--iterations",
    "1",
    "--folds",
    "0",
    "--no-prove",
)


def _set_up(project: Path, name: str) -> None:
    """Take the first steps of a campaign, as far as they are the project's."""
    demo = make_demo("demo-tumours", project / "data" / "demos")
    ensure_repository(project)
    budget = ProjectBudget(ProjectFolder(project))
    budget.set_limit(1)
    budget.start(name, 0.25)
    make_split(load_competition(demo), ProjectFolder(project).splits, seed=0)


def test_the_first_steps_of_processes_do_not_collide(tmp_path: Path) -> None:
    """Demo, repository, database and split are there once, whoever was first."""
    project = tmp_path / "project"
    project.mkdir()
    gate, opener = os.pipe()
    children = []
    for number in range(_PROCESSES):
        pid = os.fork()
        if pid == 0:
            os.close(opener)
            os.read(gate, 1)  # until all have been started
            try:
                _set_up(project, f"c{number}")
            except BaseException:  # noqa: BLE001 - its exit code is what the test looks at
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(pid)
    os.close(opener)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    os.close(gate)
    assert codes == [0] * _PROCESSES
    assert [each.name for each in (project / "data" / "demos").iterdir()] == ["demo-tumours"]
    assert len([each for each in ProjectFolder(project).splits.iterdir() if each.is_dir()]) == 1
    assert ProjectBudget(ProjectFolder(project)).costs().total == 0.25 * _PROCESSES
    assert (project / ".dvc" / "config").read_text().count("[core]") == 1


@pytest.mark.torture
def test_two_campaigns_start_at_the_same_moment_in_a_new_project(tmp_path: Path) -> None:
    """Both end with a submission, and MLflow knows both."""
    command = [sys.executable, "-m", "comind.cli", *_SOLVE, "--out", str(tmp_path), "--json"]
    path = os.pathsep.join(sys.path)
    started = [
        subprocess.Popen(
            [*command, "--seed", str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        for seed in (0, 1)
    ]
    ended = [process.communicate(timeout=280) for process in started]
    for process, (_, errors) in zip(started, ended, strict=True):
        assert process.returncode == 0, errors.decode()
    results = [json.loads(printed) for printed, _ in ended]
    assert all(each["submission"] and each["mlflow_run_id"] and each["dvc_rev"] for each in results)
    project = ProjectFolder(tmp_path)
    assert sorted(each["campaign"] for each in results) == project.campaigns()
    splits = {read_state(project.campaign(name)).split for name in project.campaigns()}
    assert len(splits) == 1
