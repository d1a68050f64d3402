"""Lessons: what an attempt gained over its parent, from measurements, and who is shown it."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.conversation import TEMPLATES
from comind.agents.comind.from_others import told
from comind.agents.comind.journal import journal_of
from comind.agents.comind.lessons import changed_lines, lessons_of
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import Pool
from comind.agents.comind.sizes import Sizes
from comind.agents.comind.thoughts import (
    ANALYZE,
    CODING,
    COORDINATE,
    PROPOSE,
    Drafting,
    Proposing,
    Report,
)
from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS, CampaignEvent, WorkPlanned
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code, Reference, Think
from comind.campaign.log.work_events import WORK_EVENTS, CellEnded
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from comind.domain.facts import Fact, FactSheet
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.domain.spend import WorkBudget
from comind.eventlog.log import EventLog, read_log
from comind.grading.grader_port import GradeReport, ScoreBreakdown, SubsetScore
from comind.testing import ColumnGrader, ScriptedModel
from tests.unit.agents.rounds import REPORT, attempt, baseline, state_of, thought
from tests.unit.agents.samples import AGENT, FRAME, PROBLEM, agent_for
from tests.unit.campaign.samples import code, opened, score, scored
from tests.unit.campaign.world import World, hand_in

_LARGE = 131_072
_TREES = "import lightgbm\nmodel = LGBMRegressor(num_leaves=31)\nmodel.fit(x, y)\nprint(model)"
_MORE = "import lightgbm\nx['ratio'] = x.a / x.b\nmodel = LGBMRegressor(num_leaves=63)\nmodel.fit(x, y)"


def _gain(difference: float, error: float) -> Paired:
    low, high = difference - 2 * error, difference + 2 * error
    return Paired(difference=difference, standard_error=error, interval=Interval(low=low, high=high))


def _tried(
    number: int,
    text: str,
    *,
    gain: Paired | None,
    parent: str = "attempt-000",
    title: str = "",
    **values: Any,
) -> list[CampaignEvent]:
    """Return an attempt that was compared with its parent and has ended."""
    draft = Draft(title=title or f"draft {number}", method="m")
    reference = Reference(attempt=parent, step=1)
    work = code().model_copy(update={"draft": draft, "parents": (parent,), "reference": reference})
    outcome = scored(0.8).model_copy(update={"code": text, "gain": gain, "code_seconds": 9.0, **values})
    return attempt(number, work, outcome)


def _first(text: str = _TREES, **values: Any) -> list[CampaignEvent]:
    return baseline(scored(0.7).model_copy(update={"code": text, **values}))


def test_the_verdict_is_by_measurement() -> None:
    """It is two standard errors of the paired difference, whatever the author says."""
    said = {"lesson": "This helped a lot."}
    for difference, error, verdict in (
        (0.05, 0.01, "helps"),
        (0.015, 0.01, "no difference"),
        (-0.05, 0.01, "hurts"),
    ):
        state = state_of(*_first(), *_tried(1, _MORE, gain=_gain(difference, error), **said))
        [lesson] = lessons_of(state)
        assert (lesson.verdict, lesson.gain, lesson.error) == (verdict, difference, error)
        assert (lesson.attempt, lesson.parent, lesson.said) == (
            "attempt-001",
            "attempt-000",
            "This helped a lot.",
        )
        assert lesson.paired
        assert lesson.seconds == 9.0


def test_without_a_paired_difference_errors_of_both_count() -> None:
    """Errors are assumed to go together by 0.8, and the lesson says that it is from the two scores."""

    def outcome(value: float) -> ValidationScore:
        around = Interval(low=value - 0.0588, high=value + 0.0588)  # a standard error of 0.03
        value_of = MetricValue(value=value, maximize=True)
        return ValidationScore(metric="accuracy", value=value_of, interval=around, rows=9)

    work = code().model_copy(update={"parents": ("attempt-000",)})
    old = [scored(0).model_copy(update={"score": outcome(each)}) for each in (0.7, 0.73)]
    state = state_of(*baseline(old[0]), *attempt(1, work, old[1]))
    [lesson] = lessons_of(state)
    assert not lesson.paired
    assert lesson.error == pytest.approx(0.019, abs=1e-3)
    assert lesson.verdict == "no difference"


def test_a_program_that_was_written_anew_has_no_changed_lines() -> None:
    """It is compared by its score with the best before it, whose program it does not come from."""
    planned, ended = _tried(1, _MORE, gain=_gain(0.1, 0.01))
    assert isinstance(planned, WorkPlanned)
    fresh = planned.model_copy(update={"work": planned.work.model_copy(update={"parents": ()})})
    [lesson] = lessons_of(state_of(*_first(), fresh, ended))
    assert lesson.verdict == "helps"
    assert (lesson.added, lesson.removed, lesson.lines) == (0, 0, ())


def test_changes_are_the_lines_that_say_most() -> None:
    """Added and removed lines are counted; models and features are shown, imports and prints not."""
    added, removed, lines = changed_lines(_TREES, _MORE)
    assert (added, removed) == (2, 2)
    assert set(lines) == {
        "+ x['ratio'] = x.a / x.b",
        "- model = LGBMRegressor(num_leaves=31)",
        "+ model = LGBMRegressor(num_leaves=63)",
    }


def test_of_many_changes_those_of_models_and_features_are_shown() -> None:
    """Other lines fill what is left of six."""
    plain = [f"step_{n} = {n}" for n in range(9)]
    added, _, lines = changed_lines("", "\n".join([*plain, "model = Ridge(alpha=1)", "x['a'] = 1"]))
    assert added == 11
    assert lines[:3] == ("+ model = Ridge(alpha=1)", "+ x['a'] = 1", "+ step_0 = 0")
    assert len(lines) == 6


def test_gains_by_part_are_of_parts_that_both_have() -> None:
    """The largest differences come first, with their sign by the direction of the metric."""

    def parts(**values: float) -> tuple[ScoreBreakdown, ...]:
        worst = tuple(SubsetScore(name=name, value=v, share=0.3) for name, v in values.items())
        return (ScoreBreakdown(by="shop", count=9, worst=worst),)

    state = state_of(
        *_first(parts=parts(a=0.5, b=0.6)),
        *_tried(1, _MORE, gain=_gain(0.1, 0.01), parts=parts(a=0.8, b=0.5, c=0.1)),
    )
    assert lessons_of(state)[0].parts == ("shop a +0.3", "shop b -0.1")
    loss: dict[str, Any] = {"score": score(0.8, maximize=False), "parts": parts(a=0.8)}
    first: dict[str, Any] = {"score": score(0.7, maximize=False), "parts": parts(a=0.5)}
    less = [*_first(**first), *_tried(1, _MORE, gain=_gain(0.1, 0.01), **loss)]
    assert lessons_of(state_of(*less))[0].parts == ("shop a -0.3",)


def test_lessons_are_ranked_by_evidence_and_differ() -> None:
    """Evidence counts by size, not sign; ten are kept, six of a verdict, one of nearly equal ones."""
    titles = [
        "lags",
        "ranks",
        "nets",
        "knn",
        "svm",
        "logs",
        "bins",
        "pca",
        "fourier",
        "holidays",
        "cats",
    ]
    events = [*_first()]
    for number, title in enumerate(titles, start=1):
        sign = -1 if number % 3 == 0 else 1
        events += _tried(
            number, f"{title} = fit_{title}()", gain=_gain(sign * number / 100, 0.001), title=title
        )
    events += _tried(12, "cats = fit_cats()", gain=_gain(0.2, 0.001), title="cats")
    lessons = lessons_of(state_of(*events))
    assert [each.attempt[-2:] for each in lessons[:3]] == ["12", "10", "09"]
    assert "attempt-011" not in [each.attempt for each in lessons], "the same lesson as attempt-012"
    verdicts = [str(each.verdict) for each in lessons]
    assert verdicts.count("helps") == 6
    assert verdicts.count("hurts") == 3
    assert len(lessons) <= 10


def test_of_equals_the_newer_is_first_and_rejected_attempts_teach_nothing() -> None:
    """Two gains of the same size are listed by age; what was rejected is left out."""
    same = _gain(0.1, 0.01)
    events = [*_tried(1, "a = Lags()", gain=same), *_tried(2, "b = Nets()", gain=same)]
    events += _tried(3, "c = Leak()", gain=_gain(0.9, 0.01), rejected="the critic: it leaks")
    assert [each.attempt for each in lessons_of(state_of(*_first(), *events))] == [
        "attempt-002",
        "attempt-001",
    ]


_BY_SHOP = ScoreBreakdown(by="shop", count=1, worst=(SubsetScore(name="a", value=0.5, share=1),))


class _WithParts(ColumnGrader):
    """A grader whose scores have parts."""

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the number in the file as its score, with parts."""
        return super().grade(validation, test).model_copy(update={"parts": (_BY_SHOP,)})


