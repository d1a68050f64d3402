"""Campaigns of one project, in one process or two, stay under its limit; killed ones are resumed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.campaign.work.project_budget import ProjectBudget, owed_by_logs
from tests.orchestration.spending_campaign import billed, run_campaign

LIMIT = 20.0
_OPEN = 0.95 * LIMIT  # the rest is for requests that finish work


def _begin(
    project: Path, *campaigns: str, kill_at: str = "", after: int = 0
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "tests.orchestration.spending_campaign", str(project), *campaigns]
    more = {"BEGIN_AFTER": str(after), **({"COMIND_KILL_AT": kill_at} if kill_at else {})}
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more})


def _holds(project: ProjectFolder) -> None:
    costs = ProjectBudget(project).costs()
    assert billed(project.root) <= costs.total <= LIMIT
    for name, cost in costs.campaigns.items():
        assert cost.reserved == 0, "all have ended"
        assert cost.settled <= owed_by_logs(project.campaign(name)).usd


def _ended_by_limit(project: ProjectFolder, name: str) -> bool:
    ended = read_state(project.campaign(name)).ended
    return (
        ended is not None and ended.project_usd == LIMIT and "raise limits.project_usd" in ended.detail
    )


def test_two_processes_share_a_limit_and_one_is_killed(tmp_path: Path) -> None:
    """The other spends what is left; the killed one, resumed, has nothing more and says who spent it."""
    project = ProjectFolder(tmp_path)
    ProjectBudget(project).set_limit(LIMIT)
    killed, other = _begin(tmp_path, "a", kill_at="call-sent:4"), _begin(tmp_path, "b", after=1)
    assert killed.wait(60) == -signal.SIGKILL
    assert other.wait(60) == 0
    assert _ended_by_limit(project, "b")
    run_campaign(project, "a")
    assert _ended_by_limit(project, "a")
    _holds(project)
    assert ProjectBudget(project).costs().total > _OPEN - 3, "what no request needs is not held back"


def test_two_campaigns_of_a_killed_process_are_resumed_under_their_limit(tmp_path: Path) -> None:
    """Killed between a reply and its record, both continue in this process until the limit is spent."""
    project = ProjectFolder(tmp_path)
    ProjectBudget(project).set_limit(LIMIT)
    assert _begin(tmp_path, "a", "b", kill_at="reply-recorded:6").wait(60) == -signal.SIGKILL
    before = billed(tmp_path)
    assert 0 < before < _OPEN
    for name in ("a", "b"):
        run_campaign(project, name)
    _holds(project)
    ProjectBudget(project).set_limit(LIMIT + 10)
    state = run_campaign(project, "b")
    assert state.ended is not None
    assert state.ended.project_usd == LIMIT + 10
    assert LIMIT < ProjectBudget(project).costs().total <= LIMIT + 10


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(12))
def test_processes_killed_at_random_stay_under_the_limit(seed: int, tmp_path: Path) -> None:
    """Three processes with two campaigns each, killed at any call and begun again until all end."""
    project = ProjectFolder(tmp_path)
    ProjectBudget(project).set_limit(LIMIT)
    points = ("call-sent", "reply-recorded", "cell-recorded", "work-finished")
    for turn in range(3):
        kills = [
            f"{points[(seed + turn + n) % 4]}:{1 + (seed * 7 + n * 3 + turn) % 5}" for n in range(3)
        ]
        started = [_begin(tmp_path, f"a{n}", f"b{n}", kill_at=kill) for n, kill in enumerate(kills)]
        for process in started:
            assert process.wait(120) in (0, -signal.SIGKILL)
        total = ProjectBudget(project).costs().total
        assert billed(tmp_path) <= total <= LIMIT
    for name in project.campaigns():
        run_campaign(project, name)
    _holds(project)
