"""Build the tree of solutions from a campaign's state, and choose the next action on it.

A node begins as a plan, becomes an attempt, and ends when its result is verified. It is valid if the
grader scored it, buggy if its program has no score, and lost if nothing ran that could be debugged. The
search policy is a pure function of the nodes so far.
"""

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

from comind.agents.automind.planner import (
    CHECK,
    NODE,
    PLAN,
    AutoMindParameters,
    Planned,
    Planning,
    Verdict,
)
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt, Thought
from comind.domain.draft import Operator
from comind.domain.metric import MetricValue


class TreeNode(NamedTuple):
    """A node as the search policy sees it."""

    id: str
    operator: Operator
    parent: str = ""
    """Id of the node that it debugs or improves; empty for a draft."""
    status: Literal["open", "valid", "buggy", "lost"] = "open"
    value: MetricValue | None = None
    doubtful: bool = False
    """Whether the verifier found a bug or overfitting in a scored program."""
    given: bool = False
    """Whether it is the platform's baseline."""


class SolutionNode(NamedTuple):
    """A node with its plan, attempt and verdict."""

    plan: Thought[Planning, Planned]
    attempt: Attempt | None
    checked: Verdict | None
    waits: bool
    """Whether a part of it is in flight or still to be planned."""

    @property
    def given(self) -> bool:
        """Whether it is the platform's baseline."""
        return self.attempt is not None and self.attempt.work.is_baseline

    def in_tree(self, verdict: str) -> TreeNode:
        """Return the node as the search policy sees it; `verdict` is the parameter."""
        name = self.attempt.id if self.attempt else self.plan.id
        node = TreeNode(name, self.plan.facts.operator, self.plan.facts.parent, given=self.given)
        outcome = self.attempt.outcome if self.attempt else None
        if self.waits:
            return node
        if outcome is None or outcome.last is None:
            return node._replace(status="lost")
        doubtful = self.checked is not None and self.checked.rejects
        if outcome.score is None or (doubtful and verdict == "debug"):
            return node._replace(status="buggy")
        return node._replace(
            status="valid", value=outcome.score.value, doubtful=doubtful and verdict == "greedy"
        )


def solution_nodes(state: CampaignState, *, verifier: bool) -> list[SolutionNode]:
    """Return the nodes in the order of planning; a visible baseline with a score is the first."""
    facts = [(NODE.facts_of(each.work), each) for each in state.works.attempts()]
    attempts = {found.plan: each for found, each in facts if found is not None}
    checks = {each.facts.attempt: each for each in state.works.thoughts(CHECK)}
    nodes = [
        _baseline_node(each)
        for each in state.works.attempts()[:1]
        if each.work.is_baseline and each.score
    ]
    for plan in state.works.thoughts(PLAN):
        attempt = attempts.get(plan.id)
        check = checks.get(attempt.id) if attempt else None
        if attempt is None:
            waits = plan.failure is None
        elif attempt.outcome is None:
            waits = True
        else:
            checkable = verifier and attempt.outcome.last is not None
            waits = checkable and (check is None or (check.result is None and check.failure is None))
        nodes.append(SolutionNode(plan, attempt, check.result if check else None, waits))
    return nodes


def _baseline_node(attempt: Attempt) -> SolutionNode:
    plan = Planned(title=attempt.title, plan=attempt.outcome.report if attempt.outcome else "")
    thought = Thought(attempt.id, Planning(operator=Operator.DRAFT), plan, None)
    return SolutionNode(thought, attempt, None, waits=False)


def next_action(
    nodes: Sequence[TreeNode], parameters: AutoMindParameters, draw: random.Random
) -> tuple[Operator, TreeNode | None]:
    """Return operator and parent of the next node; `nodes` are all so far, in order of planning."""
    if sum(not node.parent and not node.given for node in nodes) < parameters.drafts:
        return Operator.DRAFT, None
    failed = _debuggable(nodes, parameters.max_debug_depth)
    if failed and draw.random() < parameters.debug_probability:
        return Operator.DEBUG, draw.choice(failed)
    best: TreeNode | None = None
    for node in nodes:
        if node.status == "valid" and (best is None or _rank(best) < _rank(node)):
            best = node
    if best is None:
        return Operator.DRAFT, None
    others = [node for node in nodes if node.status == "valid" and node is not best]
    if others and draw.random() >= parameters.greedy_probability:
        return Operator.IMPROVE, draw.choice(others)
    return Operator.IMPROVE, best


def _rank(node: TreeNode) -> tuple[bool, float]:
    assert node.value is not None, "a valid node has a score"
    return not node.doubtful, node.value.signed


def _debuggable(nodes: Sequence[TreeNode], depth_limit: int) -> list[TreeNode]:
    """Return buggy leaves whose debug depth is below the limit; the others are dead."""
    depths: dict[str, int] = {}
    for node in nodes:
        debug = node.operator is Operator.DEBUG
        depths[node.id] = depths.get(node.parent, 0) + 1 if debug else 0
    inner = {node.parent for node in nodes}
    return [
        node
        for node in nodes
        if node.status == "buggy" and node.id not in inner and depths[node.id] < depth_limit
    ]
