"""The baseline's search: which step comes next, and how an attempt carries it out."""

import json
from pathlib import Path
from typing import Any

import pytest

from comind.agents.baseline import BaselineAgent
from comind.agents.baseline.search_attempts import SEARCH, Found, SearchFacts, Step
from comind.baseline.search_programs import Screened, SearchResult, fit_program
from comind.campaign.log.campaign_events import CampaignEvent, EnvironmentRead
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import BASELINE_ROLE, Code, Decision, Done, Wait
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.script.cells import cells_of
from comind.campaign.script.derive import derive
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.domain.environment import Environment, Machine, StoreItem
from comind.domain.problem import DataShape, Problem
from comind.domain.spend import Budget, Spend
from comind.domain.value import Payload
from tests.unit.agents.rounds import attempt, baseline, state_of
from tests.unit.baseline import tiny
from tests.unit.campaign.samples import failed, scored
from tests.unit.campaign.world import World, hand_in

_KINDS = ("linear", "nearest neighbours", "kernel", "trees", "histograms", "net")


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return tiny.table(tmp_path)


def _agent(problem: Problem) -> BaselineAgent:
    return BaselineAgent(problem, BaselineAgent.parameters(), seed=0, community=CommunityView())


def _events(*tried: tuple[Code, CodeOutcome | None], cores: int = 2) -> list[CampaignEvent]:
    machine = Machine(system="Linux", cores=cores, memory_bytes=1 << 34)
    read = EnvironmentRead(environment=Environment(python="3.11.7", machine=machine))
    events = [read, *baseline()]
    for number, (work, outcome) in enumerate(tried, start=1):
        events += attempt(number, work, outcome)
    return events


def _plan(problem: Problem, *tried: tuple[Code, CodeOutcome | None], **spec: Any) -> Decision:
    told = {"iterations": None, "coders": 4, "attempt_seconds": 3600.0} | spec
    return _agent(problem).plan(state_of(*_events(*tried), **told))


def _codes(decision: Decision) -> list[Code]:
    assert isinstance(decision, list), decision
    return [each for each in decision if isinstance(each, Code)]


def _ended(value: float, loss: float = 0.5, seconds: float = 10.0) -> CodeOutcome:
    found = SearchResult(settings={"strength": 1.0}, loss=loss, seconds=1.0)
    update = {
        "result": Payload.of(Found(best=found)),
        "spend": Spend(seconds=seconds),
        "code_seconds": 3.0,
    }
    return scored(value).model_copy(update=update)


def _facts(work: Code) -> SearchFacts:
    facts = SEARCH.facts_of(work)
    assert facts is not None
    return facts


def _screened(*families: str, seconds: float = 1.0) -> tuple[Screened, ...]:
    """Return what a screening finds if each family has a smaller loss than the one before it."""
    pairs = enumerate(families, start=1)
    return tuple(Screened(family=name, loss=1 / number, seconds=seconds) for number, name in pairs)


def _found(screened: tuple[Screened, ...]) -> dict[str, Any]:
    return {"result": Payload.of(Found(screened=tuple(sorted(screened, key=lambda each: each.loss))))}


def _said(screened: tuple[Screened, ...]) -> str:
    return "\n".join(each.model_dump_json() for each in screened)


def test_one_iteration_is_the_first_recipe_alone(problem: Problem) -> None:
    """With one iteration, as in the profile `quick`, nothing follows attempt 0."""
    assert isinstance(_plan(problem, iterations=1), Done)


def test_data_of_one_recipe_have_no_search(problem: Problem) -> None:
    """If only a recipe handles the data, the campaign ends after attempt 0 with the reason."""
    ending = _plan(problem.model_copy(update={"shape": DataShape.PANEL}))
    assert isinstance(ending, Done)
    assert "one recipe" in ending.reason
    wide = _plan(problem.model_copy(update={"target_columns": tuple("abcde")}))
    assert isinstance(wide, Done)
    assert wide.reason.startswith("5 targets")


def test_the_first_step_screens_kinds_and_averages(problem: Problem) -> None:
    """After attempt 0 comes one average of the best kinds, which the searches wait for."""
    [first] = _codes(_plan(problem))
    assert (first.role, _facts(first).step, first.operator) == (
        BASELINE_ROLE,
        Step.FIRST,
        Operator.ENSEMBLE,
    )
    assert isinstance(_plan(problem, (first, None)), Wait)


