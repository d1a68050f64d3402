"""The recipes that ship run real programs of others (`make peers`), killed and resumed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.work_state import WORK_LOG
from tests.doubles.endpoint import Endpoint
from tests.doubles.tool_calls import calling
from tests.e2e.command import begin_tracking
from tests.e2e.sums_competition import sums_competition
from tests.unit.programs.small_problems import write_problem

_ROOT = Path(__file__).parents[2]
_SIGKILLED = -9
_PROGRAM = """I fit a forest.

```python
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

train, test = pd.read_csv("./input/train.csv"), pd.read_csv("./input/test.csv")
form = pd.read_csv("./input/sample_submission.csv")
target = form.columns[-1]
columns = [name for name in test if test[name].dtype != object and name != form.columns[0]]
model = RandomForestRegressor(20, random_state=0).fit(train[columns].fillna(-1), train[target])
form[target] = model.predict(test[columns].fillna(-1)).round().astype(int)
form.to_csv("./working/submission.csv", index=False)
print("Validation: 0.8")
```
"""
_CELL = """
columns = [name for name in X_train if X_train[name].dtype != object]
from sklearn.ensemble import RandomForestRegressor
model = RandomForestRegressor(20, random_state=0).fit(X_train[columns].fillna(-1), y_train)
found = pd.Series(model.predict(X_holdout[columns].fillna(-1))).round().astype(int)
found.to_csv("predictions.csv", index=False, header=False)
"""
_CHANGE = """All numbers have room.

<<<<<<< SEARCH
    return [max(numbers)]
=======
    return numbers
>>>>>>> REPLACE
"""
_REVIEW = {"is_bug": False, "summary": "It works.", "metric": 0.8, "lower_is_better": False}
_PLAN: dict[str, Any] = {
    "name": "peers",
    "seeds": 1,
    "common": {
        "model": "large",
        "models": {"default": {"price": {"prompt": 1, "completion": 1}, "context_tokens": 64_000}},
        "minutes": 3,
        "max_usd": 2,
        "evaluations": 2,
        "baseline": "none",
        "folds": 0,
        "prove": False,
        "refit": False,
    },
    "arms": {name: {"profile": name} for name in ("aideml", "iterate-ai", "autogluon")},
}


def _bench(project: Path, server: Endpoint, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the bench, for longer than commands of other tests take."""
    given = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-canary", **env}
    argv = [sys.executable, "-m", "comind.cli", "bench", "peers.yaml", "--out", ".", "--json"]
    return subprocess.run(
        argv, cwd=project, env=os.environ | given, capture_output=True, text=True, check=False
    )


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not (_ROOT / ".peers").is_dir(), reason="make peers builds them")
def test_the_recipes_end_a_bench_that_is_killed_and_resumed(tmp_path: Path, shared_server: str) -> None:
    """aideml, iterate-ai and AutoGluon hand in predictions for three competitions, within budget."""
    del shared_server
    (tmp_path / ".peers").symlink_to(_ROOT / ".peers")
    competitions = ["demo-tumours", "demo-diabetes", str(sums_competition(tmp_path))]
    (tmp_path / "peers.yaml").write_text(yaml.safe_dump({**_PLAN, "competitions": competitions}))
    begin_tracking(tmp_path)
    replies = calling({"submit_review": _REVIEW, "run_cell": {"code": _CELL}})
    with Endpoint(lambda asked: _PROGRAM, replies) as server:
        killed = _bench(tmp_path, server, COMIND_KILL_AT="reply-recorded")
        assert killed.returncode == _SIGKILLED, killed.stderr
        ran = _bench(tmp_path, server)
    assert ran.returncode == 0, ran.stderr
    runs = json.loads(ran.stdout)["runs"]
    assert {(each["arm"], each["competition"], each["reason"]) for each in runs} == {
        (arm, name, "") for name in ("demo-tumours", "demo-diabetes", "sums") for arm in _PLAN["arms"]
    }
    folders = [ProjectFolder(tmp_path).campaign(each["campaign"]) for each in runs]
    calls = [call for each in folders for call in WORK_LOG.read(each.work("attempt-000").log).calls]
    assert sum(call.reply is not None for call in calls) == server.completed
    assert all(each["usd"] <= 2 for each in runs)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.skipif(not (_ROOT / ".peers").is_dir(), reason="make peers builds them")
def test_openevolve_improves_a_program(tmp_path: Path, shared_server: str) -> None:
    """It gets the first program and the development instances, and its best program is scored."""
    del shared_server
    (tmp_path / ".peers").symlink_to(_ROOT / ".peers")
    folder = tmp_path / "numbers"
    folder.mkdir()
    plan = {**_PLAN, "competitions": [str(write_problem(folder))]}
    plan["arms"] = {"openevolve": {"profile": "openevolve"}}
    (tmp_path / "peers.yaml").write_text(yaml.safe_dump(plan))
    begin_tracking(tmp_path)
    with Endpoint(lambda asked: _CHANGE) as server:
        ran = _bench(tmp_path, server)
    assert ran.returncode == 0, ran.stderr
    [run] = json.loads(ran.stdout)["runs"]
    assert (run["reason"], run["score"], run["normalised_score"]) == ("", 1.0, 1.0)