def test_an_attempt_is_compared_with_its_parent_on_the_same_rows(tmp_path: Path) -> None:
    """The platform compares its result with the reference, and records that with the parts."""
    world = World(tmp_path, grader=_WithParts(noise=0.01), cells={"base": hand_in("0.75")})
    outcomes = []
    for name, cell, reference in (
        ("attempt-001", "base", None),
        ("attempt-002", "good", Reference(attempt="attempt-001", step=1)),
        ("attempt-003", "look", Reference(attempt="attempt-001", step=1)),
        ("attempt-004", "good", Reference(attempt="attempt-009", step=1)),
    ):
        world.model = ScriptedModel([json.dumps({"code": cell})] * 2)
        work = code(steps=1).model_copy(update={"reference": reference})
        outcome = execute(world.agent, work, world.folder.work(name), world.dependencies())
        assert isinstance(outcome, CodeOutcome)
        outcomes.append(outcome.gain)
        assert outcome.parts == ((_BY_SHOP,) if outcome.score else ())
    assert outcomes[0] is None
    assert outcomes[1] is not None
    assert outcomes[1].difference == pytest.approx(0.15)
    assert outcomes[1].standard_error == 0.01
    assert outcomes[2:] == [None, None], "without a score, or without the parent's files"


# --- who is shown lessons -------------------------------------------------------------------------

