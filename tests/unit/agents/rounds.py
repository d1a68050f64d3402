"""Helpers that build campaign states round by round."""

from typing import Any

from comind.agents.comind.analyzer import reading_facts
from comind.agents.comind.drafting_facts import drafting_facts
from comind.agents.comind.idea_proposer import proposing_facts
from comind.agents.comind.parameters import CoMindParameters
from comind.agents.comind.pool import pool_of
from comind.agents.comind.thoughts import ANALYZE, COORDINATE, OPEN, PROPOSE
from comind.campaign.log.campaign_events import CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import CodeOutcome, ThinkOutcome
from comind.campaign.log.work import BASELINE_ROLE, Code, Think
from comind.campaign.log.work_items import Purpose
from comind.domain.community import CommunityView
from comind.domain.draft import Draft
from comind.domain.value import Payload
from tests.unit.campaign.samples import code, opened, records, scored

REPORT = {
    "item": "ben/forest",
    "kind": "notebook",
    "title": "About ben/forest",
    "summary": "A forest of extra trees on scaled columns.",
    "novelty": 2,
    "feasibility": 9,
    "effectiveness": 6,
    "efficiency": 8,
    "confidence": 4,
    "ideas": ["Use extra trees."],
}
IDEA = {"id": "idea-000", "text": "Use extra trees.", "value": 6, "sources": ["ben/forest"]}


def state_of(*events: CampaignEvent, **spec: Any) -> CampaignState:
    """Return the state of a campaign after these events."""
    state = CampaignState()
    for record in records(opened(**spec), *events):
        state = CAMPAIGN_LOG.apply(state, record)
    return state


def thought(
    number: int, purpose: Purpose[Any, Any], result: dict[str, Any], **facts: Any
) -> list[CampaignEvent]:
    """Return a thought that was planned and has finished."""
    name = f"think-{number:03d}"
    return [
        WorkPlanned(id=name, work=purpose.work(purpose.facts.model_validate(facts))),
        WorkFinished(id=name, outcome=ThinkOutcome(result=Payload(result))),
    ]


def attempt(number: int, work: Code, outcome: CodeOutcome | None) -> list[CampaignEvent]:
    """Return an attempt that was planned and, with an outcome, has finished."""
    name = f"attempt-{number:03d}"
    planned: list[CampaignEvent] = [WorkPlanned(id=name, work=work)]
    return planned + ([WorkFinished(id=name, outcome=outcome)] if outcome else [])


def baseline(outcome: CodeOutcome | None = None) -> list[CampaignEvent]:
    """Return attempt 0, with a score unless another outcome is given."""
    work = code().model_copy(update={"role": BASELINE_ROLE})
    return attempt(0, work, outcome or scored(0.7))


def after_one_round(**spec: Any) -> CampaignState:
    """Return a campaign with one report, one idea and one attempt at it."""
    draft = Draft(title="a forest", method="Extra trees.", strategy="novel", sources=("idea-000",))
    work = code().model_copy(update={"draft": draft})
    values = {"code": "forest.fit(x, y)", "code_seconds": 2.0, "report": "Trees do well."}
    best = scored(0.8).model_copy(update=values)
    return state_of(
        *baseline(),
        *thought(0, ANALYZE, {"reports": [REPORT]}),
        *thought(1, PROPOSE, {"ideas": [IDEA]}),
        *thought(2, COORDINATE, {"drafts": [draft.model_dump(mode="json")]}, finished=1),
        *attempt(1, work, best),
        **spec,
    )


def reading(state: CampaignState, view: CommunityView) -> Think | None:
    """Return the planned reading of the next round; None without new items."""
    parameters = CoMindParameters(readers=1)
    parts = reading_facts(state, pool_of(state), view, parameters)
    return ANALYZE.work(parts[0]) if parts else None


def proposing(state: CampaignState) -> Think:
    """Return the planned ideation of a round."""
    return PROPOSE.work(proposing_facts(state, pool_of(state)))


def drafting(state: CampaignState, view: CommunityView) -> Think:
    """Return the planned drafting of a round."""
    facts = drafting_facts(state, pool_of(state), view, settings=CoMindParameters())
    return COORDINATE.work(facts)


def opening(
    state: CampaignState, view: CommunityView, settings: CoMindParameters | None = None
) -> Think:
    """Return the planned ideas and drafts of a round in one call."""
    settings = settings or CoMindParameters()
    facts = drafting_facts(state, pool_of(state), view, settings=settings, opening=True)
    return OPEN.work(facts)
