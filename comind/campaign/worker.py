"""Carry out one piece of work, from wherever its log stands, to its outcome."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from comind.baseline.recipe_programs import Program
from comind.campaign.agent import Agent
from comind.campaign.attempt import WORK_EVENTS, WorkEnded, WorkEvent
from comind.campaign.baseline import run_programs
from comind.campaign.blend import BLEND_ROLE, average_members
from comind.campaign.budget import BudgetLedger, Meter, MeteredEmbedder, MeteredModel
from comind.campaign.context import CodeContext, Models, Neighbours, Ports, ThinkContext
from comind.campaign.folder import CampaignFolder, WorkFolder
from comind.campaign.folds import FOLD_ROLE, run_on_fold
from comind.campaign.history import AttemptState, CellRun
from comind.campaign.monitor import MONITOR_ROLE, CellMonitor, Monitor, MonitorSettings
from comind.campaign.neighbours import NeighbourLogs
from comind.campaign.outcome import (
    CellSummary,
    CodeOutcome,
    CodeResult,
    Execution,
    Failure,
    FailureKind,
    Outcome,
    ThinkOutcome,
)
from comind.campaign.plan import BASELINE_ROLE, Code, Think
from comind.campaign.recorder import RecordedModel, Recorder, ReplayDivergedError
from comind.campaign.refit import REFIT_ROLE, refit
from comind.campaign.script.cells import ran_part
from comind.campaign.signals import WorkStopped
from comind.domain.draft import Draft, Operator
from comind.domain.payload import Payload
from comind.errors import DiskError, ReplyError, ServiceError
from comind.evaluation.grader_port import Grader
from comind.eventlog.log import EventLog, Record
from comind.llm.base import ChatModel, Embedder
from comind.llm.rate_limiter import RateLimiter
from comind.session.base import CellStatus, Session
from comind.session.complaint import error_line
from comind.system.failpoints import failpoint
from comind.system.files import DISK_FULL, ROOM

__all__ = ["Dependencies", "execute"]

T = TypeVar("T")

_PLATFORM_ROLES = (BASELINE_ROLE, BLEND_ROLE, FOLD_ROLE, REFIT_ROLE)  # no model is asked
_MESSAGE_LENGTH = 200
# Of what an outcome keeps, in characters; the ends are kept.
_PROGRAM_KEPT, _OUTPUT_KEPT, _ERROR_KEPT = 60_000, 5_000, 2_000
_SUMMARIES_KEPT, _CELL_OUTPUT_KEPT = 60, 1_500

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The ports that work is carried out with."""

    model_of: Callable[[str], ChatModel]
    """Which model a role asks."""
    ledger: BudgetLedger
    grader: Grader
    open_session: Callable[[Code, WorkFolder], Session]
    monitor: MonitorSettings | None = None
    """How cells are watched that a model wrote; None for not at all."""
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """What all calls of the campaign pass."""
    seconds_left: Callable[[], float] = lambda: math.inf
    """How long the campaign may still run."""
    baseline: Callable[[], Sequence[Program]] = tuple
    """The programs of the baseline, the best first."""
    embedder: Embedder | None = None
    """Embeds texts that agents have ranked; None for BM25."""


def execute(agent: Agent, work: Think | Code, folder: WorkFolder, dependencies: Dependencies) -> Outcome:
    """Return the outcome of `work`, doing whatever its log does not yet hold.

    Work that is bad (code that fails, replies without form, time over) has an outcome that says so.

    Raises:
        ServiceError: something the work needs is missing or refuses; the work stays in flight and
            goes on from its log when it is carried out again.
        CampaignError: someone else carries it out, or the log is of another version.
    """
    with EventLog(folder.log, WORK_EVENTS) as log:
        if log.records and isinstance(log.records[-1].event, WorkEnded):
            return log.records[-1].event.outcome
        outcome = _perform(agent, work, folder, dependencies, log)
        log.append(WorkEnded(outcome=outcome))
    failpoint("attempt-ended")
    return outcome


