"""`make demo`: recorded replies, real code; its folder shows everything that a community does."""

import re
import shlex
from pathlib import Path

import pytest

from comind.agents.comind.pool import pool_of
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.loop import read_state
from tests.e2e.command import Ran, comind

_MAKEFILE = Path(__file__).parents[2] / "Makefile"


def _asked() -> list[str]:
    """Return what `make demo` says to the command line."""
    [said] = re.findall(r"comind (solve .*recorded:.*)", _MAKEFILE.read_text())
    return shlex.split(said)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> tuple[Ran, Path]:
    """How the command of `make demo` ended, and its project."""
    project = tmp_path_factory.mktemp("demo")
    return comind(*_asked(), "--out", project, "--json"), project


def _outcome(state: CampaignState, attempt: str) -> CodeOutcome:
    outcome = state.works.attempt(attempt).outcome
    assert isinstance(outcome, CodeOutcome)
    return outcome


def test_the_demo_shows_a_community(demo: tuple[Ran, Path]) -> None:
    """Reading, ideas, a repair, a publication, a second round, blend, refit and journal are there."""
    ran, project = demo
    assert ran.exit_code == 0, ran.stderr
    assert "\nrecorded: " in ran.stderr
    folder = ProjectFolder(project).campaign(ran.json["campaign"])
    state = read_state(folder)
    pool = pool_of(state)
    assert {"notebook", "discussion", "solution"} <= {report.item_type for report in pool.reports}
    assert not any("in-hindsight" in report.item for report in pool.reports)  # published later
    assert len(pool.ideas) == 12  # four are of discussions
    failed, repaired, *_ = _outcome(state, "attempt-002").cells
    assert "TypeError" in failed.result
    assert repaired.result.startswith("rmse")
    third = state.works.attempt("attempt-003").work
    assert set(third.parents) <= {"attempt-001", "attempt-002"}
    [parent] = third.parents
    assert (ProjectFolder(project).solution(folder.name, parent) / "code.py").is_file()
    assert state.judged is not None
    if state.judged.blend is not None:  # scores are measured here, and so is what an average gains
        assert state.works.blend() is not None
    assert state.refit() is not None
    baseline, picked = _outcome(state, "attempt-000").score, ran.json["validation_score"]
    assert baseline is not None
    assert picked < baseline.value.value
    told = folder.journal.read_text()
    for words in ("## Round 2", "Trees cannot add", "n\\_jobs", "Trees over eight views", "## The end"):
        assert words in told


def test_drafts_are_tried_side_by_side(demo: tuple[Ran, Path]) -> None:
    """The second attempt begins before the first one ends."""
    ran, _ = demo
    lines = ran.stderr.splitlines()
    [begun] = [number for number, line in enumerate(lines) if "attempt-002: draft" in line]
    [ended] = [number for number, line in enumerate(lines) if "attempt-001: done" in line]
    assert begun < ended
