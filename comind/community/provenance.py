"""Track provenance: community items, ideas, drafts and solutions, each with its parents.

    notebook, discussion, dataset  ->  idea  ->  draft  ->  solution  ->  idea, draft ...

The graph is immutable: `add` returns a new one. It is acyclic by construction: parents must exist before
their children, and a parent added later must not descend from its child.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from graphlib import TopologicalSorter

from immutables import Map

from comind.domain.community import CommunityView, Notebook
from comind.domain.value import Value


class NodeKind(StrEnum):
    """The kind of thing that a node represents."""

    NOTEBOOK = "notebook"
    DISCUSSION = "discussion"
    DATASET = "dataset"
    IDEA = "idea"
    DRAFT = "draft"
    SOLUTION = "solution"


def node_id(kind: NodeKind, name: str) -> str:
    """Return the id of a node; names are unique within a kind."""
    return f"{kind}:{name}"


class Node(Value):
    """An item of the graph with its parents."""

    kind: NodeKind
    name: str
    """Unique within its kind: a notebook's ref, a work's id."""
    title: str
    parents: tuple[str, ...] = ()
    """Ids of nodes."""
    further: bool = False
    """Whether it is a community item that only agents read which sample in each round."""

    @property
    def id(self) -> str:
        """Unique within a graph."""
        return node_id(self.kind, self.name)


@dataclass(frozen=True)
class Graph:
    """Nodes by id, in insertion order."""

    _nodes: Map[str, Node] = Map()  # noqa: RUF009 - immutable, safe to share
    _children: Map[str, tuple[str, ...]] = Map()  # noqa: RUF009 - immutable, safe to share
    _order: Map[str, int] = Map()  # noqa: RUF009 - immutable, safe to share

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._nodes

    def __getitem__(self, node_id: str) -> Node:
        return self._nodes[node_id]

    def __iter__(self) -> Iterator[Node]:
        """Iterate in insertion order."""
        return iter(sorted(self._nodes.values(), key=lambda node: self._order[node.id]))

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, node: Node) -> "Graph":
        """Return the graph with a new node, or with more parents of an existing one.

        Raises:
            ValueError: a parent is unknown or descends from the node, or the node has another title.
        """
        before = self._nodes.get(node.id)
        if before is not None and before.title != node.title:
            raise ValueError(f"{node.id} is there under another title")
        old = before.parents if before else ()
        new = tuple(dict.fromkeys(parent for parent in node.parents if parent not in old))
        for parent in new:
            if parent == node.id or (before is not None and self.is_ancestor(node.id, parent)):
                raise ValueError(f"{parent} cannot be a parent of {node.id}, from which it comes")
            if parent not in self._nodes:
                raise ValueError(f"{parent}, a parent of {node.id}, is not known")
        children = self._children
        for parent in new:
            children = children.set(parent, (*children.get(parent, ()), node.id))
        return replace(
            self,
            _nodes=self._nodes.set(node.id, node.model_copy(update={"parents": old + new})),
            _children=children,
            _order=self._order if before else self._order.set(node.id, len(self._order)),
        )

    def ancestors(self, node_id: str) -> tuple[Node, ...]:
        """Return the ancestors of a node, parents before children."""
        return self._sorted(self._reached(node_id, lambda each: self._nodes[each].parents))

    def descendants(self, node_id: str) -> tuple[Node, ...]:
        """Return the descendants of a node, parents before children."""
        return self._sorted(self._reached(node_id, lambda each: self._children.get(each, ())))

    def is_ancestor(self, node_id: str, of: str) -> bool:
        """Whether `of` descends from the node `node_id`."""
        return of in self._reached(node_id, lambda each: self._children.get(each, ()))

    def _reached(self, start: str, step: Callable[[str], tuple[str, ...]]) -> set[str]:
        """Return the nodes reachable from a node, without itself; `KeyError` if it is unknown."""
        self._nodes[start]
        seen: set[str] = set()
        waiting = list(step(start))
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                waiting.extend(step(each))
        return seen

    def _sorted(self, ids: set[str]) -> tuple[Node, ...]:
        ordered = sorted(ids, key=self._order.__getitem__)
        sorter = TopologicalSorter(
            {each: [p for p in self._nodes[each].parents if p in ids] for each in ordered}
        )
        return tuple(self._nodes[each] for each in sorter.static_order())


def graph_of(view: CommunityView) -> Graph:
    """Return the graph of a community's items, by the sources and forks that notebooks declare.

    Declarations are untrusted: in a cycle, the older item is the source; unknown names are ignored.
    """
    graph = Graph()
    for dataset in view.datasets:
        graph = graph.add(Node(kind=NodeKind.DATASET, name=dataset.ref, title=dataset.title))
    first = len(view.discussions)
    for place, thread in enumerate(view.all_discussions):
        node = Node(kind=NodeKind.DISCUSSION, name=thread.id, title=thread.title, further=place >= first)
        graph = graph.add(node)
    shown = {each.ref for each in view.notebooks}
    for notebook in sorted(view.all_notebooks, key=_by_age):
        used = [node_id(NodeKind.DATASET, ref) for ref in notebook.datasets]
        used += [
            node_id(NodeKind.NOTEBOOK, ref) for ref in (*notebook.notebooks, notebook.forked_from or "")
        ]
        known = tuple(each for each in dict.fromkeys(used) if each in graph)
        node = Node(
            kind=NodeKind.NOTEBOOK,
            name=notebook.ref,
            title=notebook.title,
            parents=known,
            further=notebook.ref not in shown,
        )
        graph = graph.add(node)
    return graph


def _by_age(notebook: Notebook) -> tuple[datetime, str]:
    return notebook.created_at or datetime.max.replace(tzinfo=UTC), notebook.ref
