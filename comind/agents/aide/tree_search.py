"""Plan AIDE's next nodes from the tree so far.

A node is an attempt of this agent; it is good if the grader scored it, and buggy if it ended without a
score. The search policy is a pure function of the nodes so far.
"""

import random
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from comind.agents.aide.coder import CODER, FEEDBACK, NODE, PROMPTS, Written, implement
from comind.agents.aide.notes import by_votes, notes_for
from comind.campaign.agent import Agent, Role, Samples, programs_left
from comind.campaign.baseline_first import seen_by_agents
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Think, Wait
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.call_costs import Expected, ExpectedCalls, expected_programs
from comind.campaign.reports.campaign_journal import journal_of, plain
from comind.campaign.work.context import CodeContext
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.metric import MetricValue
from comind.domain.value import Payload, Value
from comind.llm.model_ports import Usage
from comind.llm.settings import ModelSettings
from comind.system.plurals import quantity

_SETTINGS = ModelSettings(temperature=0.5)
_PROGRAM = Usage(prompt_tokens=4_000, completion_tokens=1_500)
_REVIEW = Usage(prompt_tokens=2_500, completion_tokens=150)
_READING = Usage(prompt_tokens=8_000, completion_tokens=1_000)  # of the community, for a draft


class AideParameters(Value):
    """Hyperparameters of the search: section `agents.aide` of params.yaml, with AIDE's own defaults."""

    drafts: int = Field(default=5, ge=1, description="drafts before anything else")
    nodes: int | None = Field(
        default=None,
        ge=1,
        description="nodes of the tree; null: as many as the campaign's budget allows",
    )
    debug_probability: float = Field(
        default=0.5, ge=0, le=1, description="how often a failed program is debugged, if there is one"
    )
    max_debug_depth: int = Field(
        default=3, ge=0, description="deepest failed program that is debugged; a draft has depth 0"
    )
    community: Literal["none", "code", "rag"] = Field(
        default="none",
        description="code: a public notebook for each draft; rag: what the model picks, or is near",
    )