def _perform(
    agent: Agent,
    work: Think | Code,
    folder: WorkFolder,
    dependencies: Dependencies,
    log: EventLog[WorkEvent],
) -> Outcome:
    recorder = Recorder(log)
    most = work.budget.seconds if isinstance(work, Code) else math.inf
    role = agent.role_of(work) if isinstance(work, Think) else work.role
    meter = Meter(
        dependencies.ledger,
        dependencies.limiter,
        note=recorder.note,
        seconds_left=lambda: min(most - recorder.elapsed, dependencies.seconds_left()),
    )
    models = Models(
        RecordedModel(role, lambda each: MeteredModel(dependencies.model_of(each), meter), recorder),
        MeteredEmbedder(dependencies.embedder, meter) if dependencies.embedder else None,
    )
    if isinstance(work, Think):
        context = ThinkContext(recorder, models, work.resources)
        result, failure = _guarded(lambda: _thought(agent, work, context), Payload())
        spend = context.state.spend.model_copy(update={"seconds": round(log.elapsed, 3)})
        return ThinkOutcome(result=result, failure=failure, spend=spend)
    context = CodeContext(
        work,
        folder,
        recorder,
        models,
        Ports(
            lambda: dependencies.open_session(work, folder),
            dependencies.grader,
            _monitor(work, recorder, dependencies),
            _neighbours(work, folder),
        ),
    )
    try:
        finish, failure = _guarded(
            lambda: _code(agent, work, context, dependencies, log.records), CodeResult()
        )
    finally:
        context.close()
    return _code_outcome(context, finish, failure, log.elapsed)


def _thought(agent: Agent, work: Think, context: ThinkContext) -> Payload:
    """Return what the agent found, once it is known to be of its purpose's type."""
    found = Payload.of(agent.think(work, context))
    for purpose in agent.purposes:
        if purpose.name == work.purpose:
            purpose.result_of(found)
    return found


def _code(
    agent: Agent,
    work: Code,
    context: CodeContext,
    dependencies: Dependencies,
    records: Sequence[Record[WorkEvent]],
) -> CodeResult:
    if work.operator is Operator.REFIT:
        return refit(work, context)
    if work.operator is Operator.FOLD:
        return run_on_fold(work, context)
    if work.operator is Operator.BLEND:
        return average_members(work, context)
    if work.role == BASELINE_ROLE and not work.draft.codebase:  # attempt 0
        return run_programs(dependencies.baseline(), context, records)
    return agent.code(work, context)


def _monitor(work: Code, recorder: Recorder, dependencies: Dependencies) -> Monitor | None:
    """Return who watches the cells; our own code needs nobody."""
    if dependencies.monitor is None or work.role in _PLATFORM_ROLES:
        return None
    meter = Meter(dependencies.ledger, dependencies.limiter, seconds_left=dependencies.seconds_left)
    model = MeteredModel(dependencies.model_of(MONITOR_ROLE), meter)
    return partial(CellMonitor, model, recorder.note, dependencies.monitor)


def _neighbours(work: Code, folder: WorkFolder) -> Neighbours:
    """Return who tells of other attempts; our own code asks nobody."""
    if work.role in _PLATFORM_ROLES:
        return tuple
    return NeighbourLogs(CampaignFolder(folder.root.parent), folder.root.name)


def _guarded(perform: Callable[[], T], nothing: T) -> tuple[T, Failure | None]:
    """Run the agent's part; what goes wrong in it is a failure of this work alone."""
    try:
        return perform(), None
    except ServiceError:
        raise
    except WorkStopped as over:
        return nothing, Failure(kind=over.kind, message=str(over))
    except ReplyError as error:
        return nothing, Failure(kind=FailureKind.REPLY, message=str(error))
    except ReplayDivergedError as error:
        return nothing, Failure(kind=FailureKind.REPLAY, message=str(error))
    except OSError as error:
        if error.errno not in DISK_FULL:
            return nothing, _internal(error)
        raise DiskError(f"{error.filename or 'the disk'}: {error.strerror}", hint=ROOM) from None
    except Exception as error:  # noqa: BLE001 - see below
        # One attempt must not end the campaign, whatever is wrong with our own code.
        return nothing, _internal(error)


