"""Campaigns whose submissions are programs: a built-in problem, and a user's folder with a scorer."""

import json
import shutil
from pathlib import Path

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from tests.e2e.command import comind

_EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "close-pairs"
_SIGKILLED = -9
pytestmark = pytest.mark.usefixtures("shared_server")


def test_a_problem_is_solved_by_its_first_program_without_a_model(tmp_path: Path) -> None:
    """The program is delivered, graded on the test instances, and proved; what has no sense says why."""
    ran = comind("solve", "demo-bin-packing", "--model", "offline", "--out", tmp_path, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["submission"].endswith("solver.py")
    assert "a program is not fitted on rows" in ran.stderr
    graded = comind("grade", "demo-bin-packing", ran.json["submission"], "--json")
    assert graded.json["valid"]
    assert graded.json["score"] == pytest.approx(0.9, abs=0.1)
    again = comind("reproduce", ran.json["campaign"], "--out", tmp_path)
    assert "verdict      identical" in again.stdout
    [report] = comind("report", tmp_path / "runs" / ran.json["campaign"], "--json").json[
        "competition_reports"
    ]
    assert report["score"] == graded.json["score"]


@pytest.mark.parametrize("killed_at", ["", "cell-recorded"])
def test_a_function_is_made_faster_by_recorded_replies(killed_at: str, tmp_path: Path) -> None:
    """The example of the documentation ends with a better program, also when it was killed."""
    folder = shutil.copytree(_EXAMPLE, tmp_path / "close-pairs")
    words = (folder, "--agent", "greedy", "--model", f"scripted:{folder}/replies.yaml")
    out = ("--out", tmp_path, "--json")
    ran = comind("solve", *words, "--evaluations", "3", "--coders", "1", *out, COMIND_KILL_AT=killed_at)
    if killed_at:
        assert ran.exit_code == _SIGKILLED, ran.stderr
        [campaign] = ProjectFolder(tmp_path).campaigns()
        ran = comind("solve", "--resume", campaign, *out)
    assert ran.exit_code == 0, ran.stderr
    state = read_state(ProjectFolder(tmp_path).campaign(ran.json["campaign"]))
    first, second, *_ = state.works.attempts()
    assert state.picked is not None
    assert state.picked.work_id == second.id
    assert second.score is not None
    assert first.score is not None
    assert second.score.value.value > 2 * first.score.value.value
    assert second.outcome is not None
    assert "mean score on 4 development instances" in second.outcome.cells[-1].output
    assert state.spend.evaluations == 3


def test_feedback_of_the_test_is_flagged_and_refused_for_tables(tmp_path: Path) -> None:
    """A campaign that is scored on the test instances says so in its report."""
    words = ("--model", "offline", "--feedback", "test", "--out", tmp_path)
    refused = comind("solve", "demo-tumours", *words)
    assert refused.exit_code == 2
    assert "feedback: test is for competitions of programs" in refused.stderr
    ran = comind("solve", "demo-flow-shop", *words, "--json")
    assert ran.exit_code == 0, ran.stderr
    [report] = comind("report", tmp_path / "runs" / ran.json["campaign"], "--json").json[
        "competition_reports"
    ]
    assert report["test_feedback"] == "scores on the test instances"
    assert report["validation_score"] == pytest.approx(report["score"])


def test_a_folder_without_a_scorer_is_refused_in_one_line(tmp_path: Path) -> None:
    """A description of programs needs scorer.py, and no keys of tables."""
    (tmp_path / "competition.yaml").write_text("program: {seconds: 1}\n")
    missing = comind("inspect", tmp_path)
    assert missing.exit_code == 2
    assert "has no scorer.py" in missing.stderr
    shutil.copy(_EXAMPLE / "scorer.py", tmp_path)
    (tmp_path / "competition.yaml").write_text("metric: rmse\n")
    tables = comind("inspect", tmp_path)
    assert "'metric' is a key of tables" in tables.stderr
    (tmp_path / "competition.yaml").unlink()
    (tmp_path / "instances.json").write_text(json.dumps([{"instance": {"points": [], "radius": 1}}]))
    few = comind("inspect", tmp_path)
    assert "1 instance; at least 4 are needed" in few.stderr
