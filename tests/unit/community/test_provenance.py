"""The provenance graph is acyclic, whatever is added."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.community.provenance import Graph, Node, NodeKind, graph_of, node_id
from comind.domain.community import CommunityView, Dataset, Discussion, Notebook

_NAMES = ["a", "b", "c", "d", "e", "f"]
_IDS = [node_id(NodeKind.IDEA, name) for name in _NAMES]


def _idea(name: str, *parents: str) -> Node:
    return Node(kind=NodeKind.IDEA, name=name, title=name, parents=parents)


@given(st.lists(st.tuples(st.sampled_from(_NAMES), st.lists(st.sampled_from(_IDS), max_size=3))))
def test_no_addition_makes_a_circle(additions: list[tuple[str, list[str]]]) -> None:
    """Whatever the order of additions, the graph stays acyclic, and a refused one changes nothing."""
    graph = Graph()
    for name, parents in additions:
        before = list(graph)
        try:
            graph = graph.add(_idea(name, *parents))
        except ValueError:
            assert list(graph) == before
    drawn = nx.DiGraph()
    drawn.add_nodes_from(node.id for node in graph)
    drawn.add_edges_from((parent, node.id) for node in graph for parent in node.parents)
    assert nx.is_directed_acyclic_graph(drawn)
    for node in graph:
        assert {each.id for each in graph.ancestors(node.id)} == nx.ancestors(drawn, node.id)
        assert {each.id for each in graph.descendants(node.id)} == nx.descendants(drawn, node.id)
        seen: set[str] = set()
        for each in graph.ancestors(node.id):
            assert not {p for p in each.parents if p in seen} ^ set(each.parents)
            seen.add(each.id)


def test_a_solution_knows_where_it_came_from() -> None:
    """Ancestors of a solution include discussion, idea and draft; descendants are the inverse."""
    graph = Graph()
    for kind, name, parents in (
        (NodeKind.DISCUSSION, "1", ()),
        (NodeKind.NOTEBOOK, "a/b", ()),
        (NodeKind.IDEA, "i", ("discussion:1",)),
        (NodeKind.DRAFT, "d", ("idea:i", "notebook:a/b")),
        (NodeKind.SOLUTION, "attempt-001", ("draft:d",)),
    ):
        graph = graph.add(Node(kind=kind, name=name, title=name, parents=parents))
    lineage = [node.id for node in graph.ancestors("solution:attempt-001")]
    assert set(lineage) == {"discussion:1", "notebook:a/b", "idea:i", "draft:d"}
    assert lineage[-1] == "draft:d"
    assert [node.id for node in graph.descendants("discussion:1")] == [
        "idea:i",
        "draft:d",
        "solution:attempt-001",
    ]


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (_idea("x", "idea:nowhere"), "is not known"),
        (_idea("a", "idea:a"), "cannot be a parent"),
        (_idea("a", "idea:b"), "cannot be a parent"),
        (Node(kind=NodeKind.IDEA, name="a", title="other"), "another title"),
    ],
)
def test_what_cannot_be_is_refused(node: Node, reason: str) -> None:
    """Unknown parents, cycles and a second title are refused, and the graph is unchanged."""
    graph = Graph().add(_idea("a")).add(_idea("b", "idea:a"))
    with pytest.raises(ValueError, match=reason):
        graph.add(node)
    assert [each.id for each in graph] == ["idea:a", "idea:b"]


def test_more_parents_join_those_that_are_there() -> None:
    """Adding a node again keeps its parents and adds the new ones."""
    graph = Graph().add(_idea("a")).add(_idea("b")).add(_idea("c", "idea:a")).add(_idea("c", "idea:b"))
    assert graph["idea:c"].parents == ("idea:a", "idea:b")
    assert "idea:c" in graph
    assert len(graph) == 3


def test_strangers_may_name_each_other_in_a_circle() -> None:
    """Notebooks that declare each other as sources make no cycle; unknown names are ignored."""
    one = Notebook(ref="a/a", version=1, title="a", author="a", source="", notebooks=("b/b", "a/a"))
    two = Notebook(
        ref="b/b",
        version=1,
        title="b",
        author="b",
        source="",
        forked_from="a/a",
        datasets=("d/d", "x/x"),
    )
    view = CommunityView(
        notebooks=(two, one),
        datasets=(Dataset(ref="d/d", version=1, title="d"),),
        discussions=(Discussion(id="1", title="t", author="a", body=""),),
    )
    graph = graph_of(view)
    assert graph["notebook:b/b"].parents == ("dataset:d/d", "notebook:a/a")
    assert graph["notebook:a/a"].parents == ()
    assert "discussion:1" in graph
