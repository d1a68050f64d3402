"""The graph traces a solution to its sources, and an item to its influence."""

from comind.agents.comind.pool import graph_with_ideas
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE
from comind.campaign.log.campaign_events import CampaignEvent
from comind.domain.draft import Draft
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import IDEA, REPORT, attempt, baseline, state_of, thought
from tests.unit.campaign.samples import code, failed, scored


def _tried(number: int, title: str, *sources: str, score: float | None = 0.8) -> list[CampaignEvent]:
    draft = Draft(title=title, method="m", sources=sources)
    work = code().model_copy(update={"draft": draft})
    return attempt(number, work, failed() if score is None else scored(score))


_TWO_ROUNDS = [
    *baseline(),
    *thought(0, ANALYZE, {"reports": [REPORT | {"item": "1", "kind": "discussion"}]}),
    *thought(1, PROPOSE, {"ideas": [IDEA | {"sources": ["1"]}]}),
    *thought(2, COORDINATE, {"drafts": []}),
    *_tried(1, "logs", "idea-000"),
    *_tried(2, "no luck", "idea-000", score=None),
    *thought(3, PROPOSE, {"ideas": [IDEA | {"id": "idea-001", "sources": ["attempt-001"]}]}),
    *_tried(3, "more logs", "idea-001", "attempt-001", "made up"),
]


def test_a_solution_is_traced_to_a_discussion() -> None:
    """The lineage is discussion, idea, draft, solution, next idea, next draft."""
    graph = graph_with_ideas(state_of(*_TWO_ROUNDS), VIEW)
    assert [node.id for node in graph.ancestors("solution:attempt-003")] == [
        "discussion:1",
        "idea:idea-000",
        "draft:attempt-001",
        "solution:attempt-001",
        "idea:idea-001",
        "draft:attempt-003",
    ]


def test_influence_is_what_came_of_an_item() -> None:
    """A discussion's influence has every draft that used it, also the failed one."""
    graph = graph_with_ideas(state_of(*_TWO_ROUNDS), VIEW)
    found = {node.id for node in graph.descendants("discussion:1")}
    assert {"draft:attempt-002", "solution:attempt-003"} <= found
    assert "solution:attempt-002" not in found, "it failed"
    assert graph.descendants("notebook:ada/straight-line") == ()
