"""The best graded step of attempts in flight is read from their logs."""

from pathlib import Path

from comind.campaign.log.campaign_events import WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.running_attempts import RunningAttempts
from comind.campaign.worker import execute
from tests.unit.campaign.samples import code, opened, records
from tests.unit.campaign.world import World, reply


def test_a_step_counts_before_its_attempt_ends(tmp_path: Path) -> None:
    """The best step of attempts in flight is known; ended attempts are ignored."""
    world = World(tmp_path, script=[reply("good"), reply("poor")])
    outcome = execute(world.agent, code(), world.folder.work("attempt-000"), world.dependencies())
    planned = WorkPlanned(id="attempt-000", work=code())
    for events, expected in (
        ([planned], 0.9),
        ([planned, WorkFinished(id="attempt-000", outcome=outcome)], None),
    ):
        state = CampaignState()
        for record in records(opened(), *events):
            state = CAMPAIGN_LOG.apply(state, record)
        best = RunningAttempts(world.folder).best(state)
        assert (best and best.score.value.value) == expected
        if best is not None:
            assert best.submitted.step == 1
