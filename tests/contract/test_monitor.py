"""The monitor and real kernels, in every sandbox: lost cells end early, healthy ones are left alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.work_events import MonitorAsked, MonitorHeard, WorkEvent
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
    session: KernelSession,
    code: str,
    model: ScriptedModel,
    *,
    seconds: float = 60,
    settings: MonitorSettings = SETTINGS,
) -> tuple[CellResult, list[WorkEvent]]:
    events: list[WorkEvent] = []
    watch = CellMonitor(model, events.append, settings, "Fit a network.", code, seconds)
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


# --- cells that print nothing ---------------------------------------------------------------------


SOON = MonitorSettings(Monitoring(ask_seconds=4, idle_seconds=4), first=1.0, longest=1.0)
"""Settings by which a cell of a minute is judged within seconds."""


def _stop_at(quote: str) -> ScriptedModel:
    verdict = {"stop": True, "quote": quote, "reason": "The loop has no end."}
    return ScriptedModel(lambda request: json.dumps(verdict))


def test_an_endless_loop_is_stopped_by_its_line(session: KernelSession) -> None:
    """A loop without output is asked about, and the line of the code that shows it ends the cell."""
    result, events = _run(
        session, "weights = 7\nwhile True:\n    pass", _stop_at("while True:"), settings=SOON
    )
    assert result.status is CellStatus.STOPPED
    assert "The loop has no end (its code: while True:)" in result.error
    assert result.seconds < 30
    asked = next(event for event in events if isinstance(event, MonitorAsked))
    assert [each.symptom for each in asked.evidence] == ["spinning"]
    assert session.run("weights", seconds=60).output.strip() == "7"


_DEADLOCK = """
import threading
first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)
def take(one, other):
    with one:
        both.wait()
        with other:
            pass
threads = [threading.Thread(target=take, args=pair, daemon=True)
           for pair in ((first, second), (second, first))]
[each.start() for each in threads]
[each.join() for each in threads]
"""

_WAITING_CHILD = "import subprocess; subprocess.run(['sleep', '10000'])"


@pytest.mark.parametrize(
    "code",
    ["import time; time.sleep(10_000)", _DEADLOCK, _WAITING_CHILD],
    ids=["sleep", "deadlock", "child"],
)
def test_a_cell_that_waits_is_stopped_by_evidence(session: KernelSession, code: str) -> None:
    """A sleep, a deadlock and a waiting child end within seconds without a model."""
    model = ScriptedModel([])
    result, events = _run(session, f"weights = 7\n{code}", model, settings=SOON)
    assert result.status is CellStatus.STOPPED, result.error
    assert "it waits for something that does not come" in result.error
    assert result.seconds < 30
    assert (events, model.requests) == ([], [])
    assert session.run("weights", seconds=60).output.strip() == "7"


def test_cells_of_a_minute_are_stopped_by_default(session: KernelSession) -> None:
    """With the default settings a short timeout is enough for a question, and for evidence."""
    for code, model, reason in (
        ("while True:\n    pass", _stop_at("while True:"), "its code: while True:"),
        ("import time; time.sleep(10_000)", ScriptedModel([]), "used no processor time"),
    ):
        result, _ = _run(session, code, model, settings=MonitorSettings())
        assert result.status is CellStatus.STOPPED
        assert reason in result.error


_FIT = """
import numpy as np
import time
end, kept = time.monotonic() + 10, []
while time.monotonic() < end:
    x = np.random.rand(300, 300)
    kept.append(x @ x)
    time.sleep(0.01)
"""

_CHILD = """
import subprocess, sys
subprocess.run([sys.executable, '-c', '''
import time
end = time.monotonic() + 10
while time.monotonic() < end: sum(range(1000))
'''])
"""


def test_a_silent_fit_is_left_alone(session: KernelSession) -> None:
    """Work with growing memory costs no question."""
    model = ScriptedModel([])
    result, events = _run(session, _FIT, model, settings=SOON)
    assert result.status is CellStatus.OK, result.error
    assert (events, model.requests) == ([], [])


def test_the_work_of_a_child_is_work(session: KernelSession) -> None:
    """A cell that waits for a program that computes is not idle; the model is asked, and says no."""
    model = ScriptedModel(lambda request: json.dumps({"stop": False, "reason": "It computes."}))
    result, _ = _run(session, _CHILD, model, settings=SOON)
    assert result.status is CellStatus.OK, result.error
    assert model.requests