def _internal(error: Exception) -> Failure:
    _log.exception("work failed inside CoMind")
    return Failure(kind=FailureKind.INTERNAL, message=f"{type(error).__name__}: {error}")


def _code_outcome(
    context: CodeContext, finish: CodeResult, failure: Failure | None, elapsed: float
) -> CodeOutcome:
    state = context.state
    cells = _led_to_best(state)
    ran = {cell.number: ran_part(cell.code, cell.result) for cell in cells if cell.result}
    if cells and not ran[cells[-1].number].strip():
        ran[cells[-1].number] = cells[-1].code  # it handed in, at whatever line it failed
    out_of_fold = cells[-1].out_of_fold if cells else None
    return CodeOutcome(
        score=state.best_score,
        submitted=state.best,
        out_of_fold=out_of_fold.score if out_of_fold else None,
        code="\n\n".join(code for code in ran.values() if code.strip()),
        code_seconds=round(sum(cell.result.seconds for cell in cells if cell.result), 3),
        last=_last_execution(state),
        steps=state.steps,
        cells=_summaries(state, ran)[-_SUMMARIES_KEPT:],
        report=finish.report,
        title=finish.title,
        **_opening(context.work.draft, state),
        failure=failure or (None if state.best else _why_nothing(context)),
        spend=state.spend.model_copy(update={"seconds": round(elapsed, 3)}),
    )


def _summaries(state: AttemptState, ran: Mapping[int, str]) -> tuple[CellSummary, ...]:
    """Return a model's cells that ended; `ran` is the code of the best submission, by cell number."""
    found, opening = [], {cell.number for cell in state.opening}
    for cell in state.cells:
        if cell.result is None or cell.number in opening:  # a killed cell ran again
            continue
        failed = cell.result.status is not CellStatus.OK
        error = cell.result.error.strip().rpartition("\n")[2][:_MESSAGE_LENGTH] if failed else ""
        score = str(cell.report.score) if cell.report and cell.report.score else ""
        result = ", ".join(filter(None, [score, error])) or f"ran in {cell.result.seconds:.0f} s"
        output = cell.result.output[-_CELL_OUTPUT_KEPT:]
        code = ran.get(cell.number, "")
        found.append(
            CellSummary(step=cell.step, goal=cell.goal, result=result, code=code, output=output)
        )
    return tuple(found)


def _opening(draft: Draft, state: AttemptState) -> dict[str, Any]:
    """Return an outcome's values about what an attempt began with."""
    values: dict[str, Any] = {}
    if draft.notebook:
        scores = (cell.report.score for cell in state.opening if cell.report is not None)
        values["opening_score"] = next((score for score in scores if score is not None), None)
    if draft.preparation:
        ran = (cell.result for cell in state.opening if cell.code == draft.preparation)
        values["prepared"] = any(each is not None and each.status is CellStatus.OK for each in ran)
    return values


def _led_to_best(state: AttemptState) -> list[CellRun]:
    """Return the cells that the best submission came from; some may have failed at some line."""
    best = state.best_cell
    return [*state.replayable(best.number), best] if best is not None else []


def _last_execution(state: AttemptState) -> Execution | None:
    """Return what ran last, with the cells that its interpreter had run before."""
    ended = [cell for cell in state.cells if cell.result is not None]
    if not ended or ended[-1].result is None:
        return None
    program = [cell.code for cell in (*state.replayable(ended[-1].number), ended[-1])]
    return Execution(
        program="\n\n".join(program)[-_PROGRAM_KEPT:],
        output=ended[-1].result.output[-_OUTPUT_KEPT:],
        error=ended[-1].result.error[-_ERROR_KEPT:],
    )


def _why_nothing(context: CodeContext) -> Failure:
    """Name what kept an attempt from a score."""
    state = context.state
    if state.last_report is not None:
        return Failure(kind=FailureKind.NO_SUBMISSION, message=state.last_report.message)
    if state.last_error:
        return Failure(kind=FailureKind.CODE, message=error_line(state.last_error)[:_MESSAGE_LENGTH])
    return Failure(
        kind=FailureKind.NO_SUBMISSION, message=f"{state.steps} steps and no pair of submissions"
    )
