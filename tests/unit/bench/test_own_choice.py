"""The own choice of an agent has nothing that the platform adds."""

import pytest

from comind.app.bench_runs import own_choice
from comind.campaign.log.campaign_events import AttemptRejected, CampaignEvent
from comind.campaign.log.outcome import CodeOutcome
from tests.unit.agents.rounds import attempt, baseline, state_of
from tests.unit.campaign.samples import code, failed, scored


def _tried(*outcomes: CodeOutcome) -> list[CampaignEvent]:
    return [
        event
        for number, outcome in enumerate(outcomes, start=1)
        for event in attempt(number, code(f"draft {number}"), outcome)
    ]


@pytest.mark.parametrize(
    ("tried", "rejected", "own"),
    [
        ([scored(0.7), scored(0.8)], (), "attempt-002"),
        ([scored(0.7), scored(0.8)], ("attempt-002",), "attempt-001"),
        ([scored(0.8), failed()], ("attempt-001",), None),
        ([failed()], (), None),
        ([], (), None),
    ],
)
def test_it_is_the_best_attempt_that_the_agent_stands_by(
    tried: list[CodeOutcome], rejected: tuple[str, ...], own: str | None
) -> None:
    """A better baseline is the platform's; what the agent rejected is not chosen."""
    events = [*baseline(scored(0.9)), *_tried(*tried)]
    events += [AttemptRejected(id=each, reason="labels leak") for each in rejected]
    found = own_choice(state_of(*events))
    assert (found and found.id) == own


def test_the_baseline_is_the_choice_of_the_agent_of_that_name() -> None:
    """As an arm, its attempt 0 counts."""
    found = own_choice(state_of(*baseline(scored(0.9)), agent="baseline"))
    assert found is not None
    assert found.id == "attempt-000"
