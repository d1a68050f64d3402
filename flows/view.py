"""What is going on, for people: a live table on a terminal, plain lines elsewhere.

Everything shown is read from the logs, so the view can start, fall behind or die without harm.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from comind.campaign.attempt import (
    WORK_EVENTS,
    CallFailed,
    CellEnded,
    Graded,
    MonitorHeard,
    RequestFailed,
    SessionOpened,
    WorkEvent,
)
from comind.campaign.events import (
    CAMPAIGN_EVENTS,
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
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.folder import CampaignFolder
from comind.campaign.history import AttemptState
from comind.campaign.history import apply as apply_work
from comind.campaign.ledger import by_role
from comind.campaign.outcome import CodeOutcome, Outcome, ThinkOutcome
from comind.campaign.plan import Code, Think
from comind.campaign.state import CampaignState, apply
from comind.campaign.tuning import Tuning, tuning_of
from comind.domain.spend import Budget, LimitReached, Spend
from comind.domain.value import one_line
from comind.evaluation.grader_port import GradeReport
from comind.eventlog.log import LogTail, Record
from comind.session.base import CellStatus
from comind.session.complaint import error_line

__all__ = ["watching"]

_INTERVAL_SECONDS = 0.5
_ERROR_SHOWN = 160  # characters


@contextlib.contextmanager
def watching(folder: CampaignFolder) -> Iterator[None]:
    """Show a campaign on stderr for the length of the block."""
    watch = _Watch(folder)
    stop = threading.Event()
    thread = threading.Thread(target=_show, args=(watch, stop), name="view", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=10)


@dataclass
class _WorkWatch:
    """One piece of work, as it goes."""

    tail: LogTail[WorkEvent]
    planned_at: float
    state: AttemptState = field(default_factory=AttemptState)


class _Watch:
    """The campaign and its work, as far as they have been read."""

    def __init__(self, folder: CampaignFolder) -> None:
        self._folder = folder
        self._tail: LogTail[CampaignEvent] = LogTail(folder.log, CAMPAIGN_EVENTS)
        self.state = CampaignState()
        self.works: dict[str, _WorkWatch] = {}
        self._warned: set[LimitReached] = set()

    def news(self) -> Iterator[str]:
        """Yield a line for everything worth telling since the last call."""
        for record in self._tail.read():
            self.state = apply(self.state, record)
            if isinstance(record.event, WorkPlanned):
                log = self._folder.work(record.event.id).log
                tail = LogTail(log, WORK_EVENTS)
                self.works[record.event.id] = _WorkWatch(tail, record.elapsed)
            if isinstance(record.event, WorkFinished):
                yield from self._work_news(record.event.id)
            said = _campaign_line(record)
            if isinstance(record.event, FinalPicked):
                said = "\n".join([said, *_tuning_lines(self.tuning)])
            for line in said.splitlines():
                yield f"{_clock(record.elapsed)}  {line}"
        for work_id in [record.id for record in self.state.works.in_flight()]:
            yield from self._work_news(work_id)
        yield from _warning(self.spend, self.state.budget, self._warned)

    @property
    def spend(self) -> Spend:
        """What all work has spent so far."""
        return sum((work.state.spend for work in self.works.values()), Spend())

    @property
    def tuning(self) -> Tuning:
        """How much the validation rows have been used so far."""
        return tuning_of(self.state, {name: work.state for name, work in self.works.items()})

    def _work_news(self, work_id: str) -> Iterator[str]:
        work = self.works[work_id]
        for record in work.tail.read():
            work.state = apply_work(work.state, record)
            line = _work_line(record.event, work.state)
            if line:
                yield f"{_clock(work.planned_at + record.elapsed)}  {work_id}: {line}"


def _show(watch: _Watch, stop: threading.Event) -> None:
    console = Console(stderr=True)
    table = Live(console=console, refresh_per_second=4) if sys.stderr.isatty() else None
    with table or contextlib.nullcontext():
        over = False
        while not over:
            over = stop.wait(_INTERVAL_SECONDS)
            for line in watch.news():
                if table is not None:
                    console.print(Text(line, style="dim"))
                else:
                    print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is the view
            if table is not None and watch.state.opened is not None:
                table.update(_screen(watch))


def _screen(watch: _Watch) -> Group:
    state = watch.state
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("attempt", "draft", "steps", "best", "doing"):
        table.add_column(name, no_wrap=name != "draft")
    for attempt in state.works.rankable():
        seen = watch.works[attempt.id]
        best = str(seen.state.best_score) if seen.state.best_score else "-"
        doing = _ending(attempt.outcome) if attempt.outcome else _doing(seen.state)
        steps = f"{seen.state.steps}/{attempt.work.budget.steps}"
        table.add_row(attempt.id, attempt.title, steps, best, doing)
    spend = watch.spend
    best = f"best {state.best.score} ({state.best.work_id})" if state.best else "nothing scored yet"
    left = "" if state.budget.seconds is None else f", {_clock(state.seconds_left())} left"
    best += f" · {watch.tuning}"
    footer = f"{best} · {_spent(spend, state.budget)} · {_clock(state.spend.seconds)}{left}"
    return Group(table, Text(_by_role(watch), style="dim"), Text(footer, style="bold"))


def _spent(spend: Spend, budget: Budget) -> str:
    """Return tokens and dollars, against their limits where there are any."""
    cached = spend.cached_tokens / spend.prompt_tokens if spend.prompt_tokens else 0.0
    tokens = (
        f"{spend.tokens} tokens" if budget.tokens is None else f"{spend.tokens}/{budget.tokens} tokens"
    )
    usd = f"${spend.usd:.2f}" if budget.usd is None else f"${spend.usd:.2f} of ${budget.usd:.2f}"
    retries = f", {spend.retries} retries" if spend.retries else ""
    return f"{tokens} ({cached:.0%} cached), {usd}{retries}"


def _by_role(watch: "_Watch") -> str:
    """Return what each role has spent so far, in one line."""
    found = by_role(call for work in watch.works.values() for call in work.state.calls)
    return " · ".join(
        f"{role} {spend.calls} calls, {spend.tokens} tokens, ${spend.usd:.2f}, "
        f"{spend.model_seconds:.0f} s"
        for role, spend in found.items()
    )


def _warning(spend: Spend, budget: Budget, told: set[LimitReached]) -> Iterator[str]:
    """Yield a line when a half, and when four fifths of a limit are spent; each once."""
    spent = {"dollars": spend.usd, "tokens": spend.tokens}
    for reached in budget.reached(spend):
        if reached not in told:
            told.add(reached)
            yield f"budget: {reached} are spent ({spent[reached.unit]:.6g})"


def _campaign_line(record: Record[CampaignEvent]) -> str:
    match record.event:
        case CampaignOpened(spec=spec):
            return (
                f"campaign {spec.id}: {spec.agent} on {spec.competition}, model {spec.model}, "
                f"seed {spec.seed}"
            )
        case EnvironmentRead() | SplitMade() | CommunityRead() as ground:
            return _ground_line(ground)
        case ScriptProved(id=work_id, proof=proof, kind=kind, reason=reason):
            return f"script of {work_id} ({kind}): {proof}{f', {reason}' if reason else ''}"
        case WorkPlanned(id=work_id, work=work):
            return f"{work_id}: {_purpose(work)}"
        case WorkFinished(id=work_id, outcome=outcome):
            return f"{work_id}: {_ending(outcome)}"
        case (
            ErrorsCompared() | FoldsPlanned() | FoldFinished() | BlendJudged() | FinalPicked()
        ) as chosen:
            return _choice_line(chosen)
        case CampaignResumed():
            return "resumed"
        case CampaignEnded(detail=detail):
            return f"ended: {detail}"


def _tuning_lines(tuning: Tuning) -> list[str]:
    """Return how much the pick rests on, and what to be warned of."""
    return [
        f"{tuning} on {tuning.rows} validation rows",
        *(f"WARNING: {each}" for each in tuning.warnings),
    ]


def _choice_line(
    event: ErrorsCompared | FoldsPlanned | FoldFinished | BlendJudged | FinalPicked,
) -> str:
    match event:
        case ErrorsCompared():
            return f"errors in common: {event}"
        case FinalPicked(work_id=work_id, reason=reason, evidence=evidence):
            return f"final pick {work_id}: {reason}" + (f"\n  {evidence}" if evidence else "")
        case BlendJudged():
            return f"no blend: {event.reason}" if event.blend is None else f"blend: {event.blend}"
        case FoldFinished(fold=fold, continuing=continuing, dropped=dropped):
            more = "".join(f"; {line}" for line in dropped)
            return f"continue after fold {fold}: {', '.join(continuing)}{more}"
        case FoldsPlanned(folds=folds, reason=reason, left_out=left_out):
            more = "".join(f"; {line}" for line in (reason, *left_out) if line)
            if not event.runners:
                return f"no folds{more.replace(';', ':', 1)}"
            return f"{folds} folds for {', '.join(event.runners)}{more}"


def _ground_line(event: EnvironmentRead | SplitMade | CommunityRead) -> str:
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
            more = f"; {read.left_out} remarks on what was left out" if read.left_out else ""
            return (
                f"community {read.key}{moment}: {read.notebooks} notebooks, "
                f"{read.discussions} discussions, {read.datasets} datasets{more}"
            )


def _purpose(work: Think | Code) -> str:
    return work.purpose if isinstance(work, Think) else f"{work.operator}, {work.draft.title}"


def _ending(outcome: Outcome) -> str:
    if isinstance(outcome, CodeOutcome) and outcome.score is not None:
        return f"done, {outcome.score}"
    if outcome.failure is not None:
        return f"failed ({outcome.failure.kind}): {outcome.failure.message}"
    found = outcome.result.root.items() if isinstance(outcome, ThinkOutcome) else ()
    return ", ".join(
        ["done", *(f"{name}: {len(each)}" for name, each in found if isinstance(each, list) and each)]
    )


def _work_line(event: WorkEvent, state: AttemptState) -> str:
    match event:
        case SessionOpened(sandbox=sandbox, sealed=sealed, replayed_cells=cells, threads=threads):
            warning = "" if sealed else " (UNSEALED: the code can read the labels)"
            share = f", {threads} thread{'s' if threads > 1 else ''}" if threads else ""
            again = f", {cells} cells run again" if cells else ""
            return f"session in {sandbox}{warning}{share}{again}"
        case CellEnded(result=result) if result.status is CellStatus.STOPPED:
            return f"step {state.steps} stopped: {result.error}"
        case CellEnded(result=result) if result.error:
            return f"step {state.steps} failed: {one_line(error_line(result.error), _ERROR_SHOWN)}"
        case CellEnded(refused=refused, submitted=None) if refused:
            return f"step {state.steps} not scored: {refused}"
        case RequestFailed() | CallFailed() | MonitorHeard(reply=None) as failed:
            return _unanswered(failed)
        case Graded(report=report, out_of_fold=folds):
            beside = f"; out of fold: {_verdict(folds)}" if folds else ""
            return f"step {state.steps}: {_verdict(report)}{beside}"
        case _:
            return ""


def _unanswered(event: RequestFailed | CallFailed | MonitorHeard) -> str:
    match event:
        case RequestFailed(message=message):
            return f"{message}; it will be asked again"
        case CallFailed(message=message):
            return f"no reply: {message}"
        case MonitorHeard(failure=failure):
            return f"the monitor got no answer: {one_line(failure, _ERROR_SHOWN)}"


def _verdict(report: GradeReport) -> str:
    if report.score is not None:
        worst = ((parts.by, parts.worst[0]) for parts in report.parts)
        return ", ".join(
            [str(report.score), *(f"worst {by} {p.name}: {p.value:.3g}" for by, p in worst)]
        )
    return "of the right form" if report.valid else f"not scored: {report.message}"


def _doing(state: AttemptState) -> str:
    call, cell = state.open_call, state.cells.last
    if call is not None and call.cell is None:
        return "waiting for the endpoint" if call.failed_requests else f"asking {call.model}"
    if cell is None:
        return "waiting"
    if cell.ended is not None:
        return "reading the result"
    return cell.goal.splitlines()[0][:60] if cell.goal else "running a cell"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
