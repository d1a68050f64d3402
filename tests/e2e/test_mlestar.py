"""`comind solve --agent mlestar` through the real command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from tests.e2e.command import Ran, comind
from tests.e2e.programs import LINEAR, SAMPLE

_SIGKILLED = -9

_BLOCK = "model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))"
_STUDY = """
import json
for component, score in (("all", 0.9), ("scaler", 0.8)):
    print(json.dumps({"component": component, "score": score}))
"""
_MEAN = """
import pandas as pd
from pathlib import Path

folders = sorted(Path('input/solutions').iterdir())
for name in ('validation_submission.csv', 'submission.csv'):
    pd.read_csv(folders[-1] / name).to_csv(name, index=False)
print(len(folders), 'solutions')
"""


def _rule(reply: str, contains: str = "", **say: Any) -> dict[str, Any]:
    return {"reply": reply, "contains": contains, "say": say}


_MODELS = [
    {"name": "Linear", "description": "A logistic regression.", "used": [1]},
    {"name": "Sample", "description": "The samples."},
]
_RULES = [
    _rule("Labels", "Categories:", numbers=[6]),
    _rule("Labels", numbers=[1]),
    _rule("Models", models=_MODELS),
    _rule("Program", "integrates the second", code=SAMPLE),
    _rule("Program", "Write an ablation study", code=_STUDY),
    _rule("Program", "new version of the block", code=_BLOCK.replace("1000", "2000, C=0.5")),
    _rule("Program", "Sample: The samples.", code=SAMPLE),
    _rule("Program", code=LINEAR),
    _rule("Leakage", leaks=False, reason="Fitted on train alone."),
    _rule("Usage", complete=True),
    _rule("Target", block=_BLOCK, summary="The scaler matters.", plan="Regularise."),
    _rule("Strategy", plan="Take one.", code=_MEAN),
]
_SIZE = [
    f"{name}={n}" for name, n in (("models", 2), ("outer", 1), ("inner", 1), ("ensemble_rounds", 1))
]
_OPTIONS = ("--coders", "2", "--baseline", "none", "--no-monitor", "--no-blend", "--no-refit")


def _solve(project: Path, *more: str, **how: Any) -> Ran:
    project.mkdir(parents=True, exist_ok=True)
    script = project / "rules.yaml"
    script.write_text(json.dumps(_RULES))
    given = ("--agent", "mlestar", "--model", f"scripted:{script}", "--out", project, "--json")
    size = [part for each in _SIZE for part in ("--set", each)]
    return comind("solve", "demo-tumours", *given, *size, *_OPTIONS, *more, **how)


def _state(project: Path) -> CampaignState:
    [campaign] = (project / "runs").iterdir()
    return read_state(ProjectFolder(project).campaign(campaign.name))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> Path:
    """A project whose campaign was killed in a refinement, and resumed to its end."""
    folder = tmp_path_factory.mktemp("star")
    killed = _solve(folder, prove=True, COMIND_KILL_AT="cell-recorded:7")
    assert killed.exit_code == _SIGKILLED, killed.stderr
    [campaign] = (folder / "runs").iterdir()
    ran = comind("solve", "--resume", campaign.name, "--out", folder, "--json", prove=True)
    assert ran.exit_code == 0, ran.stderr
    return folder


def test_a_killed_campaign_has_all_phases(project: Path) -> None:
    """Candidates, merges, refinements and the ensemble have scores; the merge does not gain."""
    attempts = _state(project).works.attempts()
    assert sorted(each.work.draft.strategy for each in attempts) == sorted(
        [
            *(f"candidate {s}.{n}" for s in (1, 2) for n in (1, 2)),
            *(f"{phase} {s}.1" for s in (1, 2) for phase in ("merge", "refine")),
            "ensemble 0.0",
        ]
    )
    assert all(each.score for each in attempts)
    refined = [
        each.outcome.report
        for each in attempts
        if each.work.draft.strategy == "refine 1.1"
        if each.outcome
    ]
    assert "- scaler: 0.8" in refined[0]
    assert _BLOCK in refined[0]


def test_its_scripts_give_the_same(project: Path) -> None:
    """Every script that was proved predicts what was scored, and the result is reproduced."""
    state = _state(project)
    assert {each.proof for each in state.proofs.values()} == {"identical"}
    assert comind("reproduce", state.spec.id, "--out", project).exit_code == 0


def test_a_web_search_is_refused_under_an_as_of_time(tmp_path: Path) -> None:
    """In one line, before anything runs."""
    ran = _solve(tmp_path, "--set", "web_search=true", "--as-of", "2024-01-01T00:00:00Z")
    assert ran.exit_code == 2
    assert "web_search" in ran.json["error"]["message"]
