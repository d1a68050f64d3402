"""Feedback on a cell that the monitor stopped."""

import json
from pathlib import Path

from comind.campaign.work.monitor import MonitorSettings
from comind.campaign.worker import execute
from comind.testing import ScriptedModel
from tests.unit.agents.samples import AGENT
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World


def test_the_coder_hears_why_its_cell_was_stopped(tmp_path: Path) -> None:
    """Feedback has the reason and the quoted line, and says that variables are kept."""
    world = World(tmp_path, monitor=MonitorSettings())
    world.cells = {"lost": lambda workspace: ((n, f"epoch {n} loss: nan") for n in range(99))}
    steps = [{"goal": "g", "code": name} for name in ("lost", "good", "# done")]
    replies = [*steps, {"summary": "Reported."}]
    world.model = ScriptedModel([json.dumps(reply) for reply in replies])
    execute(AGENT, code(steps=3), world.folder.work("attempt-000"), world.dependencies())
    told = world.model.requests[1].messages[-1].content
    assert told.startswith(
        "The cell was stopped early: the monitor stopped it after 12 s: the last 12 reports of loss are "
        "not a number (it printed: epoch 11 loss: nan). What it had set so far is kept."
    )
    assert "epoch 0 loss: nan" in told
