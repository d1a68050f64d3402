"""Mark what this process runs as stopped, in Prefect and MLflow, before a signal ends it.

The logs hold all state, so nothing is lost where that is not possible within some seconds: the next
command of the project marks it (`comind/servers/orphans.py`).
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runtime import flow_run
from prefect.states import Cancelled

_Handler = Callable[[int, FrameType | None], object] | int | None

_MARK_SECONDS = 7.0  # a container's engine kills ten seconds after SIGTERM
_LOOK_SECONDS = 2.0  # between two looks at whether the run was cancelled on Prefect's page
STOPPED = "its process was stopped; the campaign's log holds its state"

_marks: list[Callable[[], object]] = []
_handler: _Handler = None


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end this process as it does now, also within flows, for which Prefect replaces that.

    A run that is cancelled on Prefect's page ends it, too: nothing else would do so.
    """
    global _handler  # noqa: PLW0603 - signal handlers are global, too
    _handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        _handler = None


@contextlib.contextmanager
def stoppable(mark: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Let a signal that ends this process cancel the current flow run, and call `mark`."""
    run, over = str(flow_run.id or ""), threading.Event()
    marks = [mark, lambda: _cancel(run)] if run else [mark]
    _marks.extend(marks)
    if _handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _handler)
        if run:
            threading.Thread(target=_watch, args=(run, over), name="cancelled", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        for each in marks:
            _marks.remove(each)


def mark_stopped(then: Callable[[], object]) -> bool:
    """Mark all that is stoppable, for seven seconds at most, and call `then`; False if nothing is.

    This happens in a thread, beside the main thread, which may have a lock of MLflow's database.
    """
    if _marks:
        threading.Thread(target=_mark_all, args=(then,), daemon=True).start()
    return bool(_marks)


def _mark_all(then: Callable[[], object]) -> None:
    end = time.monotonic() + _MARK_SECONDS
    marking = [threading.Thread(target=_quietly, args=(mark,), daemon=True) for mark in _marks]
    for each in marking:
        each.start()
    for each in marking:
        each.join(max(0.0, end - time.monotonic()))
    then()


def _quietly(mark: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        mark()


def _cancel(run: str) -> None:
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(UUID(run), Cancelled(message=STOPPED), force=True)


def _watch(run: str, over: threading.Event) -> None:
    """End this process when the run is cancelled."""
    with get_client(sync_client=True) as client:
        while not over.wait(_LOOK_SECONDS):
            with contextlib.suppress(Exception):  # the flow itself reports a server that is gone
                state = client.read_flow_run(UUID(run)).state
                if state is not None and (state.is_cancelling() or state.is_cancelled()):
                    sys.stderr.write("\ncomind: the run was cancelled in Prefect\n")
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
