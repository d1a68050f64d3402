"""Whatever a killed process was doing, no temporary folder with labels is left after the next start."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from comind.adapters.dvc.versioning import ensure_repository
from comind.app import campaign_opening
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.domain.spend import Budget
from comind.splits.extra_folds import make_fold
from comind.splits.split_files import make_split
from comind.system.temporary_folders import staging_folder, temporary_folder
from comind.wiring import proof
from comind.wiring.leftovers import REPRODUCTION, remove_leftovers, reproductions
from tests.unit.campaign.samples import opened
from tests.unit.campaign.world import World
from tests.unit.competitions.folders import competition_folder


def _split(root: Path) -> None:
    competition = load_competition(competition_folder(root))
    make_split(competition, ProjectFolder(root).splits, seed=0)


def _fold(root: Path) -> None:
    competition = load_competition(competition_folder(root, rows=40))
    split = make_split(competition, ProjectFolder(root).splits, seed=0)
    os.environ["COMIND_KILL_AT"] = "split-staged:2"  # the first one was the split's
    make_fold(split, 1)


def _proof(root: Path) -> None:
    world = World(root, budget=Budget(seconds=1000.0))
    state = world.run(world.campaign())
    assert state.best is not None

    def run_script(*given: Any) -> None:
        (given[3] / "train.csv").write_text("labels")
        os.kill(os.getpid(), signal.SIGKILL)

    runtime: Any = SimpleNamespace(folder=world.folder, run_script=run_script)
    proof.prove(runtime, state.best.work_id, 60.0)


def _reproduction(root: Path) -> None:
    with temporary_folder(reproductions(root), REPRODUCTION) as place:
        (place / "train.csv").write_text("labels")
        os.kill(os.getpid(), signal.SIGKILL)


def _killed(begin: Callable[[Path], object], root: Path) -> None:
    pid = os.fork()
    if pid == 0:
        os.environ["COMIND_KILL_AT"] = "split-staged"
        begin(root)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def _files(root: Path, name: str) -> set[Path]:
    return {found for found in root.rglob(name) if not found.is_relative_to(root / "small")}


@pytest.mark.parametrize("begin", [_split, _fold, _proof, _reproduction])
def test_leftovers_of_a_kill_are_removed_at_the_next_start(
    tmp_path: Path, begin: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill leaves labels; opening or resuming any campaign of the project removes them."""
    ensure_repository(tmp_path)
    _killed(begin, tmp_path)
    temporary = [
        found
        for found in _files(tmp_path, "train.csv") | _files(tmp_path, "validation_answers.csv")
        if any(part.startswith((".new-", ".labelled-", "proof-", "reproduce-")) for part in found.parts)
    ]
    assert temporary, "it was killed too early"
    monkeypatch.setenv("PREFECT_HOME", "restored at the end")
    campaign_opening._prepare(tmp_path)
    assert not [found for found in temporary if found.exists()]
    assert remove_leftovers(ProjectFolder(tmp_path)) == []


def test_folders_in_use_stay(tmp_path: Path) -> None:
    """A start does not remove what another process, or another thread, is writing."""
    project = ProjectFolder(tmp_path)
    work, further = project.campaign("c").work("w").root, project.splits / "s" / "further"
    for home in (project.splits, work, further):
        home.mkdir(parents=True, exist_ok=True)
    with (
        staging_folder(project.splits, ".new") as split,
        staging_folder(work, "proof") as proved,
        temporary_folder(further, ".labelled") as fold,
        temporary_folder(reproductions(tmp_path), REPRODUCTION) as reproduced,
    ):
        assert remove_leftovers(project) == []
        assert all(each.is_dir() for each in (split, proved, fold, reproduced))


def test_the_workspace_of_an_unfinished_split_goes_unless_its_campaign_runs(tmp_path: Path) -> None:
    """A model's split is written to a workspace with the answers, which a killed campaign leaves."""
    project = ProjectFolder(tmp_path)
    folder = project.campaign("c1")
    private = folder.work("evaluator").workspace / "private" / "answers.csv"
    private.parent.mkdir(parents=True)
    private.write_text("labels")
    with Campaign(folder) as campaign:
        campaign.record(opened(id="c1"))
        assert remove_leftovers(project) == []
        assert private.exists()
    assert remove_leftovers(project) == [private.parent.parent]
    assert not private.exists()


def test_a_killed_demo_leaves_no_answers(tmp_path: Path) -> None:
    """The answers of a demo are staged beside it, and removed when it is written again."""
    demos = tmp_path / "data" / "demos"

    def kill() -> None:
        while not any(demos.glob(".new-*/public/images/*")):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    def begin(_: Path) -> None:
        threading.Thread(target=kill).start()
        make_demo("demo-digits", demos)  # a file for each of 1797 pictures

    _killed(begin, tmp_path)
    (left,) = demos.glob(".new-*")
    assert remove_leftovers(ProjectFolder(tmp_path)) == [left]