_AXES = ("novelty", "feasibility", "effectiveness", "efficiency")
_PART = dict.fromkeys(_AXES, 9) | {"takes": "folds", "gives": "logits"}
_REPORTS = [
    REPORT
    | {"item": f"attempt-00{n}", "kind": "solution", "title": f"solution {n}"}
    | {"components": [_PART | {"name": f"stacker {n}"}]}
    for n in (1, 2)
]
_REPORTS_OF_BOTH = tuple(Report.model_validate(each) for each in _REPORTS)


def _second_round(*drafts: Draft, **values: Any) -> CampaignState:
    """Return a campaign with two solutions, reports on them, and waiting drafts."""
    both = [{"title": f"draft {n}", "method": "m"} for n in (1, 2)]
    return state_of(
        *_first(),
        *thought(0, COORDINATE, {"drafts": both}),
        *_tried(1, "a = Lags()", gain=_gain(0.1, 0.01), lesson="Lags carry it.", out_of_fold=score(0.8)),
        *_tried(2, "b = Nets()", gain=_gain(-0.1, 0.01), lesson="Nets overfit."),
        *thought(1, ANALYZE, {"reports": _REPORTS}),
        *thought(2, COORDINATE, {"drafts": [each.model_dump(mode="json") for each in drafts]}),
        **{"coders": 3, "iterations": None, **values},
    )


_FRESH = Draft(title="a forest", method="Extra trees.")
_EXTENDS = Draft(title="more lags", method="m", codebase="a = 1", sources=("attempt-001",))


def _planned(state: CampaignState, **parameters: Any) -> list[Code]:
    planned = agent_for(parameters=CoMindParameters(**parameters)).plan(state)
    assert isinstance(planned, list)
    return [each for each in planned if isinstance(each, Code)]


