"""The stages of dvc.yaml, as a user of DVC runs them in a fresh clone."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
_IDENTITY = ("-c", "user.name=u", "-c", "user.email=u@x")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a repository that holds this tree, with an interpreter where `make setup` puts it."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    for name in _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("shared/", "tests/")):
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, origin / name)
    params = origin / "params.yaml"
    quick = params.read_text()
    for usual, short in (
        ("refit: true", "refit: false"),
        ("prove: true", "prove: false"),
        ("iterations: null", "iterations: 1"),
    ):
        quick = quick.replace(usual, short)
    params.write_text(quick)
    _git(origin, "init", "--quiet")
    _git(origin, "add", "--all")
    _git(origin, *_IDENTITY, "commit", "--quiet", "-m", "all of it")
    subprocess.run(["git", "clone", "--quiet", origin, clone], check=True, capture_output=True)
    python = clone / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return clone


def _dvc(clone: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.mark.timeout(900)  # two campaigns, and DVC around them
def test_stages_run_in_a_fresh_clone(clone: Path, shared_server: str) -> None:
    """`dvc repro` splits, solves and grades; `dvc exp run -S` solves again with another seed."""
    _dvc(clone, "repro", "--quiet")
    first = json.loads((clone / "data" / "evaluated" / "metrics.json").read_text())
    assert first["score"] > 0.9
    assert json.loads((clone / "data" / "solved" / "metrics.json").read_text())["valid_attempts"] == 1
    _git(clone, "add", "dvc.lock", "data/solved/metrics.json", "data/evaluated/metrics.json")
    _git(clone, *_IDENTITY, "commit", "--quiet", "-m", "run")
    head = _git(clone, "rev-parse", "HEAD")
    assert "up to date" in _dvc(clone, "repro")
    _dvc(clone, "exp", "run", "--quiet", "-S", "solve.seed=1")
    lock = yaml.safe_load((clone / "dvc.lock").read_text())
    assert lock["stages"]["solve"]["params"]["params.yaml"]["solve"]["seed"] == 1
    assert _git(clone, "rev-parse", "HEAD") == head
    shown = json.loads(_dvc(clone, "exp", "show", "--json"))
    committed = next(each for each in shown if each["rev"] == head.strip())
    assert committed["data"]["metrics"]["data/evaluated/metrics.json"]["data"]["score"] == first["score"]
    campaigns = _git(clone, "for-each-ref", "--format=%(refname)", "refs/comind/").split()
    assert len(campaigns) == 2
