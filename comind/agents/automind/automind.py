"""Plan AutoMind's thoughts and attempts from the campaign's state."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from comind.agents.automind.adaptive_coder import implement
from comind.agents.automind.planner import (
    CHECK,
    CODER,
    PLAN,
    PLANNER,
    PROMPTS,
    RETRIEVER,
    SEARCH,
    VERDICT_TOKENS,
    VERIFIER,
    AutoMindParameters,
    Checking,
    Implementing,
    Planned,
    Planning,
    ProgramVerdict,
    Searching,
    Verdict,
    write_plan,
)
from comind.agents.automind.solution_tree import SolutionNode, TreeNode, next_action, solution_nodes
from comind.campaign.agent import Agent, Role, Samples, programs_left
from comind.campaign.baseline_first import seen_by_agents
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Think, Wait
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.call_costs import Expected, ExpectedCalls, expected_programs
from comind.campaign.reports.campaign_graph import graph_of_campaign, ideas_of
from comind.campaign.reports.campaign_journal import journal_of, plain
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.community.provenance import Graph
from comind.domain.community import CommunityView
from comind.domain.draft import Draft, Operator
from comind.domain.problem import Problem
from comind.domain.value import Payload, Value
from comind.knowledge.entry_search import find_entries
from comind.knowledge.knowledge_base import NO_KNOWLEDGE, Entry, open_pinned
from comind.llm.model_ports import Usage
from comind.llm.settings import ModelSettings
from comind.system.plurals import quantity

_FOR_DRAFT, _FOR_IMPROVEMENT, _DRAWN_FROM = 2, 3, 8  # entries of one plan, and the best they are from
_REMEMBERED = 10  # scored nodes in the memory, besides drafts and the best
_SETTINGS = ModelSettings(temperature=0.5)
_SEARCHING = Usage(prompt_tokens=2_500, completion_tokens=40)
_PLANNING = Usage(prompt_tokens=3_500, completion_tokens=500)
_CODING = Usage(prompt_tokens=4_000, completion_tokens=1_500)
_CHECKING = Usage(prompt_tokens=3_500, completion_tokens=150)


class AutoMind(Agent):
    """Tree search with expert knowledge; complex plans are coded step by step (AutoMind)."""

    parameters = AutoMindParameters
    roles: ClassVar = {
        RETRIEVER: Role("labels the task", ModelSettings(temperature=0.0)),
        PLANNER: Role("plans nodes and scores their complexity", _SETTINGS),
        CODER: Role("writes programs and steps", _SETTINGS),
        VERIFIER: Role("checks results", ModelSettings(temperature=0.0)),
    }
    purposes = (SEARCH, PLAN, CHECK)
    prompts = ("comind.agents.automind", "comind.knowledge")
    samples = Samples(
        parameters=({"drafts": 2, "nodes": 6},), replies={"task": [1, 5], "solution": [1, 5]}
    )

    def plan(self, state: CampaignState) -> Decision:
        """Search knowledge once; then grow the tree to as many nodes as the parameters allow."""
        searches = state.works.thoughts(SEARCH)
        if not searches and self.settings.knowledge != NO_KNOWLEDGE:
            return [SEARCH.work(Searching(base=self.settings.knowledge, as_of=state.spec.cutoff))]
        if any(each.result is None and each.failure is None for each in searches):
            return Wait()
        nodes = solution_nodes(state, verifier=self.settings.verifier)
        work = [*self._attempts(state, nodes), *self._checks(state, nodes)]
        found = searches[0].result if searches else None
        work += self._plans(state, nodes, found.entries if found else ())
        if (
            work
            or programs_left(state, self.settings.nodes, _own(nodes))
            or any(node.waits for node in nodes)
        ):
            return work or Wait()
        if state.works.in_flight():
            return Wait()
        return Done(reason=f"the tree has its {quantity(_own(nodes), 'node')}")

    def rejections(self, state: CampaignState) -> Mapping[str, str]:
        """Return the scored nodes in which the verifier found a bug or overfitting."""
        parameters = self.settings
        if not parameters.verifier or parameters.verdict == "none":
            return {}
        nodes = solution_nodes(state, verifier=True)
        checked = ((node.attempt, node.checked) for node in nodes if node.checked)
        found = ((attempt, verdict) for attempt, verdict in checked if attempt and attempt.score)
        return {attempt.id: f"the verifier: {verdict}" for attempt, verdict in found if verdict.rejects}

    def think(self, work: Think, context: ThinkContext) -> Value:
        """Search knowledge, write a plan, or verify a result."""
        if work.purpose == SEARCH.name:
            facts = SEARCH.facts_of(work)
            entries = open_pinned(facts.base).visible(facts.as_of, self.problem.competition)
            return find_entries(self.problem, entries, context)
        if work.purpose == PLAN.name:
            return write_plan(self.problem, PLAN.facts_of(work), self.settings, context)
        given = {"problem": self.problem, "facts": CHECK.facts_of(work)}
        reply_type = ProgramVerdict if self.problem.program else Verdict
        return PROMPTS.ask(
            context, VERIFIER, "verify", reply_type, given, most_tokens=VERDICT_TOKENS, closing=True
        )

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Implement the plan of one node."""
        return implement(self.problem, work, self.settings, context)

    @classmethod
    def journal(cls, state: CampaignState, community: CommunityView) -> str:
        """Return the tree, the knowledge, and plan and verdict of each node, as Markdown."""
        del community
        lines = [journal_of(state), "## Knowledge", ""]
        for each in state.works.thoughts(SEARCH):
            if each.result is None:
                lines += ["none" if each.failure is None else plain(each.failure.message)]
                continue
            lines += [f"labels: {plain(', '.join(each.result.labels) or 'none')}", ""]
            lines += [f"- {entry.id}: {plain(entry.title)}" for entry in each.result.entries]
        lines += ["", "## Nodes", ""]
        seen = seen_by_agents(state)
        for node in solution_nodes(seen, verifier=bool(state.spec.parameters.get("verifier", True))):
            lines += _node_lines(node)
        return "\n".join([*lines, ""])

    @classmethod
    def graph(cls, state: CampaignState, community: CommunityView) -> Graph:
        """Return the provenance graph, in which entries lead to drafts."""
        found = {t.id: t.result.entries for t in state.works.thoughts(SEARCH) if t.result}
        return graph_of_campaign(state, community, ideas_of(found))

    @classmethod
    def estimate(cls, spec: CampaignSpec) -> Expected:
        """Return the expected model calls of the tree, if half of the plans are coded in steps."""
        parameters = AutoMindParameters.model_validate(spec.parameters)
        nodes, guess = expected_programs(spec, parameters.nodes)
        adaptive = parameters.coding == "adaptive"
        drafts = min(parameters.drafts, nodes)
        calls = (
            ExpectedCalls(RETRIEVER, _SEARCHING, 0 if parameters.knowledge == NO_KNOWLEDGE else 2),
            ExpectedCalls(PLANNER, _PLANNING, nodes + (drafts if adaptive else 0)),
            ExpectedCalls(CODER, _CODING, nodes + (drafts * parameters.max_steps // 2) * adaptive),
            ExpectedCalls(VERIFIER, _CHECKING, nodes if parameters.verifier else 0),
        )
        plan = f"{quantity(nodes, 'node')}, {quantity(drafts, 'draft')} first{guess}"
        return Expected(plan, calls)

    def _plans(
        self, state: CampaignState, nodes: Sequence[SolutionNode], entries: Sequence[Entry]
    ) -> list[Think | Code]:
        """Plan further nodes for the free slots; an open node holds one until it is verified."""
        parameters = self.settings
        idle = [n for n in nodes if n.waits and not (n.attempt and n.attempt.outcome is None)]
        free = min(state.free_slots() - len(idle), programs_left(state, parameters.nodes, _own(nodes)))
        tree, work = [node.in_tree(parameters.verdict) for node in nodes], []
        budget = state.work_budget()
        time = {"seconds": int(min(budget.cell_seconds, budget.seconds))}
        for number in range(_own(nodes), _own(nodes) + max(0, free)):
            draw = random.Random(f"{self.seed}:{number}")  # noqa: S311 - not for security
            operator, parent = next_action(tree, parameters, draw)
            known = {node.attempt.id: node for node in nodes if node.attempt}
            above = known[parent.id] if parent else None
            chosen = _draw_entries(operator, entries, nodes, parameters.trick_probability, draw)
            facts = _facts(self.problem, operator, above, nodes, chosen)
            work.append(PLAN.work(facts.model_copy(update=time)))
            tree.append(TreeNode(f"planned-{number}", operator, parent.id if parent else ""))
        return list(work)

    def _attempts(self, state: CampaignState, nodes: Sequence[SolutionNode]) -> Iterator[Think | Code]:
        """Yield the attempts at finished plans."""
        parameters = self.settings
        for node in nodes:
            planned = node.plan.result
            if node.attempt is None and planned is not None:
                in_steps = (planned.complexity or 0.0) > parameters.complexity_threshold
                cells = parameters.tries * (parameters.max_steps if in_steps else 1)
                budget = state.work_budget()
                facts = node.plan.facts
                yield Code(
                    operator=facts.operator,
                    draft=_draft(node.plan.id, facts, planned, in_steps=in_steps),
                    facts=Payload.of(Implementing(plan=node.plan.id)),
                    role=CODER,
                    parents=(facts.parent,) if facts.parent else (),
                    session="notebook" if in_steps else "script",
                    budget=budget.model_copy(update={"steps": min(cells, budget.steps)}),
                )

    def _checks(self, state: CampaignState, nodes: Sequence[SolutionNode]) -> Iterator[Think | Code]:
        """Yield verifications of results that have none yet."""
        begun = {each.facts.attempt for each in state.works.thoughts(CHECK)}
        for node in nodes:
            attempt = node.attempt
            if node.waits and attempt and attempt.outcome and attempt.id not in begun:
                plan = node.plan.result.plan if node.plan.result else ""
                program, result = _program(attempt), _ended(self.problem, node)
                yield CHECK.work(Checking(attempt=attempt.id, plan=plan, program=program, result=result))


def _own(nodes: Sequence[SolutionNode]) -> int:
    """Return the number of nodes that this agent planned."""
    return sum(not node.given for node in nodes)


def _draw_entries(
    operator: Operator,
    entries: Sequence[Entry],
    nodes: Sequence[SolutionNode],
    trick_probability: float,
    draw: random.Random,
) -> tuple[Entry, ...]:
    """Draw knowledge for a plan: methods and papers for drafts, tricks for improvements.

    Entries that no plan of this kind has used come first; a debug gets none.
    """
    if operator is Operator.DEBUG or (
        operator is Operator.IMPROVE and draw.random() >= trick_probability
    ):
        return ()
    used = {
        name
        for node in nodes
        if node.plan.facts.operator is operator and node.plan.result
        for name in node.plan.result.used
    }
    tricks = operator is Operator.IMPROVE
    fitting = [each for each in entries if (each.entry_type == "trick") == tricks] or list(entries)
    fresh = [each for each in fitting if each.id not in used] or fitting
    best = fresh[:_DRAWN_FROM]
    most = _FOR_IMPROVEMENT if tricks else _FOR_DRAFT
    numbers = sorted(draw.sample(range(len(best)), min(most, len(best))))
    return tuple(best[number] for number in numbers)


def _facts(
    problem: Problem,
    operator: Operator,
    parent: SolutionNode | None,
    nodes: Sequence[SolutionNode],
    entries: tuple[Entry, ...],
) -> Planning:
    """Return the input of the planner; a debug gets the failed node alone."""
    shown = [] if operator is Operator.DEBUG else _memory(nodes)
    memory = PROMPTS.render("history", nodes=shown, room=PROMPTS.limits())
    facts = Planning(operator=operator, memory=memory, entries=entries)
    if parent is None or parent.attempt is None:
        return facts
    given = {"parent": parent.attempt.id, "program": _program(parent.attempt)}
    return facts.model_copy(update={**given, "result": _ended(problem, parent)})


def _memory(nodes: Sequence[SolutionNode]) -> list[SolutionNode]:
    """Return ended drafts, the last scored nodes and the best, in order of planning."""
    ended = [(node, node.attempt) for node in nodes if node.attempt and node.attempt.outcome]
    scores = {
        attempt.id: (not attempt.rejected, attempt.score.value) for _, attempt in ended if attempt.score
    }
    kept = {*list(scores)[-_REMEMBERED:], max(scores, key=scores.__getitem__, default="")}
    return [node for node, attempt in ended if attempt.id in kept or not node.plan.facts.parent]


def _program(attempt: Attempt) -> str:
    """Return the program to start from: the scored one, else the one that ran last."""
    outcome = attempt.outcome
    assert outcome is not None
    last = outcome.last.program if outcome.last else ""
    return outcome.code if outcome.score else last


def _ended(problem: Problem, node: SolutionNode) -> str:
    """Return how a node ended: plan, score or failure, output, error and the verifier's opinion."""
    return PROMPTS.render("ended_node", node=node, problem=problem, room=PROMPTS.limits())


def _draft(plan_id: str, facts: Planning, planned: Planned, *, in_steps: bool) -> Draft:
    """Return the draft of an attempt; its sources are the plan and the knowledge that it used."""
    score = "" if planned.complexity is None else f"complexity {planned.complexity:g}, "
    return Draft(
        title=planned.title,
        method=planned.plan,
        codebase=facts.program,
        codebase_result=facts.result,
        strategy=f"{facts.operator}, {score}{'in steps' if in_steps else 'in one pass'}",
        sources=(plan_id, *planned.used),
    )


def _node_lines(node: SolutionNode) -> Iterator[str]:
    """Yield the lines of a node in the journal: plan, knowledge and verdict."""
    name = node.attempt.id if node.attempt else node.plan.id
    if node.plan.failure is not None:
        yield f"- {name}: no plan: {plain(node.plan.failure.message)}"
    if node.plan.result is not None:
        yield f"- {name}: {plain(node.plan.result.plan)}"
        if node.plan.result.used:
            yield f"  - knowledge: {plain(', '.join(node.plan.result.used))}"
    if node.checked is not None:
        yield f"  - verifier: {plain(str(node.checked))}"
