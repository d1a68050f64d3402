"""Plan AIDE's next nodes from the tree so far."""

import random
from collections.abc import Sequence
from typing import ClassVar

from comind.agents.aide.coder import CODER, FEEDBACK, TEMPLATES, implement, token_limits
from comind.agents.aide.notes import by_votes, notes_for
from comind.agents.aide.tree import AideParameters, next_node, scored_nodes
from comind.campaign.agent import Agent, Role
from comind.campaign.context import CodeContext
from comind.campaign.estimate import Expected, ExpectedCalls
from comind.campaign.events import CampaignSpec
from comind.campaign.journal import journal_of, plain
from comind.campaign.outcome import CodeResult
from comind.campaign.plan import BASELINE_ROLE, Code, Decision, Done, Think, Wait
from comind.campaign.state import CampaignState
from comind.campaign.works import Attempt
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.llm.base import Usage
from comind.llm.settings import ModelSettings

__all__ = ["Aide"]

_LONG_CONTEXT = 131_072  # tokens, at which a plan reaches its maximum size
_SETTINGS = ModelSettings(temperature=0.5)
_PROGRAM = Usage(prompt_tokens=4_000, completion_tokens=1_500)
_REVIEW = Usage(prompt_tokens=2_500, completion_tokens=150)
_READING = Usage(prompt_tokens=8_000, completion_tokens=1_000)  # of the community, for a draft


class Aide(Agent):
    """Tree search over programs: draft, debug or improve; one reply and one run for each node (AIDE)."""

    parameters = AideParameters
    roles: ClassVar = {
        CODER: Role("writes plan and program of a node", _SETTINGS),
        FEEDBACK: Role("reviews what a program printed", _SETTINGS),
    }
    prompts = ("comind.agents.aide",)

    def plan(self, state: CampaignState) -> Decision:
        """Plan nodes for the free slots, until the tree has as many as the spec has steps."""
        nodes = _nodes(state)
        free = min(state.free_slots(), state.spec.steps - len(nodes))
        planned: list[Think | Code] = []
        for number in range(len(state.works), len(state.works) + max(0, free)):
            draw = random.Random(f"{self.seed}:{number}")  # noqa: S311 - not for security
            work = self._node(state, nodes, *next_node(nodes, self.settings, draw))
            planned.append(work)
            nodes.append(Attempt(f"planned-{number}", work, None))
        if planned or len(nodes) < state.spec.steps or state.works.in_flight():
            return planned or Wait()
        return Done(reason=f"the tree has its {state.spec.steps} programs")

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
        ended = [(node.id, node.outcome.report) for node in _nodes(state) if node.outcome]
        return "\n".join([*lines, *(f"- {name}: {plain(report)}" for name, report in ended), ""])

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected:
        """Return the expected model calls of the tree."""
        parameters = AideParameters.model_validate(spec.parameters)
        drafts = min(parameters.drafts, spec.steps)
        calls = (
            ExpectedCalls(CODER, _PROGRAM, spec.steps),
            ExpectedCalls(CODER, _READING, drafts if parameters.community == "rag" else 0),
            ExpectedCalls(FEEDBACK, _REVIEW, spec.steps),
        )
        return Expected(f"{spec.steps} programs, {drafts} drafts first", calls)

    def _node(
        self, state: CampaignState, nodes: Sequence[Attempt], operator: Operator, parent: Attempt | None
    ) -> Code:
        return Code(
            operator=operator,
            draft=self._root(nodes) if parent is None else _child(nodes, operator, parent),
            role=CODER,
            parents=(parent.id,) if parent else (),
            session="script",
            budget=state.work_budget().model_copy(update={"steps": 1}),
        )

    def _root(self, nodes: Sequence[Attempt]) -> Draft:
        """Return a draft; in the variant `code` with a notebook that no other draft has."""
        number = sum(not node.work.parents for node in nodes)
        notebooks = [each for each in by_votes(self.community.notebooks) if each.language == "python"]
        given = notebooks[number : number + 1] if self.settings.community == "code" else []
        return Draft(
            title=f"draft {number + 1}",
            method=_memory(nodes),
            codebase="".join(each.source for each in given),
            sources=tuple(each.ref for each in given),
        )


def _nodes(state: CampaignState) -> list[Attempt]:
    """Return the nodes in the order of planning, without the platform's baseline."""
    return [each for each in state.works.attempts() if each.work.role != BASELINE_ROLE]


def _child(nodes: Sequence[Attempt], operator: Operator, parent: Attempt) -> Draft:
    """Return a draft that starts from the program of `parent`, with its score, review or error."""
    outcome = parent.outcome
    assert outcome is not None
    assert outcome.last is not None, "what is scored or debugged has run"
    debug = operator is Operator.DEBUG
    return Draft(
        title=f"{operator} {parent.id}",
        method=TEMPLATES.render("ended", node=parent) if debug else _memory(nodes),
        codebase=outcome.last.program,
        codebase_seconds=None if debug else outcome.code_seconds,
        codebase_result=f"{parent.result}\n{outcome.report}",
    )


def _memory(nodes: Sequence[Attempt]) -> str:
    """Return plan, review and score of the scored nodes, the newest last."""
    return TEMPLATES.render("memory", nodes=scored_nodes(nodes), room=token_limits(_LONG_CONTEXT))
