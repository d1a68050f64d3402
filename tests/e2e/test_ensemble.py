"""Two attempts that err apart are stacked by a third, which is proved, refitted and reproduced."""

from pathlib import Path

import pytest
import yaml

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.domain.draft import Operator
from tests.e2e.command import QUIET, comind
from tests.e2e.sums_competition import sums_competition

_GUESS = """
import random
draw = random.Random({seed})
said = lambda rows: [x + draw.gauss(0, 0.5) for x in rows['x']]
submit(said(validation), said(test), said(train))
"""
_STACK = """
from sklearn.linear_model import LinearRegression
assert len(folds) == len(train)
known = stack_train.notna().all(axis=1)
second = LinearRegression().fit(stack_train[known], train['y'][known])
print('rows', known.sum())
submit(second.predict(stack_validation), second.predict(stack_test))
"""


def _script(root: Path) -> Path:
    """Write what the model says: two guesses, then a stack of both."""
    first = [
        {"title": title, "kind": "novel", "method": f"Guess {title}."} for title in ("alpha", "beta")
    ]
    stack = {"title": "stack", "method": "Stack.", "combine": ["attempt-000", "attempt-001"]}
    cells = {title: _GUESS.format(seed=seed) for seed, title in enumerate(("alpha", "beta"))}
    rules = [
        *QUIET,
        {"reply": "Selection", "say": {"ideas": []}},
        {"reply": "Drafts", "contains": "One of them may be an `ensemble`", "say": {"drafts": [stack]}},
        {"reply": "Drafts", "say": {"drafts": first}},
        {"reply": "CodingStep", "contains": "Best so far", "say": {"goal": "Done.", "code": ""}},
        *(
            {
                "reply": "CodingStep",
                "contains": f"Guess {title}",
                "say": {"goal": "Hand in.", "code": code},
            }
            for title, code in cells.items()
        ),
        {
            "reply": "CodingStep",
            "contains": "A stack in short",
            "say": {"goal": "Stack.", "code": _STACK},
        },
    ]
    path = root / "script.yaml"
    path.write_text(yaml.safe_dump(rules))
    return path


@pytest.mark.torture  # tests/unit/agents/test_ensembles.py
def test_an_ensemble_is_picked_refitted_and_reproduced(tmp_path: Path, shared_server: str) -> None:
    """Its members' predictions are mounted wherever its code runs; they are refitted before it."""
    project = tmp_path / "project"
    ran = comind(
        "solve", sums_competition(tmp_path), "--model", f"scripted:{_script(tmp_path)}",
        "--baseline", "none", "--no-blend", "--iterations", "2", "--coders", "2",
        "--out", project, "--json",
        prove=True,
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    folder = ProjectFolder(project).campaign(ran.json["campaign"])
    state = read_state(folder)
    assert state.compared is not None
    assert state.compared.correlation("attempt-000", "attempt-001") == 0.0
    stacked = state.works.attempt("attempt-002")
    assert stacked.work.operator is Operator.ENSEMBLE
    assert ran.json["picked"] == "attempt-002"
    assert ran.json["refitted"]
    refits = state.works.codes(Operator.REFIT)
    assert [each.work.parents for each in refits] == [
        ("attempt-000",),
        ("attempt-001",),
        ("attempt-002",),
    ]
    assert refits[2].work.inputs == ("refit-000", "refit-001")
    assert set(state.proofs) == {"attempt-000", "attempt-001", "attempt-002", "refit-002"}
    assert {proof.proof for proof in state.proofs.values()} == {"identical"}
    rows = (folder.root / "refit-002" / "log.jsonl").read_text()
    assert "rows 390" in rows, "ten stay in validation.csv"
    lineage = comind("lineage", ran.json["campaign"], "--out", project, "--json")
    nodes = {each["id"]: each for each in lineage.json["nodes"]}
    members = {"solution:attempt-000", "solution:attempt-001"}
    assert members <= nodes.keys()
    read = ["solution:attempt-002", "solution:refit-000", "solution:refit-001"]
    assert nodes["solution:refit-002"]["parents"] == read
    again = comind("reproduce", ran.json["campaign"], "--out", project, "--json")
    assert again.exit_code == 0, again.stderr
    assert [part["attempt"] for part in again.json["parts"]] == ["attempt-002", "refit-002"]
    assert again.json["verdict"] == "identical"
