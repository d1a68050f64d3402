"""The stages of dvc.yaml, as a user of DVC runs them in a fresh clone."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.forked import run_forked

ROOT = Path(__file__).parents[2]
_LEFT_OUT = ("shared/", "tests/", "data/")  # `make demo` writes DVC pointers below data/
_IDENTITY = ("-c", "user.name=u", "-c", "user.email=u@x")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a repository that holds this tree."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    for name in _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(_LEFT_OUT):
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, origin / name)
    params = origin / "params.yaml"
    quick = params.read_text()
    for usual, short in (
        ("refit: true", "refit: false"),
        ("prove: true", "prove: false"),
        ("iterations: null", "iterations: 0"),
        ("folds: auto", "folds: 0"),
    ):
        quick = quick.replace(usual, short)
    params.write_text(quick)
    _git(origin, "init", "--quiet")
    _git(origin, "add", "--all")
    _git(origin, *_IDENTITY, "commit", "--quiet", "-m", "all of it")
    subprocess.run(["git", "clone", "--quiet", origin, clone], check=True, capture_output=True)
    return clone


def _dvc(clone: Path, *arguments: str) -> str:
    here = str(Path(sys.executable).parent)  # as an activated environment does
    env = {**os.environ, "PYTHONPATH": str(clone), "PATH": f"{here}:{os.environ['PATH']}"}
    said = clone.with_name("stdout"), clone.with_name("stderr")
    code = run_forked(arguments, clone, env, said, seconds=280, program="dvc")
    stdout, stderr = (path.read_text() for path in said)
    assert code == 0, stderr + stdout
    return stdout


def _outdated(clone: Path) -> set[str]:
    """Return the names of stages that `dvc repro` would run, without those that follow from them."""
    return set(json.loads(_dvc(clone, "status", "--json")))


def _touched(clone: Path, name: str, old: str, new: str) -> set[str]:
    """Return the outdated stages after a change of a file, then undo the change."""
    path = clone / name
    before = path.read_bytes()
    path.chmod(0o644)
    assert old in before.decode()
    path.unlink()  # it may be a link into DVC's cache
    path.write_bytes(before.replace(old.encode(), new.encode(), 1))
    outdated = _outdated(clone)
    path.write_bytes(before)
    return outdated


@pytest.mark.timeout(900)  # campaigns, and DVC around them
@pytest.mark.parametrize(
    "seeds", [(0,), pytest.param((0, 1), marks=pytest.mark.torture)], ids=["one seed", "two seeds"]
)
def test_stages_run_in_a_fresh_clone(seeds: tuple[int, ...], clone: Path, shared_server: str) -> None:
    """A change runs the stages that depend on it; campaigns are DVC experiments, which its gc keeps."""
    _dvc(clone, "repro", "--quiet")
    first = json.loads((clone / "data" / "evaluated" / "0" / "metrics.json").read_text())
    assert first["score"] > 0.9
    solved = json.loads((clone / "data" / "solved" / "0" / "metrics.json").read_text())
    assert solved["valid_attempts"] == 1
    assert "data/solved/0/scores.csv" in _dvc(clone, "plots", "show", "--json")
    (clone / "dvc.lock").unlink()
    shutil.rmtree(clone / "data" / "solved")
    _dvc(clone, "repro", "--quiet")  # by DVC's run cache, without another campaign
    assert json.loads((clone / "data" / "solved" / "0" / "metrics.json").read_text()) == solved
    _git(clone, "add", "dvc.lock", "data/solved", "data/evaluated")
    _git(clone, *_IDENTITY, "commit", "--quiet", "-m", "run")
    head = _git(clone, "rev-parse", "HEAD").strip()

    assert _outdated(clone) == set()
    assert _touched(clone, "comind/baseline/__init__.py", '"""', '"""A ') == {"solve@0"}
    assert _touched(clone, "params.yaml", "coders: 4", "coders: 3") == {"solve@0"}
    row = (clone / "data/demos/demo-tumours/public/train.csv").read_text().splitlines()[1]
    changed = _touched(clone, "data/demos/demo-tumours/public/train.csv", row, row + "1")
    assert changed == {"demos", "prepare", "evaluate@0"}

    for seed in seeds[1:]:
        _dvc(clone, "exp", "run", "--quiet", "-S", f"seeds=[{seed}]")
    assert _git(clone, "rev-parse", "HEAD").strip() == head
    campaigns = _git(clone, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/comind/").split()
    assert len(campaigns) == len(seeds)
    shown = json.loads(_dvc(clone, "exp", "show", "--json", "-A"))
    committed = next(each for each in shown if each["rev"] == head)
    assert (
        committed["data"]["metrics"]["data/evaluated/0/metrics.json"]["data"]["score"] == first["score"]
    )
    experiments = {
        each["name"]: each["revs"][0]["data"] for one in shown for each in one["experiments"] or []
    }
    assert experiments.keys() >= set(campaigns)
    values = experiments[campaigns[0]]["metrics"]["runs/campaign/metrics.json"]["data"]
    assert values["validation_score"] == solved["validation_score"]

    _dvc(clone, "gc", "--all-experiments", "--force")
    _git(clone, "checkout", "--quiet", ".")
    _git(clone, "clean", "--quiet", "-d", "--force", "data", "runs")  # as in a clone without this data
    _dvc(clone, "gc", "--all-experiments", "--force")
    _dvc(clone, "exp", "apply", campaigns[0])
    assert list(clone.glob("data/splits/*/public/train.csv"))
    assert list(clone.glob("data/solutions/*/attempt-000/code.py"))
