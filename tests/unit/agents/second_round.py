"""A campaign at its second round: two scored solutions, and drafts to be proposed."""

import json
from pathlib import Path
from typing import Any

from comind.agents.comind.thoughts import ANALYZE, COORDINATE, PROPOSE
from comind.campaign.log.campaign_events import CampaignEvent
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.worker import execute
from comind.domain.draft import Draft
from comind.domain.metric import ValidationScore
from comind.llm.model_ports import ModelRequest
from comind.testing import ScriptedModel
from tests.unit.agents.community import VIEW
from tests.unit.agents.rounds import attempt, baseline, drafting, state_of, thought
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import code, score, scored, split_made
from tests.unit.campaign.world import World

_LARGE = 131_072

AGENT = agent_for(community=VIEW)


def ran_code(value: float, text: str, out_of_fold: ValidationScore | None = None) -> CodeOutcome:
    """Return a scored outcome whose code is `text`."""
    return scored(value).model_copy(
        update={"code": text, "code_seconds": 2.0, "out_of_fold": out_of_fold}
    )


def second_round(*more: CampaignEvent, **spec: Any) -> CampaignState:
    """Return a campaign of a baseline and a round of two solutions, with new ideas."""
    drafts = [Draft(title=title, method="m").model_dump(mode="json") for title in ("trees", "lines")]
    works = [code("trees"), code("lines")]
    return state_of(
        split_made(folds=5),
        *baseline(),
        *thought(0, PROPOSE, {"ideas": []}),
        *thought(1, COORDINATE, {"drafts": drafts}, finished=1),
        *attempt(1, works[0], ran_code(0.8, "trees = 1", score(0.79))),
        *attempt(2, works[1], ran_code(0.85, "lines = 1")),
        *thought(2, ANALYZE, {"reports": []}),
        *thought(3, PROPOSE, {"ideas": []}),
        *more,
        **{"ensemble": True, "coders": 3, **spec},
    )


def draft_reply(title: str, **values: Any) -> dict[str, Any]:
    """Return a draft as a model replies it."""
    return {"title": title, "kind": "novel", "method": "Do it.", **values}


def propose(
    root: Path, state: CampaignState, *replies: list[dict[str, Any]] | str, context: int = _LARGE
) -> tuple[dict[str, Any], list[ModelRequest]]:
    """Run the Coordinator on replies; return its result and the requests."""
    world = World(root)
    texts = [each if isinstance(each, str) else json.dumps({"drafts": each}) for each in replies]
    world.model = ScriptedModel(texts, context_tokens=context)
    outcome = execute(AGENT, drafting(state, VIEW), world.folder.work("think-004"), world.dependencies())
    assert outcome.kind == "think"
    assert outcome.failure is None, outcome.failure
    return dict(outcome.result.root), world.model.requests
