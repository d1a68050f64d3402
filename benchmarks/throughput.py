"""Many attempts at once: 64 attempts of five steps in 16 slots, a model that takes a second."""

import json
import resource
import tempfile
import time
from pathlib import Path

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Decision, Done, Wait
from comind.campaign.loop import Campaign, run
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.worker import Dependencies
from comind.domain.spend import Budget, Spend
from comind.llm.model_ports import ModelReply, ModelRequest
from comind.testing import ColumnGrader, ScriptedModel, ScriptedSession, ThreadExecutor, TinyAgent
from tests.unit.campaign.samples import code, opened
from tests.unit.campaign.world import CELLS

ATTEMPTS, STEPS, SLOTS, LATENCY = 64, 5, 16, 1.0


class SlowModel(ScriptedModel):
    """Takes its time, like a real one."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Wait, then reply."""
        time.sleep(LATENCY)
        return super().complete(request)


class ManyAttempts(TinyAgent):
    """Fills every slot until all attempts are planned."""

    def plan(self, state: CampaignState) -> Decision:
        """Plan as many as there are slots."""
        left = ATTEMPTS - len(state.works)
        if left == 0:
            return Wait() if state.works.in_flight() else Done(reason="all done")
        return [code(steps=STEPS) for _ in range(min(left, state.free_slots()))] or Wait()


def main() -> None:
    """Print the figures."""
    folder = CampaignFolder(Path(tempfile.mkdtemp(prefix="b-")) / "campaign")
    campaign = Campaign(folder)
    campaign.record(opened(coders=SLOTS, steps=STEPS))
    model = SlowModel(lambda request: json.dumps({"code": "good"}))
    dependencies = Dependencies(
        lambda role: model,
        BudgetLedger(Budget(), Spend()),
        ColumnGrader(),
        lambda work, folder, notify: ScriptedSession(folder.workspace, CELLS),  # type: ignore[arg-type]
    )
    executor = ThreadExecutor(folder, ManyAttempts(), dependencies, workers=SLOTS)
    begun = time.perf_counter()
    campaign.record(run(campaign, ManyAttempts(), executor))
    took = time.perf_counter() - begun
    ideal = ATTEMPTS / SLOTS * STEPS * LATENCY
    print(
        f"{ATTEMPTS} attempts x {STEPS} steps in {SLOTS} slots: {took:.1f} s, "
        f"{ideal / took:.0%} of the ideal {ideal:.0f} s (target 85 %)"
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory of the orchestrator: {memory:.0f} MB (target < 1000 MB)")


if __name__ == "__main__":
    main()
