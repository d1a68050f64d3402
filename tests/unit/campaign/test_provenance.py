"""The provenance graph holds community items, drafts, solutions, and an agent's own nodes."""

from comind.campaign.agent import Agent
from comind.campaign.log.campaign_events import CampaignEvent, WorkPlanned
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Think
from comind.campaign.reports.campaign_graph import graph_of_campaign
from comind.community.provenance import Node, NodeKind
from comind.domain.draft import Draft
from comind.testing import TinyAgent
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import attempt, state_of
from tests.unit.campaign.samples import code, failed, scored


def _tried(
    number: int, *sources: str, parents: tuple[str, ...] = (), outcome: CodeOutcome | None = None
) -> list[CampaignEvent]:
    draft = Draft(title=f"draft {number}", method="m", sources=sources)
    work = code().model_copy(update={"draft": draft, "parents": parents})
    return attempt(number, work, outcome)


def test_a_draft_comes_from_the_solutions_of_its_parents() -> None:
    """Parents are found by an attempt's id or an item's name, without duplicates."""
    state = state_of(
        *_tried(0, outcome=scored(0.7)),
        *_tried(1, "attempt-000", "ben/forest", parents=("attempt-000",), outcome=scored(0.8)),
    )
    graph = graph_of_campaign(state, VIEW)
    assert graph["draft:attempt-001"].parents == ("solution:attempt-000", "notebook:ben/forest")
    assert graph["solution:attempt-001"].parents == ("draft:attempt-001",)


def test_a_draft_on_a_failed_attempt_comes_from_its_draft() -> None:
    """A draft based on an attempt without a submission has that attempt's draft as its parent."""
    state = state_of(*_tried(0, outcome=failed()), *_tried(1, parents=("attempt-000",)))
    graph = graph_of_campaign(state, VIEW)
    assert "solution:attempt-000" not in graph
    assert graph["draft:attempt-001"].parents == ("draft:attempt-000",)


def test_what_nobody_knows_is_no_parent() -> None:
    """Unknown names, later ones and the attempt's own are ignored."""
    made_up = ("nobody/nothing", "attempt-000", "attempt-001")
    state = state_of(*_tried(0, *made_up, parents=made_up), *_tried(1))
    assert graph_of_campaign(state, VIEW)["draft:attempt-000"].parents == ()


def test_an_agent_adds_what_came_of_its_thoughts() -> None:
    """Nodes of a thought have parents by name, and can be parents of later drafts."""
    state = state_of(
        *_tried(0, outcome=scored(0.7)),
        WorkPlanned(id="think-000", work=Think(purpose="outline")),
        *_tried(1, "idea-000", outcome=scored(0.8)),
    )
    idea = Node(kind=NodeKind.IDEA, name="idea-000", title="trees", parents=("attempt-000", "x"))
    graph = graph_of_campaign(state, VIEW, lambda record: [idea] if record.id == "think-000" else [])
    assert graph["idea:idea-000"].parents == ("solution:attempt-000",)
    assert [node.id for node in graph.ancestors("solution:attempt-001")][-2:] == [
        "idea:idea-000",
        "draft:attempt-001",
    ]


def test_an_agent_has_journal_and_graph_without_writing_them() -> None:
    """An agent's default graph and journal are the platform's."""
    state = state_of(*_tried(0, outcome=scored(0.7)))
    assert "- attempt-000: draft 0: accuracy 0.7" in TinyAgent.journal(state, VIEW)
    assert "solution:attempt-000" in TinyAgent.graph(state, VIEW)
    assert Agent.estimate(state.spec) is None
