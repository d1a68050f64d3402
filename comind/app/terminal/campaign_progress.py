"""Show a campaign's progress on stderr: a live table on a terminal, plain lines elsewhere.

All of it is read from the logs, so a failure here does not affect the campaign.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import partial

from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.text import Text

from comind.app.terminal.background import shown_in_background
from comind.app.terminal.live_table import clock, live_table, outcome_text
from comind.campaign.log.campaign_events import (
    AttemptRejected,
    BlendJudged,
    CampaignEnded,
    CampaignEvent,
    CampaignOpened,
    CampaignResumed,
    CommunityRead,
    EnvironmentRead,
    ErrorsCompared,
    FinalPicked,
    FoldFinished,
    FoldsPlanned,
    ScriptProved,
    SplitMade,
    SubmissionsFlagged,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_events import (
    CallFailed,
    CellEnded,
    Graded,
    MonitorHeard,
    NodeLost,
    RequestFailed,
    SessionAwaited,
    SessionOpened,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.campaign.reports.tuning import Tuning, tuning_of
from comind.domain.spend import Budget, LimitReached, Spend
from comind.domain.value import one_line
from comind.evaluation.grader_port import GradeReport
from comind.eventlog.log import Record
from comind.eventlog.store import StateTail
from comind.session.output import error_line
from comind.session.session_ports import CellStatus
from comind.system.plurals import quantity

__all__ = ["show_progress"]

_INTERVAL_SECONDS = 0.5
_ERROR_SHOWN = 160  # characters


def show_progress(folder: CampaignFolder) -> contextlib.AbstractContextManager[None]:
    """Show a campaign's progress in a thread for the length of the block."""
    return shown_in_background(partial(_show, _Progress(folder)), "progress")


class _Progress:
    """State of a campaign and its work, and the unread rest of their logs."""

    def __init__(self, folder: CampaignFolder) -> None:
        self._folder = folder
        self._campaign = StateTail(folder.log, CAMPAIGN_LOG)
        self._planned_at: dict[str, float] = {}
        self.works: dict[str, StateTail[AttemptState, WorkEvent]] = {}
        self._warned: set[LimitReached] = set()

    def new_lines(self) -> Iterator[str]:
        """Read new events from the logs; yields a line for each that is shown."""
        for record in self._campaign.read():
            if isinstance(record.event, WorkPlanned):
                log = self._folder.work(record.event.id).log
                self.works[record.event.id] = StateTail(log, WORK_LOG)
                self._planned_at[record.event.id] = record.elapsed
            if isinstance(record.event, WorkFinished):
                yield from self._new_work_lines(record.event.id)
            text = _campaign_line(record)
            if isinstance(record.event, FinalPicked):
                text = "\n".join([text, *_tuning_lines(self.tuning)])
            for line in text.splitlines():
                yield f"{clock(record.elapsed)}  {line}"
        for work_id in [record.id for record in self.state.works.in_flight()]:
            yield from self._new_work_lines(work_id)
        yield from _budget_lines(self.spend, self.state.budget, self._warned)

    @property
    def state(self) -> CampaignState:
        """State of the campaign so far."""
        return self._campaign.state

    @property
    def spend(self) -> Spend:
        """Spend of all work so far."""
        return sum((work.state.spend for work in self.works.values()), Spend())

    @property
    def tuning(self) -> Tuning:
        """Gradings on the validation rows so far, and their optimism."""
        return tuning_of(self.state, self.states)

    @property
    def states(self) -> dict[str, AttemptState]:
        """States of all work, by id."""
        return {name: work.state for name, work in self.works.items()}

    def _new_work_lines(self, work_id: str) -> Iterator[str]:
        work = self.works[work_id]
        for record in work.read():
            line = _work_line(record.event, work.state)
            if line:
                yield f"{clock(self._planned_at[work_id] + record.elapsed)}  {work_id}: {line}"


def _show(progress: _Progress, stop: threading.Event) -> None:
    console = Console(stderr=True)
    table = Live(console=console, refresh_per_second=4) if sys.stderr.isatty() else None
    with table or contextlib.nullcontext():
        over = False
        while not over:
            over = stop.wait(_INTERVAL_SECONDS)
            for line in progress.new_lines():
                if table is not None:
                    console.print(Text(line, style="dim"))
                else:
                    print(line, file=sys.stderr, flush=True)
            if table is not None and progress.state.opened is not None:
                table.update(live_table(progress.state, progress.states))


def _budget_lines(spend: Spend, budget: Budget, warned: set[LimitReached]) -> Iterator[str]:
    """Yield a line at 50 % and at 80 % of a limit, each once; `warned` is updated."""
    spent = {"dollars": spend.usd, "tokens": spend.tokens}
    for reached in budget.reached(spend):
        if reached not in warned:
            warned.add(reached)
            yield f"budget: {reached} are spent ({spent[reached.unit]:.6g})"


def _campaign_line(record: Record[CampaignEvent]) -> str:
    match record.event:
        case CampaignOpened(spec=spec):
            return (
                f"campaign {spec.id}: {spec.agent} on {spec.competition}, model {spec.model}, "
                f"seed {spec.seed}"
            )
        case EnvironmentRead() | SplitMade() | CommunityRead() as inputs:
            return _inputs_line(inputs)
        case ScriptProved(id=work_id, proof=proof, kind=kind, reason=reason):
            return f"script of {work_id} ({kind}): {proof}{f', {reason}' if reason else ''}"
        case WorkPlanned(id=work_id, work=work):
            return f"{work_id}: {_purpose(work)}"
        case WorkFinished(id=work_id, outcome=outcome):
            return f"{work_id}: {outcome_text(outcome)}"
        case CampaignResumed():
            return "resumed"
        case CampaignEnded(detail=detail):
            return f"ended: {detail}"
        case choice:
            return _choice_line(choice)


