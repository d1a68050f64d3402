"""Logs at 100,000 events: a campaign's is appended, read and folded, an attempt's is folded."""

import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS, CampaignEvent, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.log.work_events import (
    CallAnswered,
    CallSent,
    CellEnded,
    CellStarted,
    MonitorAsked,
    MonitorHeard,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG
from comind.eventlog.log import EventLog, read_log
from comind.llm.model_ports import ModelReply, Usage
from comind.session.session_ports import CellResult, CellStatus
from tests.unit.campaign.samples import code, opened, scored
from tests.unit.campaign.work_logs import records_of

EVENTS, SYNCED = 100_000, 2_000


def events(count: int) -> list[CampaignEvent]:
    """Return a campaign's first `count` events: attempts, one after another."""
    found: list[CampaignEvent] = [opened()]
    for n in range(count // 2):
        found.append(WorkPlanned(id=f"attempt-{n:06d}", work=code()))
        found.append(WorkFinished(id=f"attempt-{n:06d}", outcome=scored(0.5 + n / count / 10)))
    return found[:count]


def steps(count: int) -> list[WorkEvent]:
    """Return an attempt's first `count` events: a call, a cell, and a question about it in each step."""
    usage = Usage(prompt_tokens=1_000, completion_tokens=100, usd=0.01)
    reply = ModelReply(text="{}", model="m", usage=usage)
    found: list[WorkEvent] = []
    for n in range(1, count // 6 + 2):
        found += [
            CallSent(ordinal=n, fingerprint="f" * 64, role="coding_agent", model="m", bound=usage),
            CallAnswered(ordinal=n, reply=reply),
            CellStarted(ordinal=n, step=n, goal="Fit.", code="fit()"),
            MonitorAsked(seconds=20, evidence=(), fingerprint="e" * 64, model="m", bound=usage),
            MonitorHeard(seconds=21, reply=reply),
            CellEnded(ordinal=n, result=CellResult(status=CellStatus.OK)),
        ]
    return found[:count]


def folded_steps(count: int) -> float:
    """Return how many seconds it takes to fold an attempt's log."""
    records = records_of(*steps(count))
    begun = time.process_time()
    state = WORK_LOG.fold(records)
    took = time.process_time() - begun
    assert len(state.calls) >= count // 3
    return took


def append(path: Path, count: int, clock: Callable[[], float] = time.process_time) -> float:
    """Return how many seconds it takes to append `count` events; of our own, where no clock is named."""
    with EventLog(path, CAMPAIGN_EVENTS) as log:
        begun = clock()
        for event in events(count):
            log.append(event)
        return clock() - begun


def folded(path: Path) -> tuple[float, float]:
    """Return how many seconds it takes to read and verify a log, and to fold it."""
    begun = time.process_time()
    records = read_log(path, CAMPAIGN_EVENTS)
    read = time.process_time() - begun
    state = CAMPAIGN_LOG.fold(records)
    assert len(state.works) >= len(records) // 2 - 1
    return read, time.process_time() - begun - read


def main() -> None:
    """Print the figures."""
    root = Path(tempfile.mkdtemp(prefix="b-"))
    synced = append(root / "synced.jsonl", SYNCED, time.perf_counter) / SYNCED
    os.fsync = lambda descriptor: None  # the rest is about our own work, not the disk's
    written = append(root / "whole.jsonl", EVENTS)
    tenth = append(root / "tenth.jsonl", EVENTS // 10)
    print(
        f"append: {1e6 * written / EVENTS:.0f} us an event at {EVENTS} events, "
        f"{written / tenth:.1f}x the time of a tenth of them; "
        f"with the disk's sync {1e6 * synced:.0f} us, {1 / synced:.0f} events a second"
    )
    (read, fold_all), (read_tenth, fold_tenth) = (
        folded(root / "whole.jsonl"),
        folded(root / "tenth.jsonl"),
    )
    print(
        f"read and verify {EVENTS} events: {read:.1f} s, {read / read_tenth:.1f}x a tenth of them; "
        f"fold: {fold_all:.2f} s, {fold_all / fold_tenth:.1f}x"
    )
    whole, tenth_of_it = folded_steps(EVENTS), folded_steps(EVENTS // 10)
    print(
        f"fold of an attempt: {1e6 * whole / EVENTS:.0f} us an event at {EVENTS} events, "
        f"{whole / tenth_of_it:.1f}x a tenth of them"
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at that: {memory:.0f} MB")


if __name__ == "__main__":
    main()
