"""A campaign whose model costs money, in a project with others; also as a program of its own.

    python -m tests.orchestration.spending_campaign PROJECT CAMPAIGN...

runs each campaign in a thread, and `COMIND_KILL_AT` kills the process at a named point. `BEGIN_AFTER` is
the number of bills of other processes that it waits for.
"""

import os
import sys
import threading
import time
from pathlib import Path

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import Campaign, run
from comind.campaign.work.metering import ledger_of
from comind.campaign.worker import Dependencies
from comind.domain.spend import Budget
from comind.llm.model_ports import ModelReply, ModelRequest, Usage
from comind.testing import ColumnGrader, ScriptedModel, ScriptedSession, ThreadExecutor, TinyAgent
from tests.unit.campaign.samples import opened
from tests.unit.campaign.world import CELLS, reply

__all__ = ["ACTUAL", "BOUND", "billed", "run_campaign"]

ACTUAL, BOUND = Usage(usd=1.0), Usage(usd=3.0)
_ITERATIONS = 40  # more than any limit here allows


class _Priced(ScriptedModel):
    """Bills each request in a file that all processes append to."""

    def __init__(self, bills: Path) -> None:
        super().__init__(lambda request: reply("good"), usage=ACTUAL)
        self._bills = bills

    def bound(self, request: ModelRequest) -> Usage:
        """Return more than what a request costs, as models do."""
        del request
        return BOUND

    def complete(self, request: ModelRequest) -> ModelReply:
        """Bill, then reply."""
        with self._bills.open("a") as bills:
            bills.write("1")
        time.sleep(0.01)
        return super().complete(request)


def billed(project: Path) -> float:
    """Return the dollars that the model has billed to all campaigns."""
    return len((project / "bills").read_text()) * ACTUAL.usd


def run_campaign(project: ProjectFolder, name: str) -> CampaignState:
    """Run or resume a campaign until it ends."""
    folder = project.campaign(name)
    with Campaign(folder) as campaign:
        if campaign.state.opened is None:
            campaign.record(opened(id=name, iterations=_ITERATIONS, budget=Budget()))
        elif campaign.state.ended is not None:
            campaign.resume()
        ledger = ledger_of(project, folder, campaign.state.budget)
        model = _Priced(project.root / "bills")
        dependencies = Dependencies(
            lambda role: model,
            ledger,
            ColumnGrader(),
            lambda work, where, notify: ScriptedSession(where.workspace, CELLS),  # type: ignore[arg-type]
        )
        executor = ThreadExecutor(folder, TinyAgent(), dependencies)
        ending = run(campaign, TinyAgent(), executor, limit_reached=ledger.limit_reached)
        return campaign.record(ending)


def _wait_for_bills(project: Path, wanted: int) -> None:
    while wanted and not ((project / "bills").exists() and billed(project) >= wanted):
        time.sleep(0.001)


if __name__ == "__main__":
    _wait_for_bills(Path(sys.argv[1]), int(os.environ.get("BEGIN_AFTER", "0")))
    threads = [
        threading.Thread(target=run_campaign, args=(ProjectFolder(Path(sys.argv[1])), name))
        for name in sys.argv[2:]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.flush()
    os._exit(0)  # the executors' idle threads would be waited for
