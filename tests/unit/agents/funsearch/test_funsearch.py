"""FunSearch: what it plans, where it ends, and that a log gives the same plan again."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.funsearch import FunSearch
from comind.agents.funsearch.funsearch import FunSearchParameters
from comind.agents.funsearch.islands import PROGRAM, Place, Version, islands_of
from comind.campaign.baseline_first import seen_by_agents
from comind.campaign.log.campaign_events import WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import CodeOutcome, FailureCause
from comind.campaign.log.work import Code, Done, Wait
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.domain.facts import FactSheet
from comind.domain.spend import Budget, Spend
from comind.domain.value import Payload
from comind.eventlog.log import read_log
from comind.grading.grader_port import GradeReport, ScoreBreakdown, SubsetScore
from comind.llm.model_ports import ModelRequest
from comind.testing import ColumnGrader, ScriptedModel
from tests.examples import examples
from tests.unit.agents.drawn_replies import DrawnModel
from tests.unit.agents.funsearch.archipelagos import Archipelago, bad, good, place_of
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World, hand_in


def _agent(**how: Any) -> FunSearch:
    parameters = FunSearchParameters.model_validate(how)
    return FunSearch(PROBLEM, parameters, seed=0, community=CommunityView())


def _run(root: Path, *programs: str, coders: int = 1, **how: Any) -> tuple[World, CampaignState]:
    """Run a campaign in which the model writes these programs, then the last one again."""
    left = list(programs)

    def say(_: ModelRequest) -> str:
        return json.dumps({"plan": "As asked.", "code": left.pop(0) if len(left) > 1 else left[0]})

    world = World(root)
    world.agent = _agent(**{"programs": len(programs)} | how)  # type: ignore[assignment]
    world.model = ScriptedModel(say)
    return world, world.run(world.campaign(agent="funsearch", coders=coders))


# --- islands -----------------------------------------------------------------------------------------


def test_a_visible_baseline_is_on_all_islands() -> None:
    """The first program of whichever island is its next version."""
    for seed in range(5):
        [work] = Archipelago(seed=seed).next()
        assert (work.operator, work.parents) == (Operator.IMPROVE, ("attempt-000",))
        assert [each.code for each in place_of(work).versions] == ["baseline()"]
        assert (work.session, work.budget.steps) == ("script", 1)


def test_without_a_score_programs_are_written_from_scratch() -> None:
    """What failed is not shown; the first that is scored is on all islands."""
    islands = Archipelago(islands=4, first=bad())
    places = islands.grow(bad(), bad(), good(0.8))
    assert places == [Place()] * 3
    assert [[each.id for each in one] for one in islands_of(islands.attempts, 4)] == [
        ["attempt-003"]
    ] * 4
    [work] = islands.next()
    assert work.parents == ("attempt-003",)


def test_a_hidden_baseline_is_on_no_island() -> None:
    """The first program is written from scratch."""
    [work] = Archipelago(spec={"baseline": "hidden"}).next()
    assert (work.operator, work.parents) == (Operator.DRAFT, ())


def test_a_program_is_on_the_island_of_its_versions() -> None:
    """Islands have the baseline and their own programs; a failed or rejected one is on none."""
    islands = Archipelago(islands=3, resets=0)
    rejected = good(0.9).model_copy(update={"rejected": "a checker: it leaks"})
    places = islands.grow(*[good(0.8), bad(), rejected] * 5)
    for number, island in enumerate(islands_of(islands.attempts, 3)):
        own = [f"attempt-{n:03d}" for n, place in enumerate(places, 1) if place.island == number]
        scored = [name for name in own if int(name[-3:]) % 3 == 1]
        assert [each.id for each in island] == ["attempt-000", *scored]


def test_choices_depend_on_the_seed() -> None:
    """The same seed draws the same islands and versions for the same outcomes, another one others."""
    outcomes = [good(0.5 + 0.03 * number, "x" * number) for number in range(1, 12)]
    first, again, other = (Archipelago(seed=seed).grow(*outcomes) for seed in (1, 1, 2))
    assert first == again
    assert [each.island for each in first] != [each.island for each in other]


def test_an_island_is_warm_and_cools_with_its_programs() -> None:
    """Near the end of a period the best two are shown, at its begin others as well."""
    outcomes = [good(0.71 + number / 100) for number in range(9)]
    shown = {}
    for period in (11, 10):  # ten programs are the last of the one, the first of the other
        found = [
            [each.attempt for each in Archipelago(seed=seed, islands=1, period=period, temperature=2)
            .grow(*outcomes, bad())[-1].versions] for seed in range(20)
        ]  # fmt: skip
        shown[period] = sum(each == ["attempt-008", "attempt-009"] for each in found)
    assert shown[11] > 2 * shown[10]


def test_free_slots_get_programs_of_their_own() -> None:
    """Each of four programs at once has its own island, drawn for its number."""
    islands = Archipelago(spec={"coders": 4})
    drawn = [place_of(work).island for work in islands.next()]
    assert drawn == [place.island for place in Archipelago().grow(*[bad()] * 4)]
    assert len(set(drawn)) > 1


# --- resets ------------------------------------------------------------------------------------------


def _resets(islands: Archipelago) -> list[int]:
    places = [PROGRAM.facts_of(each.work) for each in islands.attempts]
    return [each.reset.number if each and each.reset else 0 for each in places[1:]]


def test_resets_divide_the_programs_of_a_campaign() -> None:
    """Three resets of twelve programs come after three, six and nine."""
    islands = Archipelago(islands=4, programs=12)
    islands.grow(*[good(0.8)] * 12)
    assert _resets(islands) == [0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0]


def test_resets_divide_the_time_of_a_campaign() -> None:
    """One reset comes after half of the time, with the next program that is planned then."""
    islands = Archipelago(islands=4, resets=1, spec={"budget": Budget(seconds=1000)})
    for seconds in (100, 499, 501, 900):
        islands.seconds = seconds
        islands.grow(good(0.8))
    assert _resets(islands) == [0, 0, 0, 1], "what was planned at 499 s ended at 501 s"


def test_resets_divide_the_evaluations_of_a_campaign() -> None:
    """Where time is long, they come by the limit that is nearest."""
    given = {"evaluations": 8, "budget": Budget(seconds=1e6, evaluations=8)}
    islands = Archipelago(islands=4, resets=1, spec=given)
    graded = good(0.8).model_copy(update={"spend": Spend(evaluations=1)})
    islands.grow(*[graded] * 8)
    assert _resets(islands) == [0, 0, 0, 0, 1, 0, 0, 0]
    assert islands.plan() == Done(reason="the islands have their 8 programs")


@pytest.mark.parametrize("how", [{"resets": 0}, {"islands": 1}])
def test_no_island_is_reset_where_none_may_be(how: dict[str, Any]) -> None:
    """Without resets, or with one island, all programs stay where they are."""
    islands = Archipelago(**{"islands": 3, "programs": 8} | how)
    islands.grow(*[good(0.8)] * 8)
    found = islands_of(islands.attempts, islands.agent.settings.islands)
    assert len({each.id for island in found for each in island}) == 9


def test_a_reset_is_read_from_the_log() -> None:
    """The worse half has the founder alone, and what was planned for it since."""
    islands = Archipelago(islands=2, resets=1, programs=8)
    places = islands.grow(*[good(value) for value in (0.71, 0.72, 0.73, 0.74, 0.75, 0.76)])
    [reset] = [place.reset for place in places if place.reset]
    [(worse, founder)] = reset.founders.items()
    since = [f"attempt-{n:03d}" for n, place in enumerate(places, 1) if n > 4 and place.island == worse]
    found = islands_of(islands.attempts, 2)
    assert [each.id for each in found[worse]] == [founder, *since]
    assert founder == "attempt-004", "the better island had the best"
    assert found[1 - worse][0].id == "attempt-000", "that one goes on"


def test_what_runs_while_its_island_is_reset_comes_into_it() -> None:
    """A program in flight is on its island when it ends, beside the founder."""
    islands = Archipelago(islands=2, resets=1, programs=20, spec={"coders": 2})
    running, _ = islands.begin()
    own = place_of(islands.state.works.attempt(running).work).island
    assert own is not None
    for number in range(12):
        [ended] = [each.id for each in islands.state.works.in_flight() if each.id != running]
        near = place_of(islands.state.works.attempt(ended).work).island == own
        islands.end(ended, good(0.7 if near else 0.8 + number / 100))
        islands.begin()
    islands.end(running, good(0.5))
    [reset] = [each.reset for each in map(place_of, _works(islands)) if each.reset]
    assert reset.running == (running,)
    ids = [each.id for each in islands_of(islands.attempts, 2)[own]]
    assert ids[:2] == [reset.founders[own], running]


def _works(islands: Archipelago) -> list[Code]:
    return [each.work for each in islands.attempts if each.work.facts.root]


# --- campaigns ---------------------------------------------------------------------------------------


def test_a_campaign_has_as_many_programs_as_it_may(tmp_path: Path) -> None:
    """It ends after `programs`, also with several coders; failed ones count."""
    for coders in (1, 3):
        folder = tmp_path / str(coders)
        _, state = _run(folder, "unknown", "good", "poor", "better", "good", coders=coders)
        assert len(state.works.attempts()) == 5
        assert state.ended is not None
        assert state.ended.detail == "the islands have their 5 programs"


def test_the_last_programs_are_awaited() -> None:
    """Nothing is planned beside the last one, and the campaign is done when it has ended."""
    islands = Archipelago(programs=1, spec={"coders": 3})
    [name] = islands.begin()
    assert islands.plan() == Wait()
    islands.end(name, bad())
    assert islands.plan() == Done(reason="the islands have their 1 program")


def test_a_prompt_shows_the_versions_of_its_island(tmp_path: Path) -> None:
    """With one island they ascend; what failed is not among them."""
    world, state = _run(tmp_path, "unknown", "poor", "better", "good", "good", islands=1)
    asked = [request.messages[-1].content for request in world.model.requests]
    assert "# Versions" not in asked[0] + asked[1]
    assert "## v0: written 0.5" in asked[2]
    assert "v1" in asked[2].split("# Your task")[1]
    assert asked[3].index("```python\npoor\n```") < asked[3].index("```python\nbetter\n```")
    assert "Write v2, a version with a better score than all of these." in asked[3]
    assert "unknown" not in "".join(asked)
    assert state.works.attempts()[3].work.parents == ("attempt-002", "attempt-001")


def test_what_was_tried_from_the_best_version_is_in_the_prompt(tmp_path: Path) -> None:
    """Result and plan of programs that were written from the same best version follow the versions."""
    world, _ = _run(tmp_path, "good", "poor", "poor", "good", islands=1, examples=1, temperature=0.01)
    asked = [request.messages[-1].content for request in world.model.requests]
    assert "# Already tried" not in asked[1]
    assert "# Already tried from v0, the newest last\n\n- written 0.5 [0.5, 0.5]; its plan: " in asked[2]
    assert asked[3].count("- written 0.5") == 2


def test_the_best_version_has_room_for_a_whole_reply(tmp_path: Path) -> None:
    """The last version, which is changed, is shown whole where another one of that length is cut."""
    long = "\n".join(f"x{number} = {number}" for number in range(200))
    versions = [
        Version(attempt=f"attempt-00{number}", code=f"{long}\ny = {number}", result="written 0.5")
        for number in range(2)
    ]
    work = code().model_copy(update={"facts": Payload.of(Place(island=0, versions=tuple(versions)))})
    world = World(tmp_path)
    world.model = ScriptedModel([json.dumps({"plan": "p", "code": "good"})], context_tokens=8_192)
    execute(_agent(), work, world.folder.work("attempt-001"), world.dependencies())
    asked = world.model.requests[0].messages[-1].content
    assert f"{long}\ny = 1" in asked
    assert f"{long}\ny = 0" not in asked
    assert asked.count("left out at the line") == 1


def test_a_replayed_campaign_is_planned_as_it_was(tmp_path: Path) -> None:
    """At each point of its log where a program was planned, the agent plans the same again."""
    cells = [f"good{number}" for number in range(16)]
    world = World(tmp_path)
    world.cells = {name: hand_in(f"0.{50 + 7 * n % 40}") for n, name in enumerate(cells)}
    left = [*cells]
    world.agent = _agent(programs=16, islands=3)  # type: ignore[assignment]
    world.model = ScriptedModel(lambda _: json.dumps({"plan": "As asked.", "code": left.pop(0)}))
    world.run(world.campaign(agent="funsearch", coders=1))
    state, planned, resets = CampaignState(), 0, 0
    for record in read_log(world.folder.log, CAMPAIGN_LOG.events):
        if isinstance(record.event, WorkPlanned) and record.event.id.startswith("attempt"):
            again = _agent(programs=16, islands=3).plan(seen_by_agents(state))
            given = {"resources": None, "measured": FactSheet()}
            assert again == [record.event.work.model_copy(update=given)]
            planned += 1
            resets += bool(isinstance(again, list) and place_of(record.event.work).reset)  # type: ignore[arg-type]
        state = CAMPAIGN_LOG.apply(state, record)
    assert (planned, resets) == (16, 3)


# --- programs ----------------------------------------------------------------------------------------


class _ByTarget(ColumnGrader):
    """A grader that reports two targets, the worst first."""

    def grade(self, validation: Path, test: Path) -> GradeReport:
        parts = (("late", 0.1), ("early", 0.9))
        worst = tuple(SubsetScore(name=name, value=value, share=0.5) for name, value in parts)
        report = super().grade(validation, test)
        return report.model_copy(update={"parts": (ScoreBreakdown(by="target", count=2, worst=worst),)})


@pytest.mark.parametrize(("grader", "scores"), [(ColumnGrader(), ()), (_ByTarget(), (0.9, 0.1))])
def test_a_program_has_the_scores_of_its_parts(
    grader: ColumnGrader, scores: tuple[float, ...], tmp_path: Path
) -> None:
    """They are in the order of the parts' names, whichever is the worst."""
    world = World(tmp_path, grader=grader)
    world.model = ScriptedModel([json.dumps({"plan": "p", "code": "good"})])
    [work] = Archipelago().next()
    outcome = execute(_agent(), work, world.folder.work("attempt-001"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    found = PROGRAM.result_of(outcome)
    assert found is not None
    assert found.scores == scores
    assert outcome.report == "p"


@pytest.mark.parametrize("evaluations", [1, 7])
def test_the_estimate_is_of_the_programs_that_the_limits_allow(evaluations: int) -> None:
    """The smaller of the parameter and the limit of evaluations; without either it is a guess."""
    spec = Archipelago().state.spec
    limited = spec.changed({"evaluations": evaluations, "parameters": {"programs": 3}})
    plan = FunSearch.estimate(limited).plan
    assert plan == f"{'1 program' if evaluations == 1 else '3 programs'} on 10 islands"
    assert "a guess" in FunSearch.estimate(spec.changed({"parameters": {}})).plan


@given(data=st.data())
@examples(20)
def test_no_reply_breaks_a_program(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An attempt ends with a valid outcome after at most three calls, whatever the replies."""
    world = World(tmp_path_factory.mktemp("funsearch"))
    world.model = DrawnModel(data)
    outcome = execute(_agent(), code(steps=1), world.folder.work("attempt-000"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    assert outcome.failure is None or outcome.failure.cause is not FailureCause.INTERNAL
    assert len(world.model.requests) <= 3