def test_the_best_kinds_are_searched_first(problem: Problem) -> None:
    """Kinds that were screened are searched by their loss, others not at all, nor hopeless ones."""
    [first] = _codes(_plan(problem))
    told = _screened("trees", "kernel", "net", "linear", seconds=0.2)
    screened = scored(0.8).model_copy(update=_found(told) | {"code_seconds": 5.0})
    later = _codes(_plan(problem, (first, screened)))
    assert [_facts(each).family for each in later] == ["linear", "net"]
    tried = [(first, screened), *((work, _ended(0.7)) for work in later)]
    [last] = _codes(_plan(problem, *tried))
    assert _facts(last).family == "kernel"  # trees have four times the least loss
    short: dict[str, Any] = {"budget": Budget(seconds=100.0), "refit": True}
    assert _codes(_plan(problem, (first, screened), **short))
    slow = screened.model_copy(update=_found(_screened("net", "linear", seconds=9.0)))
    assert isinstance(_plan(problem, (first, slow), **short), Done)


def test_a_round_searches_each_kind_a_core_each(problem: Problem) -> None:
    """As many searches run in parallel as there are cores, each kind once a round."""
    [first] = _codes(_plan(problem))
    tried: list[tuple[Code, CodeOutcome | None]] = [(first, _ended(0.8))]
    kinds: list[str] = []
    for _ in range(3):
        planned = _codes(_plan(problem, *tried))
        assert len(planned) == 2
        kinds += [_facts(each).family for each in planned]
        waiting = [*tried, *((work, None) for work in planned)]
        assert isinstance(_plan(problem, *waiting), Wait)
        tried += [(work, _ended(0.7, loss=len(kinds) - number)) for number, work in enumerate(planned)]
    assert sorted(kinds) == sorted(_KINDS)
    [average] = _codes(_plan(problem, *tried))
    assert _facts(average).step is Step.AVERAGE
    assert len(average.parents) == len(_KINDS)
    later = _codes(_plan(problem, *tried, (average, _ended(0.9))))
    assert later[0].draft.title == f"{kinds[1]}, 16 evaluations"  # it had the least loss
    assert "'strength': 1.0" in later[0].draft.codebase  # it goes on from what was found


def test_a_kind_of_model_that_failed_is_not_retried(problem: Problem) -> None:
    """A kind without a score is left out of the average and of later rounds."""
    [first] = _codes(_plan(problem))
    tried: list[tuple[Code, CodeOutcome | None]] = [(first, failed())]
    while True:
        planned = _codes(_plan(problem, *tried))
        if _facts(planned[0]).step is Step.AVERAGE:
            break
        tried += [(w, failed() if _facts(w).family == "net" else _ended(0.7)) for w in planned]
    assert "net" not in planned[0].draft.method
    later = _codes(_plan(problem, *tried, (planned[0], _ended(0.9))))
    assert "net" not in {_facts(each).family for each in later}


def test_kinds_with_one_setting_are_evaluated_once(problem: Problem) -> None:
    """They are searched in the first round alone, and averaged later; a missing package is named."""
    model = StoreItem(name="jingang/TabICL", path="input/models/icl", kind="folder", load="")
    given = {"packages": ("pytabkit==1.8.0",), "models": (model,)}

    def plan(*tried: tuple[Code, CodeOutcome | None]) -> list[Code]:
        machine = Machine(system="Linux", cores=9, memory_bytes=1 << 34)
        read = EnvironmentRead(environment=Environment(python="3.11.7", machine=machine, **given))
        events = [read, *_events(*tried)[1:]]
        told = {"iterations": None, "coders": 9, "attempt_seconds": 3600.0}
        return _codes(_agent(problem).plan(state_of(*events, **told)))

    [first] = plan()
    assert first.draft.method.endswith("In the store, but without tabicl: no TabICL.")
    assert "('RealMLP', REALMLP)" in first.draft.codebase
    screened = (first, scored(0.7).model_copy(update=_found(_screened("linear", "RealMLP"))))
    searches = plan(screened)
    assert [each.draft.title for each in searches] == ["RealMLP", "linear, 8 evaluations"]
    assert "search(task, tables, REALMLP, 1, REALMLP.start)" in searches[0].draft.codebase
    ended = [(searches[0], _ended(0.8, loss=0.4)), (searches[1], _ended(0.8))]
    [average] = plan(screened, *ended)
    assert "RealMLP, linear" in average.draft.method
    later = plan(screened, *ended, (average, _ended(0.9)))
    assert [_facts(each).family for each in later] == ["linear"]