def test_attempts_get_lessons_and_components_of_other_branches() -> None:
    """A fresh draft gets the components of all solutions, an extension none of its own lineage."""
    fresh, extends = _planned(_second_round(_FRESH, _EXTENDS))
    told = [CODING.facts_of(each) for each in (fresh, extends)]
    assert told[0] is not None
    assert told[1] is not None
    assert {each.of for each in told[0].components} == {"attempt-001", "attempt-002"}
    assert [each.name for each in told[1].components] == ["stacker 2"]
    assert [each.attempt for each in told[0].lessons] == ["attempt-002", "attempt-001"]
    assert extends.reference == Reference(attempt="attempt-001", step=1)
    assert fresh.reference is not None


def test_components_are_of_other_branches_and_of_valid_solutions() -> None:
    """None is of an ancestor, however far, and none of what was rejected."""
    same = _gain(0.1, 0.01)
    for rejected, parents, of in (
        ("", ("attempt-002",), []),
        ("", ("attempt-001",), ["attempt-002"]),
        ("the critic: it leaks", ("attempt-001",), []),
    ):
        events = [*_tried(1, "a = Lags()", gain=same)]
        events += _tried(2, "b = Nets()", gain=same, parent="attempt-001", rejected=rejected)
        state = state_of(*_first(), *events)
        work = code().model_copy(update={"parents": parents})
        facts = CODING.facts_of(told(state, Pool(reports=_REPORTS_OF_BOTH), work))
        assert facts is not None
        assert [each.of for each in facts.components] == of


@pytest.mark.parametrize("lessons", [True, False])
def test_rounds_are_shown_lessons_unless_they_are_switched_off(lessons: bool) -> None:
    """They are in the facts of ideas and drafts, and in those of attempts."""
    agent = agent_for(parameters=CoMindParameters(lessons=lessons, solutions_per_round=0))
    planned = agent.plan(_second_round())
    assert isinstance(planned, list)
    assert isinstance(planned[0], Think)
    assert bool(PROPOSE.facts_of(planned[0]).lessons) == lessons
    after = [*thought(3, PROPOSE, {"ideas": []})]
    state = state_of(*_first(), *_tried(1, _MORE, gain=_gain(0.1, 0.01)), *after, iterations=None)
    drafts = agent.plan(state)
    assert isinstance(drafts, list)
    assert isinstance(drafting := drafts[0], Think)
    assert bool(COORDINATE.facts_of(drafting).lessons) == lessons
    assert bool(_planned(_second_round(_FRESH), lessons=lessons)[0].facts.root["lessons"]) == lessons


def test_all_three_prompts_show_lessons(tmp_path: Path) -> None:
    """Brainstorm, drafts and the coder's task have gain, error, changed lines and the author's words."""
    lessons = lessons_of(_second_round())
    for context, shown in ((_LARGE, True), (8_192, False)):
        sizes = Sizes.of(context)
        told = TEMPLATES.render("lessons", lessons=lessons, sizes=sizes, problem=PROBLEM)
        assert "- attempt-001, draft 1, against attempt-000: helps, +0.1 (standard error 0.01;" in told
        assert "Its author: Lags carry it." in told
        assert ("+ a = Lags()" in told) == shown
    state = _second_round(_FRESH)
    assert "Nets overfit." in _asked(tmp_path / "code", _planned(state)[0])[0]
    for name, work in (
        ("brainstorm", PROPOSE.work(Proposing(lessons=lessons))),
        ("drafts", COORDINATE.work(Drafting(lessons=lessons))),
    ):
        world = World(tmp_path / name)
        world.model = ScriptedModel(lambda request: "{}", context_tokens=_LARGE)
        execute(AGENT, work, world.folder.work("think-000"), world.dependencies())
        assert "Nets overfit." in world.model.requests[0].messages[-1].content


