"""`comind solve --agent automind` and `comind knowledge` through the real command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from tests.e2e.command import Ran, comind
from tests.e2e.programs import LINEAR

_SIGKILLED = -9

_READ = """
import shutil
from pathlib import Path

[folder] = [path.parent for path in Path('input').glob('*/train.csv')]
"""
_COPY = """
shutil.copy(folder / 'sample_validation_submission.csv', 'validation_submission.csv')
shutil.copy(folder / 'sample_submission.csv', 'submission.csv')
"""


def _rule(reply: str, contains: str = "", **say: Any) -> dict[str, Any]:
    return {"reply": reply, "contains": contains, "say": say}


_STEPS = [
    {"name": name, "details": f"{name}.", "trains": name == "Train"}
    for name in ("Read", "Train", "Write")
]
_RULES = [
    _rule("Labels", "Categories:", numbers=[6]),
    _rule("Labels", numbers=[1]),
    _rule("Plan", "Plan one change", title="Scaled", plan="IMPROVED: scale.", used=[1]),
    _rule("Plan", "Find the cause", title="Repaired", plan="REPAIRED: in steps.", used=[]),
    _rule("Plan", title="Simple", plan="SIMPLE: copy.", used=[2]),
    _rule("Complexity", "REPAIRED", task=4, solution=4),
    _rule("Complexity", task=1, solution=1),
    _rule("Steps", steps=_STEPS),
    _rule("Program", "the code of step 1", code=_READ),
    _rule("Program", "AttributeError", code=_COPY),
    _rule("Program", "the code of step 2", code="folder.fit()"),
    _rule("Program", "IMPROVED", code=LINEAR),
    _rule("Program", code="raise KeyError('x')"),
    _rule("Verdict", bug=False, overfitting=False, submission=True, summary="It ran."),
]
_GROWTH = (
    *("--set", "drafts=1", "--set", "nodes=3", "--coders", "1"),
    *("--baseline", "none", "--no-monitor", "--no-blend", "--no-refit"),
)


def _solve(project: Path, *more: str, **how: Any) -> Ran:
    project.mkdir(parents=True, exist_ok=True)
    script = project / "rules.yaml"
    script.write_text(json.dumps(_RULES))
    given = ("--agent", "automind", "--model", f"scripted:{script}", "--out", project, "--json")
    return comind("solve", "demo-tumours", *given, *_GROWTH, *more, **how)


def _state(project: Path) -> CampaignState:
    [campaign] = (project / "runs").iterdir()
    return read_state(ProjectFolder(project).campaign(campaign.name))


def _nodes(state: CampaignState) -> list[tuple[Any, ...]]:
    return [
        (a.id, a.work.operator.value, a.work.parents, a.work.session, a.result, a.work.draft.sources)
        for a in state.works.attempts()
    ]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> Path:
    """A project with a tree of three nodes."""
    project = tmp_path_factory.mktemp("grown")
    ran = _solve(project)
    assert ran.exit_code == 0, ran.stderr
    assert "estimate: 3 nodes, 1 draft first" in ran.stderr
    return project


def test_a_tree_grows_with_knowledge(grown: Path) -> None:
    """A simple draft fails, its debug is coded in steps of which one fails, and is improved."""
    state = _state(grown)
    nodes = _nodes(state)
    assert [node[1:4] for node in nodes] == [
        ("draft", (), "script"),
        ("debug", ("attempt-000",), "notebook"),
        ("improve", ("attempt-001",), "script"),
    ]
    assert nodes[0][4] == "KeyError: 'x'"
    assert len(nodes[0][5]) == len(nodes[2][5]) == 2, "each used one entry"
    repaired = state.works.attempt("attempt-001").outcome
    assert repaired is not None
    assert [cell.goal for cell in repaired.cells] == ["Read", "Train; Write", "Train; Write"]
    assert [each.id for each in state.works.best_first()] == ["attempt-002", "attempt-001"]


def test_lineage_shows_the_knowledge(grown: Path) -> None:
    """The entry that an improvement used is an ancestor of its solution; the hash is a parameter."""
    state = _state(grown)
    shown = comind("lineage", state.spec.id, "--out", grown)
    entry = state.works.attempt("attempt-002").work.draft.sources[1]
    assert f"idea {entry}: " in shown.stdout
    assert str(state.spec.parameters["knowledge"]).startswith("builtin@sha256:")


@pytest.mark.torture  # tests/unit/agents/automind cuts the logs at each event
def test_a_killed_tree_continues(grown: Path, tmp_path: Path, shared_server: str) -> None:
    """Killed while it thinks, and a node is planned and graded, it ends as if untouched."""
    ran = _solve(tmp_path, COMIND_KILL_AT="reply-recorded")
    assert ran.exit_code == _SIGKILLED, ran.stderr
    [campaign] = (tmp_path / "runs").iterdir()
    again = ("solve", "--resume", campaign.name, "--out", tmp_path, "--json")
    for point in ("work-planned", "cell-recorded", "grade-recorded"):
        ran = comind(*again, COMIND_KILL_AT=point)
        assert ran.exit_code == _SIGKILLED, f"{point} was not reached: {ran.stderr}"
    ran = comind(*again)
    assert ran.exit_code == 0, ran.stderr
    assert _nodes(_state(tmp_path)) == _nodes(_state(grown))


@pytest.mark.torture  # test_reproduce.py proves scripts of cells
def test_scripts_of_both_sessions_give_the_same(tmp_path: Path, shared_server: str) -> None:
    """The scripts of a program in steps and of one in one pass predict what was scored."""
    ran = _solve(tmp_path, prove=True)
    assert ran.exit_code == 0, ran.stderr
    proofs = {name: each.proof for name, each in _state(tmp_path).proofs.items()}
    assert proofs == dict.fromkeys(("attempt-001", "attempt-002"), "identical")
    assert comind("reproduce", _state(tmp_path).spec.id, "--out", tmp_path).exit_code == 0


def test_a_base_is_built_once_and_used(grown: Path) -> None:
    """Papers and a community become a base under DVC; a second build reads nothing again."""
    papers = grown / "papers"
    papers.mkdir()
    (papers / "2021-02-03.txt").write_text("# Trees on tables\nThey are strong.")
    rules = [
        *_RULES[:2],
        _rule("Extract", useful=True, findings=[{"kind": "trick", "title": "Trees", "text": "Fit."}]),
    ]
    script = grown / "build.yaml"
    script.write_text(json.dumps(rules))
    community = grown / "data" / "demos" / "demo-tumours" / "community"
    build = ("knowledge", "build", "--papers", papers, "--community", community)
    given = ("--competition", "demo-tumours", "--model", f"scripted:{script}", "--out", grown)
    ran = comind(*build, *given, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["read"] == ran.json["entries"] > 1
    assert ran.json["dvc"].endswith(".dir")
    again = comind(*build, *given, "--json").json
    assert (again["read"], again["known"], again["dvc"]) == (0, ran.json["read"], ran.json["dvc"])
    listed = comind("knowledge", "list", "--out", grown, "--as-of", "2021-02-04T00:00:00Z", "--json")
    assert "Trees" in [entry["title"] for entry in listed.json["entries"]]


def test_an_unknown_base_is_refused(tmp_path: Path) -> None:
    """A base that does not exist is named in one line, with exit code 2."""
    ran = _solve(tmp_path, "--set", "knowledge=nowhere.yaml")
    assert ran.exit_code == 2
    assert "nowhere.yaml" in ran.json["error"]["message"]
