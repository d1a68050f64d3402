"""The monitor and real kernels, in every sandbox: lost cells end early, healthy ones are left alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.work_events import MonitorHeard, WorkEvent
from comind.campaign.work.monitor import CellMonitor, MonitorSettings
from comind.llm.model_ports import ModelRequest
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.kernel_session import KernelSession
from comind.session.process import ProcessSandbox
from comind.session.session_ports import CellResult, CellStatus
from comind.testing import ScriptedModel

SETTINGS = MonitorSettings(Monitoring(ask_seconds=0.5), first=0.5, longest=1.0)


@pytest.fixture(params=[BubblewrapSandbox, ProcessSandbox], ids=["bubblewrap", "process"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KernelSession]:
    """A session in each sandbox."""
    opened = KernelSession(
        request.param(),
        tmp_path / "workspace",
        env={"OMP_NUM_THREADS": "1"},
        memory_bytes=8 << 30,
        log=tmp_path / "session.log",
    )
    yield opened
    opened.close()


def _run(
    session: KernelSession, code: str, model: ScriptedModel, *, seconds: float = 60
) -> tuple[CellResult, list[WorkEvent]]:
    events: list[WorkEvent] = []
    watch = CellMonitor(model, events.append, SETTINGS, "Fit a network.", code, seconds)
    result = session.run(code, seconds=seconds, watch=watch)
    watch.close()
    return result, events


def test_a_lost_cell_is_stopped_within_seconds(session: KernelSession) -> None:
    """A cell that prints a loss of nan forever ends without a model, and its variables are kept."""
    lost = "import time\nweights = 7\nwhile True:\n    print('loss: nan')\n    time.sleep(0.02)\n"
    result, events = _run(session, lost, ScriptedModel([]))
    assert result.status is CellStatus.STOPPED
    assert "(it printed: loss: nan)" in result.error
    assert result.seconds < 10
    assert events == []
    assert session.run("weights", seconds=60).output.strip() == "7"


_EPOCHS = """
import time
for epoch in range({epochs}):
    print(f'epoch {{epoch}} loss: {loss}', flush=True)
    time.sleep(0.2)
"""


def test_a_healthy_slow_cell_finishes(session: KernelSession) -> None:
    """A cell that makes progress is asked about and runs to its end."""
    model = ScriptedModel(lambda request: json.dumps({"stop": False, "quote": "", "reason": "fine"}))
    code = _EPOCHS.format(epochs=15, loss="{1 / (1 + epoch):.3f}")
    result, events = _run(session, code, model)
    assert result.status is CellStatus.OK
    assert result.output.splitlines()[-1] == "epoch 14 loss: 0.067"
    assert model.requests
    assert not any(isinstance(event, MonitorHeard) and event.accepted for event in events)


def test_a_model_stops_a_cell_with_a_line_that_it_printed(session: KernelSession) -> None:
    """The model's STOP ends the cell when the line it quotes was really printed."""

    def answer(request: ModelRequest) -> str:
        said = "epoch 1 loss: 100" if "epoch 1 " in request.messages[-1].content else "epoch 99"
        return json.dumps({"stop": True, "quote": said, "reason": "The loss explodes."})

    result, events = _run(
        session, _EPOCHS.format(epochs=300, loss="{100 ** epoch}"), ScriptedModel(answer)
    )
    assert result.status is CellStatus.STOPPED
    assert "The loss explodes (it printed: epoch 1 loss: 100)" in result.error
    assert [event.type for event in events[-2:]] == ["monitor-asked", "monitor-heard"]
