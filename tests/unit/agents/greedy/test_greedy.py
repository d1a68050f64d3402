"""Greedy refinement: what it plans, what it shows, and where it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.greedy import Greedy
from comind.agents.greedy.greedy import GreedyParameters
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome, FailureCause
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel
from tests.examples import examples
from tests.unit.agents.drawn_replies import DrawnModel
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World


def _run(root: Path, *programs: str, coders: int = 1, **how: Any) -> tuple[World, CampaignState]:
    """Run a campaign in which the model writes these programs, then the last one again."""
    parameters = GreedyParameters.model_validate({"programs": len(programs)} | how)
    left = list(programs)

    def say(_: ModelRequest) -> str:
        return json.dumps({"plan": "As asked.", "code": left.pop(0) if len(left) > 1 else left[0]})

    world = World(root)
    world.agent = Greedy(PROBLEM, parameters, seed=0, community=CommunityView())  # type: ignore[assignment]
    world.model = ScriptedModel(say)
    return world, world.run(world.campaign(agent="greedy", coders=coders))


def _tree(state: CampaignState) -> list[tuple[Operator, tuple[str, ...]]]:
    return [(each.work.operator, each.work.parents) for each in state.works.attempts()]


def test_each_program_refines_the_best_so_far(tmp_path: Path) -> None:
    """A failed first program is repaired; a worse one is not refined."""
    world, state = _run(tmp_path, "unknown", "good", "poor", "better", "good")
    assert _tree(state) == [
        (Operator.DRAFT, ()),
        (Operator.DEBUG, ("attempt-000",)),
        (Operator.IMPROVE, ("attempt-001",)),
        (Operator.IMPROVE, ("attempt-001",)),
        (Operator.IMPROVE, ("attempt-003",)),
    ]
    assert state.ended is not None
    assert state.ended.detail == "5 programs are written"
    asked = [request.messages[-1].content for request in world.model.requests]
    assert "# The last program, which has no score" in asked[1]
    assert "```python\nbetter\n```" in asked[4]
    assert "poor" not in asked[4], "programs of others are not shown"


def test_what_was_tried_from_a_program_is_in_its_next_prompt(tmp_path: Path) -> None:
    """Result and plan of the last five refinements of the same program are in the prompt."""
    world, _ = _run(tmp_path, "good", "poor", *["unknown"] * 5, "good")
    asked = [request.messages[-1].content for request in world.model.requests]
    assert "Already tried" not in asked[1]
    assert "- written 0.5" in asked[2]
    assert asked[2].count("its plan: As asked.") == 1
    assert asked[3] != asked[2]
    assert "- written 0.5" not in asked[7]
    assert asked[7].count("its plan: As asked.") == 5


def test_a_program_is_shown_whole_or_the_prompt_says_where_it_is_cut(tmp_path: Path) -> None:
    """What fits into one reply is not cut; of a longer program the prompt names the line of the cut."""
    for lines, cut in ((200, False), (4_000, True)):
        long = "\n".join(f"x{number} = {number}" for number in range(lines))
        draft = code().draft.model_copy(update={"codebase": long, "method": "It has 0.5."})
        work = code().model_copy(update={"operator": Operator.IMPROVE, "draft": draft, "role": "coder"})
        world = World(tmp_path / str(lines))
        world.model = ScriptedModel([json.dumps({"plan": "p", "code": "good"})], context_tokens=8_192)
        agent = Greedy(PROBLEM, GreedyParameters(), seed=0, community=CommunityView())
        execute(agent, work, world.folder.work("attempt-001"), world.dependencies())
        [request] = world.model.requests
        assert (long in request.messages[-1].content) is not cut
        assert ("left out at the line `... (cut) ...`" in request.messages[-1].content) is cut


def test_free_slots_refine_the_same_program(tmp_path: Path) -> None:
    """With three coders the first three programs start from scratch."""
    _, state = _run(tmp_path, *["good"] * 5, coders=3)
    assert [operator for operator, _ in _tree(state)][:3] == [Operator.DRAFT] * 3
    assert len(state.works.attempts()) == 5


@pytest.mark.parametrize("evaluations", [1, 7])
def test_the_estimate_is_of_the_programs_that_the_limits_allow(evaluations: int, tmp_path: Path) -> None:
    """The smaller of the parameter and the limit of evaluations; without either it is a guess."""
    world, _ = _run(tmp_path, "good")
    spec = world.campaign().state.spec
    limited = spec.changed({"evaluations": evaluations, "parameters": {"programs": 3}})
    assert Greedy.estimate(limited).plan == ("1 program" if evaluations == 1 else "3 programs")
    assert "a guess" in Greedy.estimate(spec.changed({"parameters": {}})).plan


@given(data=st.data())
@examples(20)
def test_no_reply_breaks_a_program(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An attempt ends with a valid outcome after at most three calls, whatever the replies."""
    world = World(tmp_path_factory.mktemp("greedy"))
    world.model = DrawnModel(data)
    agent = Greedy(PROBLEM, GreedyParameters(), seed=0, community=CommunityView())
    outcome = execute(agent, code(steps=1), world.folder.work("attempt-000"), world.dependencies())
    assert isinstance(outcome, CodeOutcome)
    assert outcome.failure is None or outcome.failure.cause is not FailureCause.INTERNAL
    assert len(world.model.requests) <= 3
