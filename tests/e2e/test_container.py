"""Our agent in the folders of an MLE-bench container, without its image."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.mlebench.catalog import Mode
from comind.mlebench.prepared import PreparedFolder

_ROOT = Path(__file__).parents[2]
_ID = "tabular-playground-series-may-2022"


def _prepare(root: Path) -> PreparedFolder:
    """Write a small competition as `mlebench prepare` leaves it."""
    random = np.random.default_rng(1)
    table = pd.DataFrame(random.normal(size=(260, 4)).round(3), columns=list("abcd"))
    table.insert(0, "id", range(260))
    table["target"] = (table["a"] + table["b"] + random.normal(size=260) > 0).astype(int)
    train, test = table[:200], table[200:]
    prepared = root / _ID / "prepared"
    for part in ("public", "private"):
        (prepared / part).mkdir(parents=True)
    train.to_csv(prepared / "public" / "train.csv", index=False)
    test.drop(columns="target").to_csv(prepared / "public" / "test.csv", index=False)
    sample = test[["id"]].assign(target=0.5)
    sample.to_csv(prepared / "public" / "sample_submission.csv", index=False)
    (prepared / "public" / "description.md").write_text("# Tell the target\n")
    test[["id", "target"]].to_csv(prepared / "private" / "test.csv", index=False)
    found = PreparedFolder.find(root, _ID)
    assert found is not None
    return found


def _start(home: Path, data: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run start.sh as the container does, with a root of its own."""
    places = {f"{key.upper()}_DIR": str(home / key) for key in ("submission", "logs", "code", "agent")}
    (home / "agent").mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [_ROOT / "infra" / "mlebench" / "start.sh", *arguments],
        env={
            **os.environ,
            **places,
            "DATA_DIR": str(data),
            "COMPETITION_ID": _ID,
            "COMIND_PYTHON": sys.executable,
            "COMIND_SOURCE": str(_ROOT),
            **env,
        },
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.torture  # a campaign in a container; what the image needs is checked below
def test_an_agent_in_the_container(tmp_path: Path, shared_server: str) -> None:
    """The submission lies where it is graded, and is valid there; log and code lie beside it."""
    prepared = _prepare(tmp_path / "data")
    home = tmp_path / "home"
    arguments = ("--model", "offline", "--profile", "quick", "--iterations", "0")
    done = _start(home, prepared.public, *arguments, TIME_LIMIT_SECS="600")
    assert done.returncode == 0, done.stderr + (home / "logs" / "comind.log").read_text()
    submission = home / "submission" / "submission.csv"
    assert sorted(path.name for path in submission.parent.iterdir()) == ["submission.csv"]
    grade = prepared.grader.grade(submission, Mode.MLEBENCH)
    assert grade.valid, grade.message
    assert grade.score is not None
    assert grade.score > 0.7
    assert "submission.csv" in (home / "code" / "train.py").read_text()
    told = json.loads((home / "logs" / "metadata.json").read_text())
    assert (told["track"], told["test_feedback"]) == ("closed", "none")
    assert (home / "logs" / "agent.log").is_file()
    assert not list(home.rglob("private/*"))


@pytest.mark.parametrize(
    ("env", "line"),
    [
        ({"COMPETITION_ID": ""}, "COMPETITION_ID is not set"),
        ({"COMPETITION_ID": "chess"}, "chess: is not one of the 75 competitions of MLE-bench"),
        ({"TIME_LIMIT_SECS": "soon"}, "TIME_LIMIT_SECS is 'soon', which is no number of seconds"),
        ({}, "has no table of labels"),
    ],
)
def test_a_container_set_up_wrongly_is_told(tmp_path: Path, env: dict[str, str], line: str) -> None:
    """One line says what is wrong, before anything is started."""
    from comind.errors import UsageError
    from comind.mlebench.container import ContainerPaths, run

    (tmp_path / "data").mkdir()
    folders = {
        f"{key.upper()}_DIR": str(tmp_path / key)
        for key in ("data", "submission", "logs", "code", "agent")
    }
    with pytest.raises(UsageError, match=line):
        run(ContainerPaths.from_environment({"COMPETITION_ID": _ID, **folders, **env}))
