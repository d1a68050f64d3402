"""Any reply of a model gives a node a valid outcome, and the tree continues to grow."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from comind.agents.aide import Aide
from comind.agents.aide.coder import Review, Solution
from comind.agents.aide.notes import Digest, Picks
from comind.agents.aide.tree_search import AideParameters
from comind.campaign.log.outcome import CodeOutcome, FailureCause
from comind.campaign.worker import execute
from comind.domain.draft import Operator
from comind.errors import ReplyError
from comind.llm.exchange import parse, request_for
from comind.llm.model_ports import ModelRequest
from tests.examples import examples
from tests.unit.agents.aide.trees import Tree, next_node
from tests.unit.agents.community import VIEW
from tests.unit.agents.drawn_replies import DrawnModel
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.world import World

_CALLS = {Operator.DRAFT: 3 * (1 + 4 + 1 + 1), Operator.DEBUG: 3 * 2, Operator.IMPROVE: 3 * 2}


@pytest.mark.parametrize("operator", _CALLS)
@given(data=st.data())
@examples(30)
def test_no_reply_breaks_a_node(operator: Operator, data: st.DataObject) -> None:
    """A node ends with a valid outcome after a bounded number of calls, whatever the replies."""
    agent = Aide(PROBLEM, AideParameters(community="rag"), seed=0, community=VIEW)
    with TemporaryDirectory() as name:
        world = World(Path(name))
        world.model = DrawnModel(data)
        folder = world.folder.work("attempt-001")
        outcome = execute(agent, next_node(operator), folder, world.dependencies())
        assert isinstance(outcome, CodeOutcome)
        assert outcome.failure is None or outcome.failure.cause is not FailureCause.INTERNAL, (
            outcome.failure
        )
        assert len(world.model.requests) <= _CALLS[operator]
        assert execute(agent, next_node(operator), folder, world.dependencies()) == outcome
    tree = Tree(drafts=1, debug_probability=1)
    assert len(tree.grown(outcome)) == 1
    assert Aide.journal(tree.state, VIEW)


@pytest.mark.parametrize("reply_type", [Digest, Picks, Review, Solution])
@given(data=st.data())
@examples(40)
def test_every_reply_is_a_value_or_refused(reply_type: type[BaseModel], data: st.DataObject) -> None:
    """A reply that parses can be serialised; one that does not is refused with a short reason."""
    reply = DrawnModel(data).complete(request_for(ModelRequest(role="x", messages=()), reply_type))
    refused = written = ""
    try:
        written = parse(reply, reply_type).model_dump_json()
    except ReplyError as error:
        refused = str(error)
    assert bool(refused) != bool(written)
    assert len(refused) < 1_000
    assert "\\u0000" not in written
