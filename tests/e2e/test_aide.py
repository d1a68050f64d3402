"""`comind solve --agent aide`: a tree of programs grows through the real command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from tests.e2e.command import Ran, comind
from tests.e2e.programs import LINEAR, SAMPLE

_TITANIC = Path(__file__).parents[3] / "shared" / "data" / "titanic"
_SIGKILLED = -9

_REVIEW = {"reply": "Review", "say": {"summary": "It was run."}}


def _program(code: str, contains: str = "") -> dict[str, Any]:
    return {"reply": "Solution", "contains": contains, "say": {"plan": "A plan.", "code": code}}


_TREE = [
    {"reply": "Picks", "say": {"numbers": [1]}},
    {"reply": "Digest", "say": {"summary": "Scale the columns."}},
    _program(SAMPLE, "# The program that failed"),
    _program(LINEAR, "# The program to improve"),
    _program("raise KeyError('x')"),
    _REVIEW,
]
_GROWTH = (
    *("--set", "drafts=1", "--set", "debug_probability=1", "--set", "nodes=3", "--coders", "1"),
    *("--set", "community=rag", "--baseline", "none", "--no-monitor", "--no-blend"),
)


def _solve(project: Path, rules: list[dict[str, Any]], *more: str | Path, **how: Any) -> Ran:
    project.mkdir(parents=True, exist_ok=True)
    script = project / "rules.yaml"
    script.write_text(json.dumps(rules))
    given = ("--agent", "aide", "--model", f"scripted:{script}", "--out", project, "--json")
    competition, *rest = more
    return comind("solve", competition, *given, *rest, **how)


def _state(project: Path) -> CampaignState:
    [campaign] = (project / "runs").iterdir()
    return read_state(ProjectFolder(project).campaign(campaign.name))


def _nodes(state: CampaignState) -> list[tuple[Any, ...]]:
    return [
        (a.id, a.work.operator.value, a.work.parents, a.result, a.outcome and a.outcome.code)
        for a in state.works.attempts()
    ]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, shared_server: str) -> CampaignState:
    """A tree of three nodes."""
    project = tmp_path_factory.mktemp("grown")
    ran = _solve(project, _TREE, "demo-tumours", *_GROWTH)
    assert ran.exit_code == 0, ran.stderr
    assert "estimate: 3 programs, 1 draft first" in ran.stderr
    return _state(project)


def test_a_tree_is_drafted_debugged_and_improved(grown: CampaignState) -> None:
    """A draft fails, its debug is scored, and that is improved and refitted."""
    nodes = _nodes(grown)
    assert [node[:3] for node in nodes] == [
        ("attempt-000", "draft", ()),
        ("attempt-001", "debug", ("attempt-000",)),
        ("attempt-002", "improve", ("attempt-001",)),
    ]
    assert nodes[0][3] == "KeyError: 'x'"
    assert [each.id for each in grown.works.best_first()] == ["attempt-002", "attempt-001"]
    assert nodes[2][4] == LINEAR.strip()
    assert grown.ended is not None
    assert grown.ended.detail == "the tree has its 3 programs"
    calls = [each.outcome.spend.calls for each in grown.works.attempts() if each.outcome]
    assert calls == [4, 3, 3], "a draft picks and reads, later nodes rank; each is written and reviewed"
    assert grown.refit() is not None


@pytest.mark.torture  # test_reproduce.py proves scripts of cells
def test_a_nodes_script_gives_the_same(tmp_path: Path, shared_server: str) -> None:
    """The program of the best node is a script of its own, and predicts what was scored."""
    ran = _solve(tmp_path, _TREE, "demo-tumours", *_GROWTH, "--no-refit", prove=True)
    assert ran.exit_code == 0, ran.stderr
    assert _state(tmp_path).proofs["attempt-002"].proof == "identical"


@pytest.mark.torture  # test_kill.py kills at every write
def test_a_killed_tree_grows_on(grown: CampaignState, tmp_path: Path, shared_server: str) -> None:
    """Killed while a draft is written, and a debug planned and graded, it ends as if untouched."""
    ran = _solve(
        tmp_path, _TREE, "demo-tumours", *_GROWTH, "--no-refit", COMIND_KILL_AT="reply-recorded"
    )
    assert ran.exit_code == _SIGKILLED, ran.stderr
    [campaign] = (tmp_path / "runs").iterdir()
    again = ("solve", "--resume", campaign.name, "--out", tmp_path, "--json")
    for point in ("work-planned", "grade-recorded"):
        ran = comind(*again, COMIND_KILL_AT=point)
        assert ran.exit_code == _SIGKILLED, f"{point} was not reached: {ran.stderr}"
    ran = comind(*again)
    assert ran.exit_code == 0, ran.stderr
    assert _nodes(_state(tmp_path)) == _nodes(grown)


@pytest.mark.skipif(not _TITANIC.is_dir(), reason="the competition is not on this machine")
def test_a_real_competition_is_solved(tmp_path: Path, shared_server: str) -> None:
    """The same tree grows on a competition with texts, gaps and a description of some length."""
    ran = _solve(tmp_path, _TREE, _TITANIC, *_GROWTH, "--no-refit")
    assert ran.exit_code == 0, ran.stderr
    state = _state(tmp_path)
    assert [node[1] for node in _nodes(state)] == ["draft", "debug", "improve"]
    journal = (tmp_path / "runs" / state.spec.id / "journal.md").read_text()
    assert "There is no community" in journal
    assert ran.json["validation_score"] > 0.6


@pytest.mark.torture  # tests/unit/agents/aide has failing programs
def test_a_model_whose_programs_fail_leaves_the_baseline(tmp_path: Path, shared_server: str) -> None:
    """With the baseline its submission is delivered; without it, that nothing was scored is said."""
    rules = [_program("1 / 0"), _REVIEW]
    ran = _solve(
        tmp_path / "with", rules, "demo-tumours", "--set", "nodes=2", "--no-refit", "--set", "drafts=2"
    )
    assert ran.exit_code == 0, ran.stderr
    assert ran.json["best_from"] == "baseline"
    assert (ran.json["attempts"], ran.json["valid_attempts"]) == (3, 1)
    ran = _solve(tmp_path / "without", rules, "demo-tumours", "--set", "nodes=2", "--baseline", "none")
    assert ran.exit_code == 3
    assert ran.json["error"]["kind"] == "no-submission"
    assert (ran.json["attempts"], ran.json["valid_attempts"]) == (2, 0)


def test_an_unknown_parameter_is_refused(tmp_path: Path) -> None:
    """A name that AIDE does not know gets the list of those that it knows, and exit code 2."""
    ran = _solve(tmp_path, [], "demo-tumours", "--set", "depth=1")
    assert ran.exit_code == 2
    assert "there is no parameter 'depth'" in ran.json["error"]["message"]
    for name in ("drafts", "debug_probability", "max_debug_depth", "community"):
        assert name in ran.stderr
