"""The closing phase of a campaign with two scored attempts: folds, a blend, its proof and its refit."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import read_state
from comind.domain.draft import Operator
from comind.system.failpoints import CLOSING_POINTS
from tests.e2e.command import QUIET, comind
from tests.e2e.sums_competition import sums_competition

_CODE = """
import pandas as pd, random
draw = random.Random({seed})
for asked, name in (('validation', 'validation_submission.csv'), ('test', 'submission.csv')):
    rows = pd.read_csv(f'input/sums/{{asked}}.csv')
    y = [x + draw.gauss(0, 0.5) for x in rows['x']]
    pd.DataFrame({{'id': rows['id'], 'y': y}}).to_csv(name, index=False)
"""


_PROGRAM = """
import argparse
from pathlib import Path

import pandas as pd

parser = argparse.ArgumentParser()
for name in ("--input_dir", "--public_dir", "--private_dir", "--pred", "--report"):
    parser.add_argument(name, type=Path)
given = parser.parse_args()
"""
_SPLIT = (
    _PROGRAM
    + """
given.public_dir.mkdir()
given.private_dir.mkdir()
train = pd.read_csv(given.input_dir / "train.csv", dtype=str)
held = train[train.index % 5 == 0]
train.drop(held.index).to_csv(given.public_dir / "train.csv", index=False)
held[["id", "x"]].to_csv(given.public_dir / "validation.csv", index=False)
sample = given.public_dir / "sample_validation_submission.csv"
held[["id"]].assign(y=0).to_csv(sample, index=False)
held[["id", "y"]].to_csv(given.private_dir / "validation_answers.csv", index=False)
"""
)
_EVALUATE = (
    _PROGRAM
    + """
truth = pd.read_csv(given.private_dir / "validation_answers.csv", index_col="id")["y"]
guess = pd.read_csv(given.pred, index_col="id")["y"]
right = set(truth.index) == set(guess.index)
score = float(((truth - guess) ** 2).mean()) if right else None
given.report.write_text(pd.Series({"score": score, "success": right, "message": ""}).to_json())
"""
)


def _script(root: Path) -> Path:
    """Write what the model says: two drafts, each of which hands in at its first step."""
    titles = ("alpha", "beta")
    drafts = [{"title": title, "kind": "novel", "method": f"Guess {title}."} for title in titles]
    steps = [
        {
            "reply": "CodingStep",
            "contains": f"Guess {title}",
            "say": {"goal": "Hand in.", "code": _CODE.format(seed=seed)},
        }
        for seed, title in enumerate(titles)
    ]
    rules = [
        *QUIET,
        {"reply": "Selection", "say": {"ideas": []}},
        {"reply": "Drafts", "say": {"drafts": drafts}},
        {"reply": "SplitScript", "say": {"code": _SPLIT}},
        {"reply": "EvaluateScript", "say": {"metric": "gap", "maximize": False, "code": _EVALUATE}},
        {"reply": "CodingStep", "contains": "Best so far", "say": {"goal": "Done.", "code": ""}},
        *steps,
    ]
    path = root / "script.yaml"
    path.write_text(yaml.safe_dump(rules))
    return path


# tests/unit/campaign/test_blend.py kills at every event, test_demo.py blends in a real campaign.
@pytest.mark.timeout(900)  # up to seven processes, one after another
@pytest.mark.parametrize(
    ("points", "folds"),
    [
        pytest.param(("fold-made",), 1, id="on a fold", marks=pytest.mark.torture),
        pytest.param((*CLOSING_POINTS, "final-picked"), 2, id="all", marks=pytest.mark.torture),
    ],
)
def test_a_blend_is_an_attempt_like_any_other(
    points: Sequence[str], folds: int, tmp_path: Path, shared_server: str
) -> None:
    """Killed on the way, it is judged over a fold, has score, lineage, run, proved script and refit."""
    project = tmp_path / "project"
    arguments: list[str | Path] = [
        "solve", sums_competition(tmp_path), "--model", f"scripted:{_script(tmp_path)}",
        "--baseline", "none", "--iterations", "1", "--folds", str(folds), "--out", project, "--json",
    ]  # fmt: skip
    for point in points:
        ran = comind(*arguments, prove=True, COMIND_KILL_AT=point)
        assert ran.exit_code == -signal.SIGKILL, f"{point} was not reached: {ran.stderr}"
        campaign = next((project / "runs").iterdir()).name
        arguments = ["solve", "--resume", campaign, "--out", project, "--json"]
    ran = comind(*arguments)
    assert ran.exit_code == 0, ran.stderr
    assert len(list((project / "runs").iterdir())) == 1
    folder = ProjectFolder(project).campaign(campaign)
    state = read_state(folder)
    assert ran.json["picked"] == "blend-000", ran.json["blend"]
    assert ran.json["refitted"]
    assert ran.json["folds"] == folds
    assert ran.json["confidence"] > 0.9
    assert ran.json["shrinkage"] is not None
    ran_on = [each.work.fold for each in state.works.codes(Operator.FOLD) if each.score]
    assert ran_on == [fold for fold in (1, 2) for _ in "ab" if fold <= folds]
    assert state.judged is not None
    assert state.judged.folds == folds
    assert state.best is not None
    assert ran.json["validation_score"] < 0.9 * state.best.score.value.value
    assert {name: proof.proof for name, proof in state.proofs.items()} == dict.fromkeys(
        ("blend-000", "refit-000", "attempt-000", "attempt-001"), "identical"
    )
    lineage = json.loads((folder.root / "blend-000" / "lineage.json").read_text())
    assert lineage["operator"] == "blend"
    assert sorted(each["attempt"] for each in lineage["blend"]["members"]) == sorted(
        each["attempt"] for each in lineage["parents"]
    )
    assert "blend-000" in json.loads(folder.runs.read_text())
    again = comind("reproduce", campaign, "--all", "--out", project, "--json")
    assert again.exit_code == 0, again.stderr
    names = ["blend-000", "refit-000", "attempt-000", "attempt-001"]
    names += [f"fold-{number:03d}" for number in range(2 * folds)]
    assert [part["attempt"] for part in again.json["parts"]] == names
    assert again.json["verdict"] == "identical"
    assert all(part["score"] == part["expected_score"] for part in again.json["parts"])
    told = comind("lineage", campaign, "--out", project)
    assert "blend of 2 scored steps" in told.stdout


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_a_campaign_without_a_metric_gets_a_fold_and_a_blend(tmp_path: Path, shared_server: str) -> None:
    """The program that the model wrote scores attempts, their runs on a fold, and the blend."""
    competition = sums_competition(tmp_path)
    described = yaml.safe_load((competition / "competition.yaml").read_text())
    del described["metric"]
    (competition / "competition.yaml").write_text(yaml.safe_dump(described))
    project = tmp_path / "project"
    ran = comind(
        "solve", competition, "--model", f"scripted:{_script(tmp_path)}",
        "--baseline", "none", "--iterations", "1", "--folds", "1", "--out", project, "--json",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    assert (ran.json["picked"], ran.json["folds"]) == ("blend-000", 1), ran.json
    [campaign] = (project / "runs").iterdir()
    state = read_state(ProjectFolder(project).campaign(campaign.name))
    assert len([each for each in state.works.codes(Operator.FOLD) if each.score]) == 2
    assert state.best is not None
    assert ran.json["validation_score"] < 0.9 * state.best.score.value.value
    again = comind("reproduce", campaign.name, "--all", "--out", project, "--json")
    assert again.exit_code == 0, again.stderr
    assert again.json["verdict"] == "identical"
    assert all(part["score"] == part["expected_score"] for part in again.json["parts"])
