"""How far the attempts of finished campaigns came by themselves, read from their logs.

`python benchmarks/campaigns/own_results.py runs/CAMPAIGN ...` prints for each campaign and for all: how
many attempts (without the baseline) had a submission of their own graded, how many scored better than
the solution whose code they started from, and what the others ended with. An attempt that started from
nothing, or from a notebook that nobody had run, is compared with the baseline.
"""

import sys
from collections import Counter
from pathlib import Path

from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.work import BASELINE_ROLE, Code
from comind.campaign.log.work_events import WORK_EVENTS, CallAnswered, Graded
from comind.domain.metric import MetricValue
from comind.eventlog.log import read_log


def main() -> None:
    """Print a line a campaign and one for all."""
    total: Counter[str] = Counter()
    for folder in map(Path, sys.argv[1:]):
        counted = results(folder)
        total += counted
        print(line(folder.name, counted))
    print(line("all", total))


def results(folder: Path) -> Counter[str]:
    """Count the attempts of a campaign by what came of them."""
    state = CAMPAIGN_LOG.read(folder / "log.jsonl")
    counted: Counter[str] = Counter()
    for attempt in state.works.attempts():
        if attempt.work.role == BASELINE_ROLE:
            continue
        records = read_log(folder / attempt.id / "log.jsonl", WORK_EVENTS)
        events = [record.event for record in records]
        counted["tokens"] += sum(
            event.reply.usage.completion_tokens for event in events if isinstance(event, CallAnswered)
        )
        if attempt.outcome is None:
            counted["unfinished"] += 1
        best: MetricValue | None = None
        for event in events:
            if isinstance(event, Graded) and event.report.score is not None:
                value = event.report.score.value
                best = value if value.better_than(best) else best
        counted["attempts"] += 1
        counted["graded"] += best is not None
        if best is not None:
            counted["better"] += best.better_than(start_of(state, attempt.work))
        elif attempt.outcome is not None and attempt.outcome.failure is not None:
            counted[
                f"- {attempt.outcome.failure.cause.value}: {attempt.outcome.failure.message[:70]}"
            ] += 1
    return counted


def start_of(state: CampaignState, work: Code) -> MetricValue | None:
    """Return the score of what an attempt started from."""
    for attempt in state.works.attempts():
        started = (
            work.parents[:1] == (attempt.id,) if work.parents else attempt.work.role == BASELINE_ROLE
        )
        if started and attempt.outcome is not None and attempt.outcome.score is not None:
            return attempt.outcome.score.value
    return None


def line(name: str, counted: Counter[str]) -> str:
    """Say what was counted."""
    said = (
        f"{name}: {counted['attempts']} attempts, {counted['graded']} graded by their own work, "
        f"{counted['better']} better than their start, {counted['tokens']} tokens written"
    )
    reasons = [f"  {times} x {reason[2:]}" for reason, times in counted.items() if reason[0] == "-"]
    return "\n".join([said, *reasons])


if __name__ == "__main__":
    main()
