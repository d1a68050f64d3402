"""Describe events of a campaign and of its work, for the terminal and the program's log."""

from rich.filesize import decimal

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
from comind.campaign.log.outcome import CodeOutcome, Outcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_events import (
    CallFailed,
    CellEnded,
    Graded,
    MonitorHeard,
    NodeLost,
    RequestFailed,
    SampleGraded,
    SessionAwaited,
    SessionOpened,
    WorkEvent,
)
from comind.campaign.log.work_state import AttemptState
from comind.domain.value import one_line
from comind.grading.grader_port import GradeReport
from comind.session.output import error_line
from comind.session.session_ports import CellStatus
from comind.system.plurals import quantity

_ERROR_SHOWN = 160  # characters


def campaign_line(event: CampaignEvent) -> str:
    """Return an event of a campaign in a line, or in some."""
    match event:
        case CampaignOpened(spec=spec):
            return (
                f"campaign {spec.id}: {spec.agent} on {spec.competition}, model {spec.model}, "
                f"seed {spec.seed}"
            )
        case EnvironmentRead() | SplitMade() | CommunityRead() as inputs:
            return _inputs_line(inputs)
        case ScriptProved(id=work_id, proof=proof, origin=origin, reason=reason):
            return f"script of {work_id} ({origin}): {proof}{f', {reason}' if reason else ''}"
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
            more = f"; {read.further} further items to sample from" if read.further else ""
            more += f"; {read.left_out} notes on dropped items" if read.left_out else ""
            return (
                f"community {read.key}{moment}: {read.notebooks} notebooks, "
                f"{read.discussions} discussions, {read.datasets} datasets{more}"
            )


def _purpose(work: Think | Code) -> str:
    return work.purpose if isinstance(work, Think) else f"{work.operator}, {work.draft.title}"


def work_line(event: WorkEvent, state: AttemptState) -> str:
    """Return an event of a piece of work in a line, given its state afterwards; empty for most."""
    match event:
        case SessionAwaited() | SessionOpened() | NodeLost() as session:
            return _session_line(session)
        case CellEnded(result=result) if result.status is CellStatus.STOPPED:
            return f"step {state.steps} stopped: {result.error}"
        case CellEnded(result=result) if result.error:
            return f"step {state.steps} failed: {one_line(error_line(result.error), _ERROR_SHOWN)}"
        case CellEnded(refused=refused, submitted=None) if refused:
            return f"step {state.steps} not scored: {refused}"
        case SampleGraded(report=report):
            return f"step {state.steps}, on the sample: {_verdict(report)}"
        case RequestFailed() | CallFailed() | MonitorHeard(reply=None) as failed:
            return _failed_call(failed)
        case Graded(report=report, out_of_fold=folds, probabilities=beside):
            more = f"; out of fold: {_verdict(folds)}" if folds else ""
            more += f"; probabilities: {beside.message}" if beside and not beside.valid else ""
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


def outcome_text(outcome: Outcome) -> str:
    """Return how work ended, in one line."""
    if isinstance(outcome, CodeOutcome) and outcome.score is not None:
        return f"done, {outcome.score}" + (
            f", rejected by {outcome.rejected}" if outcome.rejected else ""
        )
    if outcome.failure is not None:
        return f"failed ({outcome.failure.cause}): {outcome.failure.message}"
    counts = outcome.counts() if isinstance(outcome, ThinkOutcome) else ""
    return f"done, {counts}" if counts else "done"
