"""Helpers that grow AIDE's trees and carry out nodes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from comind.agents.aide import Aide
from comind.agents.aide.tree_search import AideParameters
from comind.campaign.baseline_first import seen_by_agents
from comind.campaign.log.campaign_events import CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.log.outcome import CodeOutcome, Execution, Failure, FailureCause
from comind.campaign.log.work import Code, Decision, Think
from comind.campaign.worker import execute
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedEmbedder, ScriptedModel
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import baseline, state_of
from tests.unit.agents.samples import PROBLEM
from tests.unit.campaign.samples import failed, records, scored
from tests.unit.campaign.world import World

PLAN = {"plan": "Fit a forest.", "code": "good"}
REVIEW = {"summary": "It ran well."}


def good(value: float = 0.8, program: str = "good", *, maximize: bool = True) -> CodeOutcome:
    """Return the outcome of a scored node."""
    last = Execution(program=program, output="accuracy 0.8")
    values = {
        "last": last,
        "code": program,
        "code_seconds": 2.0,
        "report": f"Plan of {value}.\n\nReview.",
    }
    return scored(value, maximize=maximize).model_copy(update=values)


def buggy(program: str = "bad") -> CodeOutcome:
    """Return the outcome of a node whose program failed."""
    last = Execution(program=program, output="loaded 30 rows", error="KeyError: 'x'")
    return failed().model_copy(update={"last": last, "report": "A plan.\n\nThe column is missing."})


def wordless() -> CodeOutcome:
    """Return the outcome of a node without a program."""
    return CodeOutcome(failure=Failure(cause=FailureCause.REPLY, message="it is empty"))


class Tree:
    """A campaign of AIDE, one decision and one outcome at a time, after the baseline."""

    def __init__(
        self,
        *,
        seed: int = 0,
        view: CommunityView | None = None,
        maximize: bool = True,
        coders: int = 1,
        nodes: int = 20,
        shown: str = "hidden",
        **how: Any,
    ) -> None:
        """Begin; `shown` is the setting `baseline`, `how` are AIDE's parameters."""
        parameters = AideParameters.model_validate({"nodes": nodes} | how)
        self.agent = Aide(PROBLEM, parameters, seed=seed, community=view or CommunityView())
        start = scored(0.7, maximize=maximize)
        given = parameters.model_dump(mode="json")
        self.state = state_of(*baseline(start), coders=coders, parameters=given, baseline=shown)

    @property
    def nodes(self) -> list[Code]:
        """All nodes that were planned."""
        return [each.work for each in self.state.works.attempts()[1:]]

    def plan(self) -> Decision:
        """Return the decision on the present state."""
        return self.agent.plan(seen_by_agents(self.state))

    def record(self, event: CampaignEvent) -> None:
        """Take one event into the state."""
        [record] = records(event)
        self.state = CAMPAIGN_LOG.apply(self.state, record)

    def grow_by(self, work: Think | Code) -> str:
        """Record that `work` was planned; returns its id."""
        name = self.state.next_id(work)
        self.record(WorkPlanned(id=name, work=work))
        return name

    def grow(self) -> list[str]:
        """Plan once and record what was planned; returns the ids."""
        planned = self.plan()
        return [self.grow_by(work) for work in planned] if isinstance(planned, list) else []

    def end(self, name: str, outcome: CodeOutcome) -> None:
        """Let a node come back."""
        self.record(WorkFinished(id=name, outcome=outcome))

    def grown(self, *outcomes: CodeOutcome) -> list[Code]:
        """Let one node after another come back so, and return the nodes that are planned then."""
        for outcome in outcomes:
            [name] = self.grow()
            self.end(name, outcome)
        planned = self.plan()
        assert isinstance(planned, list)
        return [work for work in planned if isinstance(work, Code)]


def next_node(operator: Operator, **how: Any) -> Code:
    """Return a node of this operator in a small tree."""
    given = {"drafts": 1, "debug_probability": 1.0} | how
    before = {Operator.DRAFT: (), Operator.DEBUG: (buggy(),), Operator.IMPROVE: (good(),)}[operator]
    [work] = Tree(view=VIEW, **given).grown(*before)
    assert work.operator is operator
    return work


def carried_out(
    root: Path,
    work: Code,
    *replies: dict[str, Any],
    cells: dict[str, Any] | None = None,
    context_tokens: int = 128_000,
    agent: Aide | None = None,
    embedder: ScriptedEmbedder | None = None,
    **how: Any,
) -> tuple[CodeOutcome, list[ModelRequest], World]:
    """Carry out a node; return its outcome, its requests and its world."""
    world = World(root, cells=cells or {})
    world.model = ScriptedModel([json.dumps(reply) for reply in replies], context_tokens=context_tokens)
    agent = agent or Aide(PROBLEM, AideParameters.model_validate(how), seed=0, community=VIEW)
    dependencies = replace(world.dependencies(), embedder=embedder)
    outcome = execute(agent, work, world.folder.work("attempt-001"), dependencies)
    assert isinstance(outcome, CodeOutcome)
    return outcome, world.model.requests, world
