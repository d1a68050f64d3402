"""The search policy: a pure function of the nodes."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.agents.automind.planner import AutoMindParameters
from comind.agents.automind.solution_tree import TreeNode, next_action
from comind.domain.draft import Operator
from comind.domain.metric import MetricValue
from tests.examples import examples


def _parameters(**how: object) -> AutoMindParameters:
    return AutoMindParameters.model_validate({"knowledge": "none", "drafts": 2} | how)


def _valid(name: str, value: float, parent: str = "", **how: object) -> TreeNode:
    operator = Operator.IMPROVE if parent else Operator.DRAFT
    score = MetricValue(value=value, maximize=True)
    return TreeNode(name, operator, parent, "valid", score)._replace(**how)  # type: ignore[arg-type]


def _buggy(name: str, parent: str = "", operator: Operator = Operator.DEBUG) -> TreeNode:
    return TreeNode(name, operator if parent else Operator.DRAFT, parent, "buggy")


def _next(*nodes: TreeNode, seed: int = 0, **how: object) -> tuple[Operator, str]:
    operator, parent = next_action(nodes, _parameters(**how), random.Random(seed))
    return operator, parent.id if parent else ""


def test_drafts_come_first() -> None:
    """Failed, open and valid drafts count; the number of drafts is reached before anything else."""
    assert _next() == (Operator.DRAFT, "")
    assert _next(_valid("a", 0.9)) == (Operator.DRAFT, "")
    assert _next(_buggy("a"), TreeNode("b", Operator.DRAFT)) == (Operator.DEBUG, "a")


def test_a_debug_depth_is_strict() -> None:
    """A chain has as many debugs as the limit; then its last node is dead, and a draft follows."""
    chain = [_buggy("a"), _buggy("b"), _buggy("c", "a"), _buggy("d", "c")]
    assert _next(*chain, max_debug_depth=3, seed=1)[0] is Operator.DEBUG
    assert {_next(*chain, max_debug_depth=2, seed=seed) for seed in range(9)} == {(Operator.DEBUG, "b")}
    assert _next(*chain, max_debug_depth=0) == (Operator.DRAFT, "")


def test_a_failed_improvement_has_depth_0() -> None:
    """Depths count debugs in a row, so a failed improvement of a repaired node is debugged anew."""
    nodes = [
        _buggy("a"),
        _valid("b", 0.8, "a", operator=Operator.DEBUG),
        _buggy("c", "b", Operator.IMPROVE),
    ]
    assert _next(*nodes, drafts=1, max_debug_depth=1) == (Operator.DEBUG, "c")


def test_the_best_is_improved_mostly() -> None:
    """The global best gets the greedy share, other valid nodes the rest; all improve."""
    nodes = [_valid("a", 0.7), _valid("b", 0.9), _valid("c", 0.8, "a")]
    chosen = Counter(_next(*nodes, seed=seed) for seed in range(500))
    assert 360 < chosen[Operator.IMPROVE, "b"] < 440
    assert set(chosen) == {(Operator.IMPROVE, name) for name in "abc"}
    assert _next(nodes[0], _buggy("x"), greedy_probability=0, debug_probability=0) == (
        Operator.IMPROVE,
        "a",
    )


def test_a_doubtful_node_is_not_the_best() -> None:
    """A score in which the verifier sees a fault does not lead while another node has one."""
    nodes = [_valid("a", 0.99, doubtful=True), _valid("b", 0.8)]
    assert _next(*nodes, greedy_probability=1) == (Operator.IMPROVE, "b")
    assert _next(nodes[0], _buggy("c"), debug_probability=0)[1] == "a"


_STATUS = st.sampled_from(["open", "valid", "buggy", "lost"])


@given(st.data())
@examples(60)
def test_every_tree_has_a_next_action(data: st.DataObject) -> None:
    """Any tree grown by the policy itself keeps its rules, and the same draw gives the same action."""
    parameters = _parameters(
        debug_probability=data.draw(st.sampled_from([0, 0.5, 1])),
        max_debug_depth=data.draw(st.integers(0, 3)),
        greedy_probability=data.draw(st.sampled_from([0, 0.8, 1])),
    )
    nodes: list[TreeNode] = []
    depth: dict[str, int] = {}
    for number in range(data.draw(st.integers(1, 14))):
        operator, parent = next_action(nodes, parameters, random.Random(number))
        assert (operator, parent) == next_action(nodes, parameters, random.Random(number))
        assert (parent is None) == (operator is Operator.DRAFT)
        if number < parameters.drafts:
            assert operator is Operator.DRAFT
        if operator is Operator.DEBUG:
            assert parent is not None
            assert parent.status == "buggy"
            assert all(node.parent != parent.id for node in nodes), "one debug of a node at a time"
        if operator is Operator.IMPROVE:
            assert parent is not None
            assert parent.status == "valid"
        name = f"n{number}"
        depth[name] = depth[parent.id] + 1 if parent and operator is Operator.DEBUG else 0
        assert depth[name] <= parameters.max_debug_depth
        status = data.draw(_STATUS)
        score = MetricValue(value=data.draw(st.floats(0, 1)), maximize=True)
        doubtful = data.draw(st.booleans()) and status == "valid"
        value = score if status == "valid" else None
        nodes.append(
            TreeNode(name, operator, parent.id if parent else "", status, value, doubtful)  # type: ignore[arg-type]
        )


@pytest.mark.parametrize("name", ["drafts", "debug_probability", "greedy_probability", "tries"])
def test_parameters_have_bounds(name: str) -> None:
    """Numbers out of range are refused."""
    with pytest.raises(ValueError, match="greater than or equal"):
        _parameters(**{name: -1})


def test_the_papers_defaults() -> None:
    """Defaults are those of the paper's appendix D."""
    own = AutoMindParameters()
    assert (own.drafts, own.max_debug_depth, own.debug_probability) == (5, 5, 1)
    assert (own.trick_probability, own.greedy_probability, own.complexity_threshold) == (0.8, 0.8, 3.5)
    assert own.knowledge.startswith("builtin@sha256:")
