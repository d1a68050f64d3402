"""Publishing copies a scored attempt's files, with any content of its workspace."""

import json
import os
from pathlib import Path

import pytest

from comind.adapters.dvc.versioning import ensure_repository, version
from comind.app.publishing import publish_solution
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.outcome import CodeOutcome
from tests.unit.campaign.samples import code, scored


def _attempt(project: Path) -> CodeOutcome:
    folder = ProjectFolder(project).campaign("c1").work("attempt-000")
    folder.submissions(1).mkdir(parents=True)
    folder.validation_submission(1).write_text("id,y\n1,2\n")
    folder.test_submission(1).write_text("id,y\n3,4\n")
    (folder.workspace / "checkpoints").mkdir(parents=True)
    (folder.workspace / "checkpoints" / "model.bin").write_bytes(b"weights")
    return scored(0.9).model_copy(update={"code": "x = 1", "report": "It works."})


def _publish(project: Path, outcome: CodeOutcome) -> Path:
    return publish_solution(project, "c1", "attempt-000", code(), outcome)


def test_a_solution_holds_what_others_need(tmp_path: Path) -> None:
    """A solution's folder has code, report, submissions, checkpoints and a description."""
    outcome = _attempt(tmp_path)
    attempt = ProjectFolder(tmp_path).campaign("c1").work("attempt-000")
    attempt.out_of_fold(1).write_text("id,y\n5,6\n")
    target = _publish(tmp_path, outcome)
    files = sorted(p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_file())
    assert files == [
        "checkpoints/model.bin",
        "code.py",
        "out_of_fold.csv",
        "report.md",
        "solution.json",
        "submission.csv",
        "validation_submission.csv",
    ]
    described = json.loads((target / "solution.json").read_text())
    assert described["outcome"]["score"]["value"] == {"value": 0.9, "maximize": True}
    assert described["note"] == ""


def test_publishing_again_changes_nothing(tmp_path: Path) -> None:
    """Publishing is idempotent: an existing solution is not changed."""
    outcome = _attempt(tmp_path)
    target = _publish(tmp_path, outcome)
    before = (target / "solution.json").stat().st_mtime_ns
    assert _publish(tmp_path, outcome) == target
    assert (target / "solution.json").stat().st_mtime_ns == before
    assert [path.name for path in target.parent.iterdir()] == ["attempt-000"]


@pytest.mark.parametrize("hostile", ["link in folder", "folder is a link", "pipe"])
def test_hostile_checkpoints_are_left_behind(tmp_path: Path, hostile: str) -> None:
    """A link or special file is neither followed nor copied; the checkpoints are omitted."""
    outcome = _attempt(tmp_path)
    secret = tmp_path / "sealed"
    secret.mkdir()
    (secret / "labels.csv").write_text("labels")
    checkpoints = ProjectFolder(tmp_path).campaign("c1").work("attempt-000").workspace / "checkpoints"
    if hostile == "link in folder":
        (checkpoints / "l").symlink_to(secret / "labels.csv")
    elif hostile == "pipe":
        os.mkfifo(checkpoints / "p")
    else:
        (checkpoints / "model.bin").unlink()
        checkpoints.rmdir()
        checkpoints.symlink_to(secret)
    target = _publish(tmp_path, outcome)
    assert not (target / "checkpoints").exists()
    assert all("labels" not in p.read_text() for p in target.rglob("*") if p.is_file())
    assert (target / "submission.csv").is_file()


def test_checkpoints_hold_nothing_that_git_could_act_on(tmp_path: Path) -> None:
    """Checkpoints that git could act on, or whose names DVC refuses, are left out and named."""
    outcome = _attempt(tmp_path)
    checkpoints = ProjectFolder(tmp_path).campaign("c1").work("attempt-000").workspace / "checkpoints"
    (checkpoints / ".git").mkdir()
    (checkpoints / ".git" / "config").write_text("[core]\n\tfsmonitor = touch ran\n")
    (checkpoints / "HEAD").write_text("ref: refs/heads/main\n")
    (checkpoints / os.fsdecode(b"\xff.bin")).write_text("x")
    target = _publish(tmp_path, outcome)
    assert [path.name for path in (target / "checkpoints").iterdir()] == ["model.bin"]
    note = json.loads((target / "solution.json").read_text())["note"]
    assert note.endswith("take no data: checkpoints/.git, checkpoints/HEAD, checkpoints/\ufffd.bin")
    ensure_repository(tmp_path)
    assert version(tmp_path, [target])