@pytest.mark.parametrize("seconds", [1e6, None])
def test_a_round_without_settings_is_the_last(problem: Problem, seconds: float | None) -> None:
    """If every search fails there is nothing to average, and the search ends with that reason."""
    [first] = _codes(_plan(problem))
    tried: list[tuple[Code, CodeOutcome | None]] = [(first, failed())]
    told: dict[str, Any] = {"budget": Budget(seconds=seconds)}
    while not isinstance(decision := _plan(problem, *tried, **told), Done):
        tried += [(work, failed()) for work in _codes(decision)]
    assert decision.reason == "no settings of any family could be fitted"
    assert sorted(_facts(work).family for work, _ in tried[1:]) == sorted(_KINDS)
    # A log of a former version goes on behind an average of nothing.
    last = _plan(problem, *tried, (first, failed()), **told)
    assert isinstance(last, Done)
    assert last.reason == decision.reason


def test_the_search_ends_with_time_or_gain(problem: Problem) -> None:
    """No step begins without time for the campaign's end; a round without improvement is the last."""
    late = _plan(problem, budget=Budget(seconds=20.0), refit=True)
    assert isinstance(late, Done)
    assert "s are left" in late.reason
    assert _run_out(problem, gain=0.001) == "all 5 rounds of the search are made"
    assert _run_out(problem, gain=0.0) == "round 2 of the search found nothing better"
    assert _run_out(problem, gain=0.001, iterations=4) == "all 2 rounds of the search are made"
    assert _run_out(problem, gain=0.0, iterations=2) == "all 0 rounds of the search are made"


def _run_out(problem: Problem, *, gain: float, **spec: Any) -> str:
    """Return why a search ends in which every attempt improves on the last by the same gain."""
    tried: list[tuple[Code, CodeOutcome | None]] = []
    spec = {"budget": Budget(seconds=1e6)} | spec
    while not isinstance(decision := _plan(problem, *tried, **spec), Done):
        tried += [(work, _ended(0.75 + gain * len(tried))) for work in _codes(decision)]
        assert len(tried) < 60
    return decision.reason


@pytest.mark.parametrize(("left", "took", "begun"), [(34.0, 10.0, True), (34.0, 20.0, False)])
def test_a_short_campaign_makes_its_first_average(
    problem: Problem, left: float, took: float, *, begun: bool
) -> None:
    """A minute is enough for one, but where attempt 0 took much of the time."""
    recipe = scored(0.7).model_copy(update={"code_seconds": took})
    machine = Machine(system="Linux", cores=2, memory_bytes=1 << 34)
    read = EnvironmentRead(environment=Environment(python="3.11.7", machine=machine))
    told: dict[str, Any] = {"iterations": None, "refit": True, "blend": True, "attempt_seconds": 3600.0}
    state = state_of(read, *baseline(recipe), budget=Budget(seconds=30.0 + left), **told)
    planned = _agent(problem).plan(state)
    assert isinstance(planned, Done) is not begun
    if begun:
        [first] = _codes(planned)
        assert 10 <= first.budget.seconds < left - took


def test_later_steps_leave_time_for_blend_and_proof(problem: Problem) -> None:
    """Steps after the first average reserve more time than that did."""
    [first] = _codes(_plan(problem, budget=Budget(seconds=60.0), refit=True, blend=True))
    slow = _ended(0.8).model_copy(update={"code_seconds": 12.0})
    told: dict[str, Any] = {"budget": Budget(seconds=60.0), "refit": True}
    assert isinstance(_plan(problem, (first, slow), **told, blend=True), Done)
    assert _codes(_plan(problem, (first, slow), **told | {"budget": Budget(seconds=150.0)}, blend=True))