def test_a_report_has_a_lesson(tmp_path: Path) -> None:
    """The lesson of an attempt's report is recorded in its outcome."""
    world = World(tmp_path, cells={FRAME: lambda workspace: ""})
    said = {"summary": "It works.", "lesson": "The lags did it."}
    world.model = ScriptedModel([json.dumps(each) for each in ({"code": "good"}, said)])
    work = code(steps=2).model_copy(update={"budget": WorkBudget(seconds=9e3, steps=2, cell_seconds=9)})
    outcome = execute(AGENT, work, world.folder.work("attempt-001"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    assert outcome.lesson == "The lags did it."


def test_the_journal_lists_lessons() -> None:
    """Each attempt has a line with its gain, cost and the author's words."""
    told = journal_of(_second_round(), CommunityView())
    assert (
        "- attempt-002 against attempt-000: hurts, -0.1 (standard error 0.01; ran 9 s), lines: 1 added, "
        "4 removed: draft 2. Its author: Nets overfit."
    ) in told


# --- isolation ------------------------------------------------------------------------------------

_OTHERS = (
    "attempt-001",
    "attempt-002",
    "draft 1",
    "draft 2",
    "Lags",
    "Nets",
    "stacker",
    "a rival",
    "77 s",
)


def _asked(root: Path, work: Code, **parameters: Any) -> list[str]:
    """Run an attempt beside another one that has news; return all its prompts."""
    world = World(root, cells={FRAME: lambda workspace: ""})
    world.model = ScriptedModel(
        [json.dumps({"code": "poor"}), json.dumps({"code": "good"}), json.dumps({"summary": "s"})],
        context_tokens=_LARGE,
    )
    agent = agent_for(parameters=CoMindParameters(**parameters))
    long = WorkBudget(seconds=9e3, steps=3, cell_seconds=60)
    sheet = FactSheet(attempts=(Fact(text="Its step ran 77 s", source="attempt-002"),))
    work = work.model_copy(update={"budget": long, "measured": sheet})
    _rival(world)
    execute(agent, work, world.folder.work("attempt-003"), world.dependencies())
    return ["\n".join(m.content for m in request.messages) for request in world.model.requests]


def _rival(world: World) -> None:
    """Write the log of a campaign in which another attempt runs beside attempt-003, and has a score."""
    with EventLog(world.folder.log, CAMPAIGN_EVENTS) as log:
        log.append(opened())
        log.append(WorkPlanned(id="attempt-002", work=code("a rival")))
        log.append(WorkPlanned(id="attempt-003", work=code()))
    beside = World(world.root)
    beside.model = ScriptedModel([json.dumps({"code": "good"})] * 2)
    execute(beside.agent, code(), world.folder.work("attempt-002"), beside.dependencies())


def _found(prompts: list[str]) -> set[str]:
    return {name for name in _OTHERS for prompt in prompts if name in prompt}


def test_isolated_attempts_see_nothing_of_others(tmp_path: Path) -> None:
    """With `isolation` no prompt of an attempt has an id, title, lesson or component of another one."""
    state = _second_round(_FRESH)
    open_prompts = _asked(tmp_path / "open", _planned(state)[0])
    assert _found(open_prompts) == set(_OTHERS)
    alone = {"isolation": True}
    prompts = _asked(tmp_path / "alone", _planned(state, **alone)[0], **alone)
    assert len(prompts) == len(open_prompts)
    assert _found(prompts) == set()
    assert "Extra trees." in prompts[0]
    assert _planned(state, **alone)[0].inputs == (), "solutions that it does not come from"
    assert "attempt-001" in _planned(state)[0].inputs


def test_news_of_neighbours_can_be_switched_off_alone(tmp_path: Path) -> None:
    """Without `neighbours` feedback has none, and lessons stay; the log has what was heard."""
    work = _planned(_second_round(_FRESH), neighbours=False)[0]
    prompts = _asked(tmp_path, work, neighbours=False)
    assert "a rival" not in "".join(prompts)
    assert "stacker" in prompts[0]
    log = World(tmp_path).folder.work("attempt-003").log
    ended = [each.event for each in read_log(log, WORK_EVENTS) if isinstance(each.event, CellEnded)]
    assert [each.title for cell in ended for each in cell.neighbours] == ["a rival"]
