"""An attempt's opening: a public notebook that is run here, and a preparation that drafts share."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.adapt import adapt_notebook
from comind.agents.comind.drafting_facts import drafting_facts
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import pool_of, runs_of
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens
from comind.testing import ScriptedModel, ScriptedSession
from tests.unit.agents.community import VIEW, notebook
from tests.unit.agents.rounds import (
    IDEA,
    REPORT,
    after_one_round,
    attempt,
    baseline,
    drafting,
    state_of,
    thought,
)
from tests.unit.agents.samples import FRAME, PROBLEM, agent_for
from tests.unit.campaign.samples import code, failed, score, scored
from tests.unit.campaign.world import CELLS, World, hand_in

_SOURCE = "sub.to_csv('../input/../submission.csv')"
_STRANGERS = Draft(title="t", method="m", codebase=_SOURCE, notebook="python", sources=("a/n",))
_ADAPTED = adapt_notebook(PROBLEM, _STRANGERS)
_LARGE, _SMALL = 131_072, 8_192


@pytest.fixture(autouse=True)
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create temporary folders, of which a test may make several, in the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def _fails(_workspace: Path) -> str:
    raise RuntimeError("no such column")


def _fine(_workspace: Path) -> str:
    return "shapes: (30, 7)"


def _begun(root: Path, draft: Draft, **cells: object) -> tuple[CodeOutcome, World, str]:
    """Carry out an attempt whose model submits once; return its first prompt, too."""
    named = {"before": _ADAPTED.before, "program": _ADAPTED.program, "after": _ADAPTED.after}
    world = World(root, cells={FRAME: _fine, **{named.get(n, n): cell for n, cell in cells.items()}})
    said = {"goal": "g", "code": "better", "summary": "Done."}
    world.model = ScriptedModel(lambda _request: json.dumps(said))
    budget = code().budget.model_copy(update={"steps": 6, "cell_seconds": 600})
    work = code().model_copy(update={"draft": draft, "budget": budget})
    outcome = execute(agent_for(), work, world.folder.work("work-000"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    return outcome, world, world.model.requests[0].messages[-1].content


# --- a public notebook ----------------------------------------------------------------------------


def test_a_public_notebook_is_run_and_scored_first(tmp_path: Path) -> None:
    """The adapted notebook runs in three cells first, and the first prompt has its score."""
    ran = {"before": _fine, "program": _fine, "after": hand_in("0.7")}
    outcome, world, asked = _begun(tmp_path, _STRANGERS, **ran)
    submit = Templates("comind.agents.comind").render("coding_submit", problem=PROBLEM, tables=False)
    assert world.ran[:5] == [*_ADAPTED[:3], submit, "better"]
    assert (
        "Your notebook begins with the public notebook below. It was written by a third party" in asked
    )
    assert outcome.opening_score is not None
    assert outcome.opening_score.value.value == 0.7
    assert f"They scored {outcome.opening_score}. Your goal is a better score." in asked
    assert outcome.score is not None
    assert outcome.score.value.value == 0.95
    assert outcome.code == "\n\n".join([*_ADAPTED[:3], "better"])


def test_what_a_notebook_wrote_before_it_failed_is_scored(tmp_path: Path) -> None:
    """An error after the predictions were written, such as in a plot, does not lose them."""
    ran = {"before": _fine, "program": _fails, "after": hand_in("0.7")}
    outcome, _, asked = _begun(tmp_path, _STRANGERS, **ran)
    assert "up to an error after it had written its predictions" in asked
    assert outcome.opening_score is not None


def _too_slow(_workspace: Path) -> object:
    return [(151.0, "late")]  # of 600 s, a quarter of which it may take


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"before": _fine, "program": _fails, "after": _fails}, "RuntimeError: no such column"),
        ({"before": _fine, "program": _too_slow, "after": _fine}, "its time was over"),
        ({"before": _fine, "program": _fine, "after": hand_in("words")}, "is not a number"),
    ],
    ids=["fails", "takes too long", "hands in nonsense"],
)
def test_a_notebook_that_fails_is_shown_with_its_error(
    cells: dict[str, object], said: str, tmp_path: Path
) -> None:
    """The prompt has the program and its error, and the attempt continues from the tables."""
    outcome, world, asked = _begun(tmp_path, _STRANGERS, **cells)
    assert "Adapted to our files, which have other numbers of rows than Kaggle's, it failed" in asked
    assert said in asked
    assert _SOURCE in asked
    assert FRAME in world.ran
    assert outcome.opening_score is None
    assert outcome.score is not None


@pytest.mark.parametrize(
    ("draft", "cells", "said"),
    [
        ({"notebook": "r"}, {}, "It has not been run here, because it is written in r"),
        ({}, {"before": _fails}, "It has not been run here, because RuntimeError: no such column"),
        ({"notebook": ""}, {}, "It has not been run here, and its paths"),
    ],
    ids=["another language", "ids overlap", "older log"],
)
def test_a_notebook_that_cannot_be_adapted_is_shown_as_it_is(
    draft: dict[str, Any], cells: dict[str, object], said: str, tmp_path: Path
) -> None:
    """The prompt states in one line why it was not run; prompts of older logs do not."""
    _, world, asked = _begun(tmp_path, _STRANGERS.model_copy(update=draft), **cells)
    assert said in asked
    assert _ADAPTED.program not in world.ran


class _Open(ScriptedSession):
    """A session without isolation."""

    sealed = False


def test_a_strangers_program_runs_in_isolation_alone(tmp_path: Path) -> None:
    """Without isolation a public notebook is only shown, not run."""
    world = World(tmp_path, cells={FRAME: _fine, _ADAPTED.before: _fine})
    said = {"goal": "g", "code": "better", "summary": "Done."}
    world.model = ScriptedModel(lambda _request: json.dumps(said))
    work = code(steps=6).model_copy(update={"draft": _STRANGERS})
    cells = {**CELLS, **world.cells}
    dependencies = replace(
        world.dependencies(),
        open_session=lambda _work, folder, _notify: _Open(folder.workspace, cells, world.ran),
    )
    execute(agent_for(), work, world.folder.work("work-000"), dependencies)
    assert "because nothing here would isolate it" in world.model.requests[0].messages[-1].content
    assert _ADAPTED.program not in world.ran


def test_the_coordinator_is_told_which_notebooks_ran_here() -> None:
    """A notebook that an attempt started from is listed with its own and the final score."""
    outcome = scored(0.8).model_copy(update={"opening_score": score(0.75)})
    draft = _STRANGERS.model_copy(update={"sources": ("ben/forest",)})
    work = code().model_copy(update={"draft": draft})
    state = state_of(*baseline(), *attempt(1, work, outcome), *attempt(2, work, failed()))
    said = "attempt-001: as it is accuracy 0.75 [0.75, 0.75], then accuracy 0.8 [0.8, 0.8]"
    assert runs_of("ben/forest", state) == [said]
    assert f"- ben/forest: About ben/forest (a public notebook; run here: {said})" in _asked(state)
    assert "- ada/straight-line: About ada/straight-line (a public notebook)\n" in _asked(state)


def test_a_draft_brings_the_data_of_its_notebook() -> None:
    """A draft that starts from a notebook mounts the datasets that the notebook reads."""
    read = notebook("cy/reader", "x.to_csv('s')", datasets=("ada/extra-rows", "no/files"))
    view = VIEW.model_copy(update={"notebooks": (read,)})
    [draft] = _planned(after_one_round(), [_said("a", start_from="cy/reader")], view=view)["drafts"]
    assert draft["notebook"] == "python"
    assert draft["inputs"] == ["cy/reader", "ada/extra-rows"]


# --- the Coordinator ------------------------------------------------------------------------------


def _said(title: str, **values: Any) -> dict[str, Any]:
    return {"title": title, "kind": "novel", "method": "Do it.", **values}


def _world(
    work: Think, reply: dict[str, Any], context: int, view: CommunityView = VIEW
) -> tuple[World, dict[str, Any]]:
    world = World(Path(tempfile.mkdtemp()))
    world.model = ScriptedModel(lambda _request: json.dumps(reply), context_tokens=context)
    agent = agent_for(community=view)
    outcome = execute(agent, work, world.folder.work("think-000"), world.dependencies())
    assert outcome.kind == "think"
    return world, dict(outcome.result.root)


def _planned(
    state: CampaignState, drafts: list[dict[str, Any]], view: CommunityView = VIEW, **said: Any
) -> dict[str, Any]:
    return _world(drafting(state, view), {"drafts": drafts, **said}, _LARGE, view)[1]


def _asked(state: CampaignState, context: int = _LARGE, work: Think | None = None) -> str:
    world, _ = _world(work or drafting(state, VIEW), {"drafts": [_said("a")]}, context)
    return world.model.requests[0].messages[-1].content


def _prepared_round(prepared: bool | None, **values: Any) -> CampaignState:
    """Return a campaign whose one fresh draft had a preparation, which succeeded or failed."""
    draft = Draft(title="fresh", method="m", preparation="folds = 1")
    outcome = scored(0.8).model_copy(update={"prepared": prepared, **values})
    return state_of(*baseline(), *attempt(1, code().model_copy(update={"draft": draft}), outcome))


def test_fresh_drafts_share_a_preparation() -> None:
    """The cell in the reply goes to all drafts of the round that start from no program."""
    drafts = [_said("a"), _said("b", start_from="attempt-001"), _said("c")]
    result = _planned(after_one_round(coders=3), drafts, preparation="```python\nfolds = 1\n```")
    given = {each["title"]: each["preparation"] for each in result["drafts"]}
    assert given == {"a": "folds = 1", "b": "", "c": "folds = 1"}
    assert result["preparation"] == "folds = 1"


@pytest.mark.parametrize(
    ("said", "kept"),
    [("", "folds = 1"), ("folds = 2", "folds = 2"), ("no python, sorry", "folds = 1")],
    ids=["nothing", "another", "no program"],
)
def test_a_preparation_that_ran_well_is_kept(said: str, kept: str) -> None:
    """Later rounds show it and begin with it, unless a reply replaces it."""
    state = _prepared_round(prepared=True)
    asked = _asked(state)
    assert "begin with this cell" in asked
    assert "folds = 1" in asked
    result = _planned(state, [_said("b"), _said("c")], preparation=said)
    assert {each["preparation"] for each in result["drafts"]} == {kept}


@pytest.mark.parametrize("prepared", [False, None])
def test_a_preparation_that_failed_is_not_kept(prepared: bool | None) -> None:
    """One that failed or never ran is not shown, and later drafts do not begin with it."""
    state = _prepared_round(prepared=prepared)
    assert "begin with this cell" not in _asked(state)
    result = _planned(state, [_said("b"), _said("c")])
    assert {each["preparation"] for each in result["drafts"]} == {""}


def test_a_preparation_runs_after_the_tables_were_read(tmp_path: Path) -> None:
    """The prompt has its output, it is part of the solution, and the outcome says that it ran."""
    draft = Draft(title="t", method="m", preparation="prepare")
    outcome, world, asked = _begun(tmp_path, draft, prepare=_fine)
    assert world.ran[:3] == [FRAME, "prepare", "better"]
    assert "Then this preparation ran, which the drafts of your team share." in asked
    assert "It printed:\nshapes: (30, 7)" in asked
    assert outcome.prepared is True
    assert outcome.prepared_seconds == 0.0
    assert outcome.code == f"{FRAME}\n\nprepare\n\nbetter"


def test_an_attempt_goes_on_without_a_preparation_that_fails(tmp_path: Path) -> None:
    """The prompt has the error, and the outcome says that the preparation failed."""
    draft = Draft(title="t", method="m", preparation="prepare")
    outcome, _, asked = _begun(tmp_path, draft, prepare=_fails)
    assert "It failed; go on without it:\n\nRuntimeError: no such column" in asked
    assert outcome.prepared is False
    assert outcome.prepared_seconds is None
    assert outcome.score is not None


def test_what_is_not_in_a_solution_to_extend_is_named() -> None:
    """Solutions, items and ideas outside its lineage are listed; what the first lacks comes first."""
    part = {key: REPORT[key] for key in ("novelty", "feasibility", "effectiveness", "efficiency")}
    blend = part | {"name": "blend", "takes": "two models", "gives": "their mean", "confidence": 5}
    parts = [part | {"name": "guess"}, blend]
    reports = [
        REPORT,
        REPORT | {"item": "ada/straight-line", "title": "A line", "effectiveness": 9},
        REPORT | {"item": "attempt-001", "kind": "solution", "components": parts},
    ]
    ideas = [
        IDEA,
        IDEA | {"id": "idea-001", "text": "Take logarithms.", "value": 8, "sources": []},
        IDEA | {"id": "idea-002", "text": "In the latest round.", "value": 9, "sources": []},
    ]
    first = Draft(title="trees", method="m")
    second = Draft(title="best", method="m", sources=("idea-000",))
    state = state_of(
        *baseline(),
        *thought(0, ANALYZE, {"reports": reports[:2]}),
        *thought(1, PROPOSE, {"ideas": ideas[:2]}),
        *attempt(1, code().model_copy(update={"draft": first}), scored(0.75)),
        *attempt(2, code().model_copy(update={"draft": second}), scored(0.8)),
        *thought(2, ANALYZE, {"reports": reports[2:]}),
        *thought(3, PROPOSE, {"ideas": ideas[2:]}),
    )
    found = COORDINATE.facts_of(drafting(state, VIEW)).complements
    assert [(each.id, each.outside) for each in found] == [
        ("attempt-001", ("attempt-002",)),
        ("ada/straight-line", ("attempt-002", "attempt-001")),
        ("idea-001", ("attempt-002", "attempt-001")),
        ("attempt-002", ("attempt-001",)),
        ("ben/forest", ("attempt-001",)),
    ]
    assert found[0].parts == ("blend (two models -> their mean)", "guess (? -> ?)"), "proven ones first"
    asked = _asked(state)
    assert "# Not yet in the solutions that can be extended" in asked
    tree = (
        "- attempt-001, solution: trees (accuracy 0.75 [0.75, 0.75]); not in attempt-002. Parts: blend"
    )
    assert tree in asked
    rated = "novelty 2, feasibility 9, effectiveness 9, efficiency 8, confidence 4"
    assert f"- ada/straight-line, notebook: A line ({rated}); not in attempt-002, attempt-001" in asked
    assert "- idea-001, idea: Take logarithms. (value 8, not tried)" in asked


@pytest.mark.parametrize(("axis", "value"), [("novelty", 9), ("efficiency", 10), ("feasibility", 10)])
def test_every_axis_moves_what_is_shown_beside_a_solution(axis: str, value: int) -> None:
    """Of two notebooks the one with the higher sum of axes comes first, whichever axis it is."""
    line = REPORT | {"item": "ada/straight-line"}
    for better, worse in ((REPORT | {axis: value}, line), (REPORT, line | {axis: value})):
        state = state_of(
            *baseline(),
            *thought(0, ANALYZE, {"reports": [worse, better]}),
            *attempt(1, code("trees"), scored(0.8)),
        )
        found = COORDINATE.facts_of(drafting(state, VIEW)).complements
        first = max((better, worse), key=lambda each: each[axis])["item"]
        assert next(each.id for each in found if each.item_type == "notebook") == first


def test_without_the_graph_nothing_is_shown_beside_a_solution() -> None:
    """With `graph` off the facts have no complements."""
    state = state_of(
        *baseline(),
        *thought(0, ANALYZE, {"reports": [REPORT]}),
        *attempt(1, code("trees"), scored(0.8)),
    )
    shown = [
        drafting_facts(state, pool_of(state), VIEW, settings=CoMindParameters(graph=graph)).complements
        for graph in (True, False)
    ]
    assert [bool(each) for each in shown] == [True, False]


def test_a_small_context_is_asked_for_drafts_alone() -> None:
    """At 8k tokens the prompt has no complements, preparation or plans of running attempts."""
    state = _prepared_round(prepared=True, code="x", code_seconds=1.0)
    large, small = _asked(state), _asked(state, _SMALL)
    for heading in ("# Preparation", "a public notebook is adapted"):
        assert heading in large
        assert heading not in small
    assert "# Not yet in" not in small


def test_older_rounds_are_asked_as_they_were() -> None:
    """Facts without newer fields render a prompt without their sections, and the same reply type."""
    work = drafting(after_one_round(), VIEW)
    newer = {"complements", "preparation"}
    facts = {name: value for name, value in work.facts.root.items() if name not in newer}
    older = COORDINATE.work(COORDINATE.facts.model_validate(facts))
    world, _ = _world(older, {"drafts": [_said("b")]}, _LARGE)
    [request] = world.model.requests
    assert request.reply_name == "Drafts"
    assert "# Preparation" not in request.messages[-1].content


def test_attempts_are_told_as_they_stand() -> None:
    """Ended attempts have score or failure in one line; running ones are marked, with their plan."""
    why = failed().failure
    assert why is not None
    reason = why.model_copy(update={"message": "line one\nline two"})
    broken = failed().model_copy(update={"failure": reason})
    other = scored(0.75).model_copy(update={"title": "what it is"})
    running: Code = code().model_copy(update={"draft": Draft(title="open", method="Two\nsteps.")})
    state = state_of(
        *baseline(),
        *attempt(1, code("broken"), broken),
        *attempt(2, running, None),
        *attempt(3, code("what was planned"), other),
        coders=3,
    )
    facts = COORDINATE.facts_of(drafting(state, VIEW))
    assert facts.solutions[0].title == facts.tried[-1].title == "what it is"
    assert {"what it is", "what was planned"} <= set(facts.titles)
    tried = {each.title: each for each in facts.tried}
    assert tried["broken"].result == "line one line two"
    assert (tried["open"].result, tried["open"].method) == ("running", "Two steps.")
    asked = _asked(state)
    assert "- open: running, no score yet; its plan: Two steps.\n" in asked
    assert asked.count("running") == 1


@pytest.mark.parametrize(
    ("method", "added"),
    [
        ("Do it.", True),
        ("First, use extra trees; 300 of them.", False),
        ("Extra trees: use 500, then stop.", False),
    ],
)
def test_ideas_are_not_said_twice(method: str, added: bool) -> None:
    """An idea that the method contains, even with other numbers, is not added to it."""
    state = after_one_round()
    [draft] = _planned(state, [_said("a", method=method, ideas=[1])])["drafts"]
    heading = "Ideas to use (where numbers differ, those above hold):\n- Use extra trees."
    assert (heading in draft["method"]) is added
    assert draft["sources"][0] == "idea-000"
    assert pool_of(state).ideas[0].id == "idea-000"


_LONG = "x = 'word ' * 3  # a line that says little\n" * 1_000


@pytest.mark.parametrize(
    "kind", ["ran", "failed", "refused", "prepared", "unprepared", "stacked", "unread"]
)
def test_openings_stay_under_their_size(kind: str, tmp_path: Path) -> None:
    """A small model can read the opening for any length of notebook, preparation, output and error."""

    def prints(_workspace: Path) -> str:
        return _LONG

    def breaks(_workspace: Path) -> str:
        raise RuntimeError(_LONG)

    source = f"{_LONG}{_SOURCE}\n"
    values: dict[str, Any] = {"codebase": source, "notebook": "python"}
    if kind.endswith("prepared"):
        values = {"preparation": _LONG}
    members = tuple(f"attempt-{number:03d}" for number in range(5))
    if kind in ("stacked", "unread"):
        values = {"members": members, "inputs": members}
    draft = Draft(title="t", method=_LONG, **values)
    adapted = adapt_notebook(PROBLEM, draft)
    runs = prints if kind in ("ran", "prepared", "stacked") else breaks
    stack = Templates("comind.agents.comind").render("coding_stack", problem=PROBLEM, members=members)
    cells: dict[str, object] = {FRAME: prints, _LONG: runs, stack: runs, adapted.after: hand_in("0.7")}
    if kind != "refused":
        cells |= {adapted.before: prints, adapted.program: runs}
    if kind == "failed":
        cells[adapted.after] = breaks
    world = World(tmp_path, cells=cells)
    said = json.dumps({"goal": "g", "code": "better", "summary": "Done."})
    world.model = ScriptedModel(lambda _request: said, context_tokens=_SMALL)
    problem = PROBLEM.model_copy(update={"description": _LONG, "preview": _LONG})
    work = code(steps=6).model_copy(update={"draft": draft, "inputs": draft.inputs})
    execute(agent_for(problem), work, world.folder.work("work-000"), world.dependencies())
    opening = world.model.requests[0].messages
    assert sum(count_tokens(each.content) for each in opening) < 6_000