def test_attempts_leave_time_for_the_end(problem: Problem) -> None:
    """An attempt's budget is the time left after reserving the next average, the refit and the end."""
    [first] = _codes(_plan(problem, budget=Budget(seconds=100.0), refit=True))
    assert first.budget.seconds < 80


def _carried_out(root: Path, problem: Problem, said: str) -> tuple[CodeOutcome, World]:
    [first] = _codes(_plan(problem))
    work = _codes(_plan(problem, (first, _ended(0.8))))[0]
    world = World(root)
    world.cells = {work.draft.codebase: lambda workspace: said}
    found = SearchResult.model_validate(json.loads(said)) if said.startswith("{") else None
    if found:
        world.cells[fit_program(problem, 0, {_facts(work).family: found.settings})] = hand_in("0.8")
    work = work.model_copy(update={"budget": work.budget.model_copy(update={"steps": 4})})
    outcome = execute(_agent(problem), work, world.folder.work("attempt-001"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    return outcome, world


def test_a_search_is_no_part_of_the_solution(tmp_path: Path, problem: Problem) -> None:
    """What is submitted, refitted and derived is the program with the settings, without the search."""
    said = SearchResult(settings={"strength": 2.0}, loss=0.1, seconds=0.2).model_dump_json()
    outcome, world = _carried_out(tmp_path, problem, said)
    assert outcome.score is not None
    assert "'strength': 2.0" in outcome.code
    assert "search(task, tables" not in outcome.code
    assert ["search(task, tables" in code for code in world.ran] == [True, False]
    ran = WORK_LOG.read(world.folder.work("attempt-001").log)
    assert [cell.step for cell in cells_of(ran.cells, 2)] == [2]
    assert ran.replayable() == [ran.best_cell]
    assert "'strength': 2.0" in derive(cells_of(ran.cells, 2)).text


def test_a_search_without_settings_ends_its_attempt(tmp_path: Path, problem: Problem) -> None:
    """If no settings could be fitted, nothing is submitted, and the report says so."""
    outcome, world = _carried_out(tmp_path, problem, "nothing")
    assert outcome.score is None
    assert "No settings" in outcome.report
    assert len(world.ran) == 1


def _first(root: Path, problem: Problem, said: str, *kinds: str) -> tuple[CodeOutcome, World]:
    """Carry out the first average, whose screening prints `said`, with a program for some kinds."""
    [work] = _codes(_plan(problem))
    world = World(root)
    world.cells = {work.draft.codebase: lambda workspace: said}
    world.cells[fit_program(problem, 0, dict.fromkeys(kinds))] = hand_in("0.8")
    budget = work.budget.model_copy(update={"steps": 4, "seconds": 100.0})
    outcome = execute(
        _agent(problem),
        work.model_copy(update={"budget": budget}),
        world.folder.work("attempt-001"),
        world.dependencies(),
    )
    assert isinstance(outcome, CodeOutcome)
    return outcome, world


def test_what_takes_too_long_is_not_averaged(tmp_path: Path, problem: Problem) -> None:
    """Kinds are averaged, the best first, as far as half of the time goes; no script screens."""
    quick, slow = _said(_screened("linear", "kernel")), _said(_screened("trees", seconds=60.0))
    outcome, world = _first(
        tmp_path, problem, f"{slow}\nnet: ValueError: no\n{quick}", "kernel", "linear"
    )
    assert outcome.score is not None
    assert ["screen(task, tables" in code for code in world.ran] == [True, False]
    assert "screen(task, tables" not in outcome.code
    assert outcome.report.startswith("An average of kernel, linear;")
    found = SEARCH.result_of(outcome)
    assert found is not None
    assert {each.family for each in found.screened} == {"linear", "kernel", "trees"}


def test_a_screening_without_a_kind_ends_its_attempt(tmp_path: Path, problem: Problem) -> None:
    """Where no kind could be fitted in time, nothing is handed in, and the report says so."""
    outcome, world = _first(tmp_path, problem, "linear: MemoryError: too much")
    assert outcome.score is None
    assert outcome.report.startswith("No family of models could be fitted")
    assert len(world.ran) == 1
