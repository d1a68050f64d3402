"""Choose which node to expand (AIDE's search policy).

A node is an attempt of this agent; it is good if the grader scored it, and buggy if it ended without a
score.
"""

import random
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from comind.campaign.works import Attempt
from comind.domain.draft import Operator
from comind.domain.metric import MetricValue
from comind.domain.value import Value

__all__ = ["AideParameters", "next_node", "scored_nodes"]


class AideParameters(Value):
    """Hyperparameters of the search: section `agents.aide` of params.yaml, with AIDE's own defaults."""

    drafts: int = Field(default=5, ge=1, description="drafts before anything else")
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


def scored_nodes(nodes: Sequence[Attempt]) -> list[tuple[Attempt, MetricValue]]:
    """Return the nodes that have a score, each with its value."""
    return [(node, node.outcome.score.value) for node in nodes if node.outcome and node.outcome.score]


def next_node(
    nodes: Sequence[Attempt], parameters: AideParameters, draw: random.Random
) -> tuple[Operator, Attempt | None]:
    """Return operator and parent of the next node.

    `nodes` are all so far in the order of planning, also those in flight.
    """
    if sum(not node.work.parents for node in nodes) < parameters.drafts:
        return Operator.DRAFT, None
    failed = _debuggable(nodes, parameters.max_debug_depth)
    if failed and draw.random() < parameters.debug_probability:
        return Operator.DEBUG, draw.choice(failed)
    scored = scored_nodes(nodes)
    if not scored:
        return Operator.DRAFT, None
    return Operator.IMPROVE, max(scored, key=lambda pair: pair[1])[0]


def _debuggable(nodes: Sequence[Attempt], deepest: int) -> list[Attempt]:
    """Return buggy leaves within the depth limit that have a program to debug."""
    depths: dict[str, int] = {}
    for node in nodes:
        debug = node.work.operator is Operator.DEBUG
        depths[node.id] = depths[node.work.parents[0]] + 1 if debug else 0
    inner = {parent for node in nodes for parent in node.work.parents}
    leaves = [node for node in nodes if node.id not in inner and depths[node.id] <= deepest]
    return [each for each in leaves if each.outcome and each.outcome.last and not each.outcome.score]