def _tuning_lines(tuning: Tuning) -> list[str]:
    """Return the gradings behind the final pick, and warnings of overfitting to them."""
    return [
        f"{tuning} on {tuning.rows} validation rows",
        *(f"WARNING: {each}" for each in tuning.warnings),
    ]


def _choice_line(
    event: AttemptRejected
    | ErrorsCompared
    | FoldsPlanned
    | FoldFinished
    | SubmissionsFlagged
    | BlendJudged
    | FinalPicked,
) -> str:
    match event:
        case AttemptRejected(id=work_id, reason=reason):
            return f"{work_id}: rejected by {reason}"
        case ErrorsCompared():
            return f"correlation of errors: {event}"
        case FinalPicked(work_id=work_id, reason=reason, evidence=evidence):
            return f"final pick {work_id}: {reason}" + (f"\n  {evidence}" if evidence else "")
        case SubmissionsFlagged(flags=flags):
            return "\n".join(f"WARNING: {each}" for each in flags)
        case BlendJudged():
            return f"no blend: {event.reason}" if event.blend is None else f"blend: {event.blend}"
        case FoldFinished(fold=fold, continuing=continuing, dropped=dropped):
            more = "".join(f"; {line}" for line in dropped)
            return f"continue after fold {fold}: {', '.join(continuing)}{more}"
        case FoldsPlanned(folds=folds, reason=reason, left_out=left_out):
            more = "".join(f"; {line}" for line in (reason, *left_out) if line)
            if not event.runners:
                return f"no folds{more.replace(';', ':', 1)}"
            return f"{quantity(folds, 'fold')} for {', '.join(event.runners)}{more}"


def _inputs_line(event: EnvironmentRead | SplitMade | CommunityRead) -> str:
    match event:
        case EnvironmentRead(environment=environment):
            toolbox = ", with the toolbox" if environment.toolbox else ""
            return f"runs in {environment.sandbox}, Python {environment.python}{toolbox}"
        case SplitMade() as split:
            sealed = f"{split.validation_rows} rows sealed, metric {split.metric}"
            more = f" (and {len(split.warnings) - 1} more)" if len(split.warnings) > 1 else ""
            warned = f"\nWARNING: {split.warnings[0]}{more}" if split.warnings else ""
            return f"split {split.key}: {sealed}; {split.rule}{warned}"
        case CommunityRead() as read:
            moment = "" if read.as_of is None else f" as of {read.as_of:%Y-%m-%d %H:%M %Z}"
            more = f"; {read.left_out} notes on dropped items" if read.left_out else ""
            return (
                f"community {read.key}{moment}: {read.notebooks} notebooks, "
                f"{read.discussions} discussions, {read.datasets} datasets{more}"
            )


def _purpose(work: Think | Code) -> str:
    return work.purpose if isinstance(work, Think) else f"{work.operator}, {work.draft.title}"


def _work_line(event: WorkEvent, state: AttemptState) -> str:
    match event:
        case SessionAwaited() | SessionOpened() | NodeLost() as session:
            return _session_line(session)
        case CellEnded(result=result) if result.status is CellStatus.STOPPED:
            return f"step {state.steps} stopped: {result.error}"
        case CellEnded(result=result) if result.error:
            return f"step {state.steps} failed: {one_line(error_line(result.error), _ERROR_SHOWN)}"
        case CellEnded(refused=refused, submitted=None) if refused:
            return f"step {state.steps} not scored: {refused}"
        case RequestFailed() | CallFailed() | MonitorHeard(reply=None) as failed:
            return _failed_call(failed)
        case Graded(report=report, out_of_fold=folds):
            more = f"; out of fold: {_verdict(folds)}" if folds else ""
            cell = state.cells.last
            more += f"; rejected by {cell.rejected}" if cell is not None and cell.rejected else ""
            return f"step {state.steps}: {_verdict(report)}{more}"
        case _:
            return ""


def _session_line(event: SessionAwaited | SessionOpened | NodeLost) -> str:
    match event:
        case SessionAwaited(reason=reason):
            return f"waits for a session: {reason}"
        case NodeLost(message=message):
            return f"{message}; its cells are run again on another node"
        case SessionOpened(replayed_cells=cells, threads=threads) as opened:
            place = f" on {opened.node}" if opened.node else ""
            warning = "" if opened.sealed else " (UNSEALED: the code can read the labels)"
            share = f", {quantity(threads, 'thread')}" if threads else ""
            again = f", {quantity(cells, 'cell')} run again" if cells else ""
            return f"session in {opened.sandbox}{place}{warning}{share}{again}{_fetched(opened)}"


def _fetched(event: SessionOpened) -> str:
    """Return the size of the inputs that a node fetched, and why not from the store."""
    if event.fetched is None:
        return ""
    failure = event.fetched.store_failure
    reason = f" from the driver, not from the store: {failure}" if failure else ""
    return f", fetched {decimal(event.fetched.size)} in {event.fetched.seconds:.0f} s{reason}"


def _failed_call(event: RequestFailed | CallFailed | MonitorHeard) -> str:
    match event:
        case RequestFailed(message=message):
            return f"{message}; the request will be retried"
        case CallFailed(message=message):
            return f"no reply: {message}"
        case MonitorHeard(failure=failure):
            return f"the monitor got no reply: {one_line(failure, _ERROR_SHOWN)}"


def _verdict(report: GradeReport) -> str:
    if report.score is not None:
        worst = ((parts.by, parts.worst[0]) for parts in report.parts)
        return ", ".join(
            [str(report.score), *(f"worst {by} {p.name}: {p.value:.3g}" for by, p in worst)]
        )
    return "of the right form" if report.valid else f"not scored: {report.message}"
