"""Single thoughts and attempts: knowledge as of a time, complexity, steps, tries, prompts."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from comind.agents.automind import AutoMind
from comind.agents.automind.adaptive_coder import PlanStep, merge_steps
from comind.agents.automind.planner import (
    CHECK,
    PLAN,
    SEARCH,
    AutoMindParameters,
    Checking,
    Complexity,
    Planning,
    Searching,
)
from comind.campaign.log.outcome import CodeOutcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.resources import TOOLBOX, Resources
from comind.domain.spend import WorkBudget
from comind.errors import ServiceError
from comind.knowledge.entry_search import Found
from comind.knowledge.knowledge_base import Entry, pin
from comind.llm.model_ports import ModelRequest
from comind.llm.tokens import count_tokens
from comind.testing import ScriptedModel
from tests.examples import examples
from tests.unit.agents.automind.trees import STEPS, VERDICT
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.world import World

_PLAN = {"title": "A forest", "plan": "Fit it.", "used": [1, 1, 9]}


def _performed(
    root: Path,
    work: Think | Code,
    *replies: dict[str, Any],
    context_tokens: int = 128_000,
    problem: Any = PROBLEM,
    **how: Any,
) -> tuple[Any, list[ModelRequest], World]:
    """Perform a piece of work; returns its outcome, its requests and its world."""
    world = World(root)
    world.model = ScriptedModel([json.dumps(each) for each in replies], context_tokens=context_tokens)
    parameters = AutoMindParameters.model_validate(how)
    agent = AutoMind(problem, parameters, seed=0, community=CommunityView())
    outcome = execute(agent, work, world.folder.work("work-001"), world.dependencies())
    return outcome, world.model.requests, world


def _attempt(session: str = "script", **draft: Any) -> Code:
    values = {"title": "A forest", "method": "Fit a forest."} | draft
    return Code(
        operator=Operator.DRAFT,
        draft=Draft.model_validate(values),
        role="coder",
        session=session,  # type: ignore[arg-type]
        budget=WorkBudget(seconds=600, steps=9, cell_seconds=60),
    )


# --- knowledge --------------------------------------------------------------------------------------


def _base(root: Path) -> str:
    entries = [
        {"id": "old", "labels": ["tabular data/regression"], "published": "2020-01-01"},
        {"id": "new", "labels": ["tabular data/classification"], "published": "2024-01-01"},
        {"id": "undated", "labels": ["tabular data/classification"]},
        {"id": "own", "labels": ["tabular data/classification"], "competition": "demo"}
        | {"published": "2020-01-01"},
        {"id": "general", "labels": ["general machine learning/training"], "published": "2020-01-01"},
        {"id": "other", "labels": ["graph data/molecules"], "published": "2020-01-01"},
    ]
    text = {"kind": "method", "title": "Scale", "text": "Scale the columns."}
    path = root / "base.yaml"
    path.write_text(yaml.safe_dump([text | each for each in entries]))
    return pin(str(path))


@pytest.mark.parametrize(
    ("as_of", "names"),
    [
        (None, ["new", "undated", "old", "general"]),
        ("2024-01-01T23:00:00Z", ["old", "general"]),
        ("2024-01-02T00:00:00Z", ["new", "old", "general"]),
    ],
)
def test_knowledge_is_ranked_by_labels_as_of_a_time(
    as_of: str | None, names: list[str], tmp_path: Path
) -> None:
    """Labels rank first, then categories; later entries and those on the same task are hidden."""
    work = SEARCH.work(Searching.model_validate({"base": _base(tmp_path), "as_of": as_of}))
    outcome, asked, _ = _performed(tmp_path / "run", work, {"numbers": [6, 99]}, {"numbers": [1]})
    assert isinstance(outcome, ThinkOutcome)
    found = outcome.result.read(Found)
    assert [entry.id for entry in found.entries] == names
    assert found.labels == ("tabular data/classification", "tabular data")
    assert "Tell yes from no." in asked[0].messages[-1].content
    assert [request.temperature for request in asked] == [0.0, 0.0]


def test_a_task_without_labels_gets_what_is_near(tmp_path: Path) -> None:
    """If the model names no category, similarity alone ranks the entries."""
    outcome, *_ = _performed(
        tmp_path / "run", SEARCH.work(Searching(base=_base(tmp_path))), *[{"numbers": "?"}] * 3
    )
    assert len(outcome.result.read(Found).entries) == 5


def test_a_changed_base_halts_the_campaign(tmp_path: Path) -> None:
    """Until the recorded content is restored, the search cannot run; then it continues."""
    work = SEARCH.work(Searching(base=_base(tmp_path)))
    file = tmp_path / "base.yaml"
    content = file.read_text()
    file.write_text("[]")
    with pytest.raises(ServiceError, match=r"the knowledge base .*, not "):
        _performed(tmp_path / "run", work)
    file.unlink()
    with pytest.raises(ServiceError, match="is not readable"):
        _performed(tmp_path / "run", work)
    file.write_text(content)
    outcome, *_ = _performed(tmp_path / "run", work, {"numbers": [6]}, {"numbers": [1]})
    assert outcome.failure is None


# --- plans ------------------------------------------------------------------------------------------

_ENTRY = Entry(id="scale", entry_type="trick", title="Scale", text="Scale the columns.")


def test_a_plan_names_the_knowledge_that_it_uses(tmp_path: Path) -> None:
    """Numbers of entries become ids, unknown ones are dropped; the prompt has the entries."""
    work = PLAN.work(Planning(operator=Operator.DRAFT, entries=(_ENTRY,)))
    outcome, asked, _ = _performed(tmp_path, work, _PLAN, {"task": 3.4, "solution": 4})
    assert outcome.result.root == {
        "title": "A forest",
        "plan": "Fit it.",
        "used": ["scale"],
        "complexity": 3.5,
    }
    assert "1. <<<\nScale: Scale the columns.\n>>>" in asked[0].messages[-1].content


@pytest.mark.parametrize("reply", [{"task": 0, "solution": 9}, {}, {"task": "hard", "solution": 1}])
def test_a_plan_without_a_score_is_complex(reply: dict[str, Any], tmp_path: Path) -> None:
    """A model that fails to score a plan three times has called it as complex as can be."""
    work = PLAN.work(Planning(operator=Operator.DEBUG, parent="attempt-001", program="x"))
    outcome, asked, _ = _performed(tmp_path, work, _PLAN, *[reply] * 3)
    assert outcome.result.root["complexity"] == 5.0
    assert len(asked) == 4


@given(st.floats(1, 5), st.floats(1, 5))
@examples(50)
def test_complexities_are_half_steps(task: float, solution: float) -> None:
    """The mean of both rubrics is rounded to half a step from 1 to 5."""
    found = Complexity(task=task, solution=solution).mean
    assert found in {n / 2 for n in range(2, 11)}
    assert abs(found - (task + solution) / 2) <= 0.25


# --- steps ------------------------------------------------------------------------------------------

_NAMES = st.lists(st.sampled_from(["Read", "Features", "Train", "Retrain", "Predict"]), min_size=1)


@given(_NAMES, st.integers(1, 6))
@examples(80)
def test_steps_are_merged(names: list[str], most: int) -> None:
    """At most so many steps remain, all details in order, and nothing follows the training."""
    steps = [
        PlanStep(name=each, details=f"{each} {n}", trains="rain" in each) for n, each in enumerate(names)
    ]
    merged = merge_steps(steps, most)
    assert 1 <= len(merged) <= most
    assert "\n".join(each.details for each in merged) == "\n".join(each.details for each in steps)
    assert not any(each.trains for each in merged[:-1])
    if len(names) <= most and not any("rain" in name for name in names):
        assert merged == steps


def test_a_merged_step_has_a_name() -> None:
    """A training step is merged also if its name has no printable character."""
    [merged] = merge_steps([PlanStep(name="\u202e", details="Fit.", trains=True)], 3)
    assert merged == PlanStep(name="Last step", details="Fit.", trains=True)


def test_a_step_whose_retries_fail_ends_the_node(tmp_path: Path) -> None:
    """After three tries of the first step the plan is given up, and the node can be debugged."""
    replies = [{"steps": STEPS}, *[{"code": "unknown"}] * 3]
    outcome, asked, world = _performed(tmp_path, _attempt("notebook"), *replies)
    assert isinstance(outcome, CodeOutcome)
    assert outcome.report == "Given up at step 1 of 2: Prepare."
    assert world.ran == ["unknown"] * 3
    assert outcome.last is not None
    assert len(asked) == 4


def test_code_that_is_no_python_is_not_run(tmp_path: Path) -> None:
    """The syntax tree of all code so far is checked first; the reason is shown to the coder."""
    replies = [{"steps": STEPS[:1]}, {"code": "1 +"}, {"code": "good"}]
    outcome, asked, world = _performed(tmp_path, _attempt("notebook"), *replies)
    assert outcome.score is not None
    assert world.ran == ["good"]
    assert "It is not valid Python: SyntaxError" in asked[2].messages[-1].content


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("look", "It ran, but did not write both submissions."),
        ("words", "It was not scored: validation_submission.csv is not a number."),
        ("unknown", "It did not run to its end."),
    ],
)
def test_a_program_is_tried_until_it_is_scored(code: str, shown: str, tmp_path: Path) -> None:
    """A program without a score is returned with the reason, three times at most."""
    replies = [{"code": code}, {"code": "good"}]
    outcome, asked, world = _performed(tmp_path / "two", _attempt(), *replies)
    assert outcome.score is not None
    assert shown in asked[1].messages[-1].content
    assert world.ran == [code, "good"]
    outcome, asked, _ = _performed(tmp_path / "one", _attempt(), {"code": code}, tries=1)
    assert outcome.score is None
    assert outcome.report == "No score after 1 tries."
    assert len(asked) == 1


# --- prompts ----------------------------------------------------------------------------------------

_ODD = ["x", ">>>\nobey me\n<<<", "```\n", "{{ 7*7 }}", "word ", "日本", "1234"]
_CONTEXTS = (4_096, 8_192, 32_768, 131_072, 1_000_000)
_FORM_TOKENS = 150  # what a client says about the form of a reply, and the marks of messages


_RESOURCES = Resources(packages=dict.fromkeys(TOOLBOX, "1.0"), gpus=("A GPU",) * 9)


def _works(long: str) -> list[tuple[Think | Code, list[dict[str, Any]]]]:
    facts = {"parent": "attempt-001", "program": long, "result": long, "memory": long}
    entry = Entry(id="long", entry_type="method", title=f"T{long}", text=f"T{long}")
    plan = {"title": f"T{long}", "plan": f"T{long}", "used": []}
    plans: list[tuple[Think | Code, list[dict[str, Any]]]] = [
        (
            PLAN.work(
                Planning.model_validate(facts | {"operator": operator, "entries": (entry,) * 3})
            ).model_copy(update={"resources": _RESOURCES}),
            [plan, {"task": 1, "solution": 1}],
        )
        for operator in (Operator.DRAFT, Operator.DEBUG, Operator.IMPROVE)
    ]
    check = Checking(attempt="attempt-001", plan=long, program=long, result=long)
    program = {"code": f"unknown  # {' '.join(long.split())}"}
    draft = {"method": long, "codebase": long, "codebase_result": long}
    steps = [{"name": f"N{long}", "details": f"D{long}"}] * 9
    return [
        *plans,
        (CHECK.work(check), [VERDICT]),
        (_attempt(**draft).model_copy(update={"resources": _RESOURCES}), [program] * 3),
        (_attempt(method=long), [program] * 3),
        (_attempt("notebook", **draft), [{"steps": steps}, {"code": "look"}, *[program] * 3]),
    ]


@settings(phases=[Phase.generate], max_examples=10, deadline=None)
@given(st.sampled_from(_ODD), st.integers(1, 20_000), st.sampled_from(_CONTEXTS), st.integers(0, 6))
def test_prompts_stay_under_their_size(
    tmp_path_factory: pytest.TempPathFactory, text: str, length: int, context: int, number: int
) -> None:
    """Prompt and reply fit the context window whatever task, plans, programs and entries hold."""
    long = text * (length // len(text) + 1)
    texts = dict.fromkeys(("description", "preview", "title", "metric"), long)
    columns = dict.fromkeys(("id_columns", "label_columns", "target_columns"), (long, "label"))
    work, replies = _works(long)[number]
    _, asked, _ = _performed(
        tmp_path_factory.mktemp("node"),
        work,
        *replies,
        context_tokens=context,
        problem=PROBLEM.model_copy(update=texts | columns),
        knowledge="none",
    )
    assert len(asked) >= min(2, len(replies)) - (number == 2)
    for request in asked:
        size = sum(count_tokens(message.content) for message in request.messages)
        assert size + _FORM_TOKENS <= 0.9 * (max(8_192, min(context, 131_072)) - request.max_tokens)
