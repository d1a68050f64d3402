"""List ideas and community items with the ideas, attempts and scores that came from each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import ThinkOutcome
from comind.campaign.log.work_items import Attempt
from comind.campaign.reports.page.score_chart import digits
from comind.community.provenance import Graph, Node, NodeKind
from comind.domain.value import one_line

_TITLE, _TEXT = 200, 600
_WORKS = (NodeKind.DRAFT, NodeKind.SOLUTION)
_ITEMS = (NodeKind.NOTEBOOK, NodeKind.DISCUSSION, NodeKind.DATASET)


@dataclass(frozen=True, slots=True)
class Link:
    """A name with the anchor of its place on the page; without an anchor, plain text."""

    label: str
    anchor: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class OriginRow:
    """An idea or a community item, and what came from it."""

    anchor: str
    item_type: str
    name: str
    title: str
    sources: tuple[Link, ...]
    ideas: tuple[Link, ...]
    """Ideas that cite it."""
    attempts: tuple[Link, ...]
    """Attempts whose drafts cite it, with their scores."""
    later: int
    """Number of further attempts that came from these."""
    best: str
    """Best score of all these attempts; blends do not count, as they came from most items."""


class Provenance:
    """The provenance graph as rows and links; a draft and its solution are one attempt."""

    def __init__(self, state: CampaignState, graph: Graph) -> None:
        """Number the nodes of `graph` for their anchors."""
        self._state = state
        self._graph = graph
        self._attempts = {each.id for each in state.works.attempts()}
        self._texts = dict(_texts_by_id(state))
        self._works = {each.id for each in state.works.codes()}
        self._anchors = {node.id: f"origin-{number}" for number, node in enumerate(graph)}

    def sources_of(self, attempt: Attempt) -> tuple[Link, ...]:
        """Return links to the sources of a draft; names that the graph lacks are plain text."""
        draft = f"{NodeKind.DRAFT}:{attempt.id}"
        parents = self._graph[draft].parents if draft in self._graph else ()
        nodes = [self._graph[each] for each in parents]
        nodes = [each for each in nodes if each.name not in attempt.work.parents]
        known = {each.name for each in nodes} | {each.id for each in nodes} | {*attempt.work.parents}
        others = [
            Link(one_line(each, _TITLE)) for each in attempt.work.draft.sources if each not in known
        ]
        return (*map(self._link, nodes), *others)

    def ideas(self) -> list[OriginRow]:
        """Return a row for each idea, in order."""
        return [self._row(node) for node in self._graph if node.kind is NodeKind.IDEA]

    def items(self) -> tuple[list[OriginRow], list[Link]]:
        """Return rows of the community items that led to something, best first, and all others."""
        nodes = [node for node in self._graph if node.kind in _ITEMS]
        used = [node for node in nodes if self._from(node.id, (NodeKind.IDEA, *_WORKS))]
        ids = {node.id for node in used}
        return (
            [self._row(node) for node in sorted(used, key=self._rank)],
            [self._link(node) for node in nodes if node.id not in ids],
        )

    def _from(self, node_id: str, kinds: Iterable[NodeKind]) -> list[Node]:
        return [each for each in self._graph.descendants(node_id) if each.kind in kinds]

    def _rank(self, node: Node) -> tuple[int, int]:
        """Return a sort key: by the rank of the best attempt that came from a node."""
        ranks = {each.id: rank for rank, each in enumerate(self._state.works.best_first())}
        found = [ranks[each.name] for each in self._from(node.id, _WORKS) if each.name in ranks]
        return min(found, default=len(ranks)), -len(found)

    def _row(self, node: Node) -> OriginRow:
        below = self._graph.descendants(node.id)
        ideas = [each for each in below if each.kind is NodeKind.IDEA and node.id in each.parents]
        drafts = [each for each in below if each.kind is NodeKind.DRAFT and each.name in self._attempts]
        direct = [each for each in drafts if node.id in each.parents]
        names = {each.name for each in drafts}
        best = next((each for each in self._state.works.best_first() if each.id in names), None)
        return OriginRow(
            anchor=self._anchors[node.id],
            item_type=node.kind.value,
            name=one_line(node.name, _TITLE),
            title=self._title(node),
            sources=tuple(self._link(self._graph[each]) for each in node.parents),
            ideas=tuple(self._link(each) for each in ideas),
            attempts=tuple(self._link(each) for each in direct),
            later=len(drafts) - len(direct),
            best=f"{digits(best.score.value.value)} ({best.id})" if best and best.score else "",
        )

    def _title(self, node: Node) -> str:
        """Return a node's title; an idea's whole text, if a thought has it by the idea's id."""
        text = self._texts.get(node.name, "") if node.kind is NodeKind.IDEA else ""
        return one_line(text if text.startswith(node.title) else node.title, _TEXT)

    def _link(self, node: Node) -> Link:
        title = one_line(self._title(node), _TITLE)
        if node.kind in _WORKS:
            return self.work(node.name)
        if node.kind is NodeKind.IDEA:
            return Link(one_line(node.name, _TITLE), self._anchors[node.id], title)
        return Link(title or one_line(node.name, _TITLE), self._anchors[node.id], node.kind.value)

    def work(self, work_id: str) -> Link:
        """Return a link to an attempt with its result; unknown names, as of plug-ins, are plain text."""
        if work_id not in self._works:
            return Link(one_line(work_id, _TITLE))
        return Link(work_id, work_id, self._result(work_id))

    def _result(self, work_id: str) -> str:
        attempt = self._state.works.attempt(work_id)
        if attempt.score is not None:
            return digits(attempt.score.value.value)
        return "running" if attempt.outcome is None else "no score"


def _texts_by_id(state: CampaignState) -> Iterator[tuple[str, str]]:
    """Yield id and text of all objects in the results of thoughts that have both."""
    for record in state.works:
        waiting: list[JsonValue] = []
        if isinstance(record.outcome, ThinkOutcome):
            waiting.append(record.outcome.result.root)
        while waiting:
            match waiting.pop():
                case {"id": str(name), "text": str(text)}:
                    yield name, text
                case dict() as values:
                    waiting += values.values()
                case list() as values:
                    waiting += values