class Aide(Agent):
    """Tree search over programs: draft, debug or improve; one reply and one run for each node (AIDE)."""

    parameters = AideParameters
    roles: ClassVar = {
        CODER: Role("writes plan and program of a node", _SETTINGS),
        FEEDBACK: Role("reviews what a program printed", _SETTINGS),
    }
    prompts = ("comind.agents.aide",)
    samples = Samples(
        parameters=tuple(
            {"drafts": 2, "nodes": 6, "debug_probability": 1, "community": community}
            for community in ("code", "rag")
        ),
        replies={"numbers": [[1, 3]]},
    )

    def plan(self, state: CampaignState) -> Decision:
        """Plan nodes for the free slots, until the tree has as many as the parameters allow."""
        nodes = _nodes(state)
        free = min(state.free_slots(), programs_left(state, self.settings.nodes, _own(nodes)))
        planned: list[Think | Code] = []
        for number in range(len(state.works), len(state.works) + free):
            draw = random.Random(f"{self.seed}:{number}")  # noqa: S311 - not for security
            work = self._node(state, nodes, *_next_node(nodes, self.settings, draw))
            planned.append(work)
            nodes.append(Attempt(f"planned-{number}", work, None))
        if planned or programs_left(state, self.settings.nodes, _own(nodes)) or state.works.in_flight():
            return planned or Wait()
        return Done(reason=f"the tree has its {quantity(_own(nodes), 'program')}")

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Write and run the program of one node."""
        rag = self.settings.community == "rag"
        notes = notes_for(self.problem, self.community, work, context) if rag else []
        return implement(self.problem, work, context, notes)

    @classmethod
    def journal(cls, state: CampaignState, community: CommunityView) -> str:
        """Return the tree, and plan and review of each node, as Markdown."""
        lines = [journal_of(state), "## Plans", ""]
        variant = state.spec.parameters.get("community", "none")
        if variant != "none" and not (community.notebooks or community.discussions):
            lines += [f"There is no community, so {variant} is as none.", ""]
        ended = [
            (node.id, node.outcome.report) for node in _nodes(seen_by_agents(state)) if node.outcome
        ]
        return "\n".join([*lines, *(f"- {name}: {plain(report)}" for name, report in ended), ""])

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected:
        """Return the expected model calls of the tree."""
        parameters = AideParameters.model_validate(spec.parameters)
        nodes, guess = expected_programs(spec, parameters.nodes)
        drafts = min(parameters.drafts, nodes)
        calls = (
            ExpectedCalls(CODER, _PROGRAM, nodes),
            ExpectedCalls(CODER, _READING, drafts if parameters.community == "rag" else 0),
            ExpectedCalls(FEEDBACK, _REVIEW, nodes),
        )
        plan = f"{quantity(nodes, 'program')}, {quantity(drafts, 'draft')} first{guess}"
        return Expected(plan, calls)

    def _node(
        self, state: CampaignState, nodes: Sequence[Attempt], operator: Operator, parent: Attempt | None
    ) -> Code:
        return Code(
            operator=operator,
            draft=self._root(nodes) if parent is None else _child(nodes, operator, parent),
            facts=Payload.of(_written(parent)) if parent else Payload(),
            role=CODER,
            parents=(parent.id,) if parent else (),
            session="script",
            budget=state.work_budget().model_copy(update={"steps": 1}),
        )

    def _root(self, nodes: Sequence[Attempt]) -> Draft:
        """Return a draft; in the variant `code` with a notebook that no other draft has."""
        number = _drafts(nodes)
        notebooks = [each for each in by_votes(self.community.notebooks) if each.language == "python"]
        given = notebooks[number : number + 1] if self.settings.community == "code" else []
        return Draft(
            title=f"draft {number + 1}",
            method=_memory(nodes),
            codebase="".join(each.source for each in given),
            sources=tuple(each.ref for each in given),
        )


def _nodes(state: CampaignState) -> list[Attempt]:
    """Return the nodes in the order of planning; the baseline is one where it is visible and scored."""
    return [each for each in state.works.attempts() if not each.work.is_baseline or each.score]


def _own(nodes: Sequence[Attempt]) -> int:
    """Return the number of nodes that this agent planned."""
    return sum(not node.work.is_baseline for node in nodes)


def _drafts(nodes: Sequence[Attempt]) -> int:
    """Return the number of drafts that this agent planned."""
    return sum(not node.work.parents and not node.work.is_baseline for node in nodes)


def _child(nodes: Sequence[Attempt], operator: Operator, parent: Attempt) -> Draft:
    """Return a draft that starts from the program of `parent`, with its score, review or error."""
    outcome = parent.outcome
    assert outcome is not None
    assert outcome.last is not None, "what is scored or debugged has run"
    debug = operator is Operator.DEBUG
    return Draft(
        title=f"{operator} {parent.id}",
        method=PROMPTS.render("ended", node=parent) if debug else _memory(nodes),
        codebase=outcome.code if parent.work.is_baseline else outcome.last.program,
        codebase_seconds=None if debug else outcome.code_seconds,
        codebase_result=parent.result,
    )


def _written(node: Attempt) -> Written:
    """Return plan and review of an ended node; of one in an older log they are its report."""
    assert node.outcome is not None
    return NODE.result_of(node.outcome) or Written(plan=node.outcome.report)


def _memory(nodes: Sequence[Attempt]) -> str:
    """Return plan, review and score of the scored nodes, the newest last."""
    scored = [(node, _written(node)) for node, _ in _scored_nodes(nodes)]
    return PROMPTS.render("memory", nodes=scored, room=PROMPTS.limits())


# --- the search policy -----------------------------------------------------------------------------


def _scored_nodes(nodes: Sequence[Attempt]) -> list[tuple[Attempt, MetricValue]]:
    """Return the nodes that have a score, each with its value."""
    return [(node, node.outcome.score.value) for node in nodes if node.outcome and node.outcome.score]


def _next_node(
    nodes: Sequence[Attempt], parameters: AideParameters, draw: random.Random
) -> tuple[Operator, Attempt | None]:
    """Return operator and parent of the next node.

    `nodes` are all so far in the order of planning, also those in flight.
    """
    if _drafts(nodes) < parameters.drafts:
        return Operator.DRAFT, None
    failed = _debuggable(nodes, parameters.max_debug_depth)
    if failed and draw.random() < parameters.debug_probability:
        return Operator.DEBUG, draw.choice(failed)
    scored = _scored_nodes(nodes)
    if not scored:
        return Operator.DRAFT, None
    newest_first = reversed(scored)  # of equal scores the newest counts: it has all changes so far
    return Operator.IMPROVE, max(newest_first, key=lambda pair: pair[1])[0]


def _debuggable(nodes: Sequence[Attempt], deepest: int) -> list[Attempt]:
    """Return buggy leaves within the depth limit that have a program to debug."""
    depths: dict[str, int] = {}
    for node in nodes:
        debug = node.work.operator is Operator.DEBUG
        depths[node.id] = depths[node.work.parents[0]] + 1 if debug else 0
    inner = {parent for node in nodes for parent in node.work.parents}
    leaves = [node for node in nodes if node.id not in inner and depths[node.id] <= deepest]
    return [each for each in leaves if each.outcome and each.outcome.last and not each.outcome.score]
