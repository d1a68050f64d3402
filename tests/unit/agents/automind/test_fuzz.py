"""Any reply of a model gives a thought or an attempt a valid outcome."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.automind import AutoMind
from comind.agents.automind.planner import (
    CHECK,
    PLAN,
    SEARCH,
    AutoMindParameters,
    Checking,
    Planning,
    Searching,
)
from comind.campaign.log.outcome import FailureCause
from comind.campaign.log.work import Code, Think
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.spend import WorkBudget
from comind.knowledge.knowledge_base import pin
from tests.examples import examples
from tests.unit.agents.drawn_replies import DrawnModel
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.world import World


def _attempt(session: str) -> Code:
    return Code(
        operator=Operator.DRAFT,
        draft=Draft(title="A forest", method="Fit it."),
        role="coder",
        session=session,  # type: ignore[arg-type]
        budget=WorkBudget(seconds=600, steps=18, cell_seconds=60),
    )


_WORKS: dict[str, tuple[Think | Code, int]] = {
    "search": (SEARCH.work(Searching(base=pin("builtin"))), 6),
    "plan": (PLAN.work(Planning(operator=Operator.DRAFT)), 6),
    "check": (CHECK.work(Checking(attempt="a", plan="p", program="x", result="r")), 3),
    "one pass": (_attempt("script"), 9),
    "steps": (_attempt("notebook"), 3 + 9 * 6),
}


@pytest.mark.parametrize("name", _WORKS)
@given(data=st.data())
@examples(8)
def test_no_reply_breaks_a_work(name: str, data: st.DataObject) -> None:
    """Work ends with a valid outcome after a bounded number of calls, and replays to the same."""
    work, most = _WORKS[name]
    agent = AutoMind(PROBLEM, AutoMindParameters(), seed=0, community=CommunityView())
    with TemporaryDirectory() as root:
        world = World(Path(root))
        world.model = DrawnModel(data)
        folder = world.folder.work("work-001")
        outcome = execute(agent, work, folder, world.dependencies())
        failure = outcome.failure
        assert failure is None or failure.cause is not FailureCause.INTERNAL, failure
        assert len(world.model.requests) <= most
        assert execute(agent, work, folder, world.dependencies()) == outcome
