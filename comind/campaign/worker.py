"""Execute one piece of work to its outcome, resuming from its log."""

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from comind.baseline.recipe_programs import Program
from comind.campaign.agent import Agent
from comind.campaign.log.campaign_folders import CampaignFolder, WorkFolder
from comind.campaign.log.measurements import measurements
from comind.campaign.log.neighbour_logs import NeighbourLogs
from comind.campaign.log.outcome import (
    CellSummary,
    CodeOutcome,
    CodeResult,
    Execution,
    Failure,
    FailureCause,
    Outcome,
    ThinkOutcome,
    WorkStopped,
)
from comind.campaign.log.work import Code, Think
from comind.campaign.log.work_events import MONITOR_ROLE, WORK_EVENTS, CallAnswered, WorkEnded, WorkEvent
from comind.campaign.log.work_state import AttemptState, CellRun
from comind.campaign.script.cells import cells_of, only_defines, ran_part
from comind.campaign.script.derive import needed_parts
from comind.campaign.work.context import CodeContext, ThinkContext
from comind.campaign.work.endpoint import ModelEndpoint, interrupted_replies
from comind.campaign.work.hand_in import FilesHandedIn, HandIn
from comind.campaign.work.metering import BudgetLedger, Meter, MeteredEmbedder, MeteredModel
from comind.campaign.work.monitor import CellMonitor, MonitorSettings
from comind.campaign.work.ports import Models, Ports
from comind.campaign.work.recorder import RecordedModel, Recorder, ReplayDivergedError
from comind.domain.draft import Draft, Operator
from comind.domain.metric import Paired
from comind.domain.value import Payload
from comind.errors import ReplyError, ServiceError, SubmissionError
from comind.eventlog.log import EventLog, Record
from comind.grading.grader_port import Grader
from comind.llm.model_ports import ChatModel, Embedder
from comind.llm.rate_limiter import RateLimiter
from comind.session.output import error_line
from comind.session.session_ports import CellStatus, Session
from comind.system.disk import full_disk
from comind.system.failpoints import failpoint
from comind.system.redaction import redact, traceback_of

T = TypeVar("T")

_CLOSING_GOALS = {
    Operator.FOLD: ("Fit on the rows of a fold.", "Fit once more."),
    Operator.BLEND: ("Average the members' submissions.", "Average once more."),
    Operator.REFIT: ("Fit on all labelled rows.", "Fit once more."),
}
_MESSAGE_LENGTH = 200
# Texts of an outcome are truncated at the start, to so many characters.
_PROGRAM_KEPT, _OUTPUT_KEPT, _ERROR_KEPT = 60_000, 5_000, 2_000
_SUMMARIES_KEPT, _CELL_OUTPUT_KEPT = 60, 1_500

_log = logging.getLogger(__name__)
_RECIPE_SHARE = 0.7  # of the time left; the rest is for a simpler recipe


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The adapters that work is executed with."""

    model_of: Callable[[str], ChatModel]
    """Returns the model of a role."""
    ledger: BudgetLedger
    grader: Grader
    open_session: Callable[[Code, WorkFolder, Callable[[str], None]], Session]
    """Opens a session; calls the third argument with the reason while it has to wait for one."""
    monitor: MonitorSettings | None = None
    """For cells written by a model; None disables monitoring."""
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """Shared by all requests of the campaign."""
    seconds_left: Callable[[], float] = lambda: math.inf
    """Returns the seconds until the campaign's deadline."""
    baseline: Callable[[], Sequence[Program]] = tuple
    """Returns the programs of the baseline, best first."""
    embedder: Embedder | None = None
    """Ranks texts by embeddings; None for BM25."""
    hand_in: HandIn = field(default_factory=FilesHandedIn)
    """What cells hand in."""


def execute(agent: Agent, work: Think | Code, folder: WorkFolder, dependencies: Dependencies) -> Outcome:
    """Return the outcome of `work`: replay its log, then perform what is missing.

    Failed work (code that fails, malformed replies, an exceeded deadline) has an outcome with a failure.

    Raises:
        ServiceError: something the work needs is missing or refuses; the work stays in flight and can
            be resumed by another call.
        CampaignError: another process executes it, or the log has another version.
    """
    with EventLog(folder.log, WORK_EVENTS) as log:
        if log.records and isinstance(log.records[-1].event, WorkEnded):
            return log.records[-1].event.outcome
        how = "continues by its log" if log.records else "starts"
        _log.info("%s/%s: %s", folder.root.parent.name, folder.root.name, how)
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
        seconds_left=lambda: min(
            most + recorder.state.waited - recorder.elapsed, dependencies.seconds_left()
        ),
    )
    models = Models(
        RecordedModel(role, lambda each: MeteredModel(dependencies.model_of(each), meter), recorder),
        MeteredEmbedder(dependencies.embedder, meter) if dependencies.embedder else None,
    )
    if isinstance(work, Think):
        context = ThinkContext(recorder, models, work)
        result, failure = _guarded(lambda: _think(agent, work, context), Payload(), folder.root)
        spend = context.state.spend.model_copy(update={"seconds": round(log.elapsed, 3)})
        return ThinkOutcome(result=result, failure=failure, spend=spend)
    ports = _ports(work, folder, recorder, dependencies)
    if agent.serves_model and not work.is_platform_work:
        model, recorded = dependencies.model_of(work.role), interrupted_replies(log.records)
        served = ModelEndpoint(model, work.role, meter, recorder, folder.endpoint, recorded)
        ports = ports._replace(endpoint=served)
    context = CodeContext(work, folder, recorder, models, ports)
    try:
        finish, failure = _guarded(
            lambda: _code(agent, work, context, dependencies, log.records), CodeResult(), folder.root
        )
    finally:
        context.close()
    gain = _gain(work, context.state, folder, dependencies.grader)
    return _code_outcome(context, finish, failure, log.elapsed).model_copy(update={"gain": gain})


def _think(agent: Agent, work: Think, context: ThinkContext) -> Payload:
    """Return the agent's result, validated against its purpose's type."""
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
    if work.is_closing:
        return _run_closing(work, context)
    if work.is_attempt_0:
        return _run_baseline(dependencies.baseline(), context, records)
    return agent.code(work, context)


def _run_closing(work: Code, context: CodeContext) -> CodeResult:
    """Run the program of a fold run, a blend or a refit; retry once if its interpreter died.

    The program ran before, so its interpreter may have been killed from outside.
    """
    goal, retry = _CLOSING_GOALS[work.operator]
    step = context.step(goal, work.draft.codebase)
    if step.result.status is CellStatus.DIED and context.steps_left:
        step = context.step(retry, work.draft.codebase)
    reason = step.refused or step.result.error.strip().rpartition("\n")[2]
    return CodeResult(report=reason or work.draft.method)


def _run_baseline(
    programs: Sequence[Program], context: CodeContext, records: Iterable[Record[WorkEvent]]
) -> CodeResult:
    """Run the programs in order, best first, until one is scored after the first answer.

    Each but the last has a share of the time that is left, so that a simpler one can follow.
    Older versions logged their programs as replies of a model; a replay runs these first.
    """
    replies = [json.loads(r.event.reply.text) for r in records if isinstance(r.event, CallAnswered)]
    former = [Program(name="a former version", code=each["code"]) for each in replies if each["code"]]
    tried = [*former, *sorted(programs[len(former) :], key=lambda each: not each.first)]
    for program in tried:
        if context.steps_left < 1 + program.first:  # a first answer leaves a step for a better one
            continue
        seconds = math.inf if program is tried[-1] else _RECIPE_SHARE * context.seconds_left
        goal = f"Run the recipe for {program.name}."
        step = context.step(goal, program.code, seconds=seconds, scratch=program.first)
        if step.report is not None and step.report.score is not None and not program.first:
            return CodeResult(report=f"The baseline: the recipe for {program.name}.")
    if context.state.best is not None:
        return CodeResult(report="The baseline: its first answer, a constant; no recipe had a score.")
    return CodeResult(report="No recipe of the baseline had a score.")


def _ports(work: Code, folder: WorkFolder, recorder: Recorder, dependencies: Dependencies) -> Ports:
    """Return the ports of an attempt: with a monitor and neighbours only if a model writes its cells."""
    open_session, hand_in = partial(dependencies.open_session, work, folder), dependencies.hand_in
    if work.is_closing and isinstance(hand_in, FilesHandedIn):
        hand_in = replace(hand_in, sample=False)  # its models may have seen the validation labels
    ports = Ports(open_session, dependencies.grader, hand_in=hand_in)
    if not (work.is_closing or work.is_attempt_0):
        ports = ports._replace(evaluations=dependencies.ledger.evaluations)
    if work.is_platform_work:
        return ports
    if dependencies.monitor is not None:
        meter = Meter(dependencies.ledger, dependencies.limiter, seconds_left=dependencies.seconds_left)
        model = MeteredModel(dependencies.model_of(MONITOR_ROLE), meter)
        settings, keep = dependencies.monitor, recorder.keep
        monitor = partial(CellMonitor, model, recorder.note, settings, keep=keep)
        ports = ports._replace(monitor=monitor)
    neighbours = NeighbourLogs(CampaignFolder(folder.root.parent), folder.root.name)
    return ports._replace(neighbours=neighbours)


def _guarded(perform: Callable[[], T], nothing: T, folder: Path) -> tuple[T, Failure | None]:
    """Run the agent's part, and turn its errors into a failure of this work alone.

    Raises:
        ServiceError: something is missing or refuses, such as space on the disk of the work's `folder`.
    """
    try:
        return perform(), None
    except ServiceError:
        raise
    except WorkStopped as over:
        return nothing, Failure(cause=over.cause, message=str(over))
    except ReplyError as error:
        return nothing, Failure(cause=FailureCause.REPLY, message=str(error))
    except ReplayDivergedError as error:
        cause, message = FailureCause.REPLAY, str(error)
        return nothing, Failure(cause=cause, message=message, traceback=traceback_of(error))
    except Exception as error:  # noqa: BLE001 - see below
        if isinstance(error, OSError) and (full := full_disk(error, folder, "its files")):
            raise full from None
        # A bug in our code or an agent's must not end the campaign.
        _log.exception("%s/%s: failed inside CoMind", folder.parent.name, folder.name)
        cause, message = FailureCause.INTERNAL, redact(f"{type(error).__name__}: {error}")
        return nothing, Failure(cause=cause, message=message, traceback=traceback_of(error))


def _gain(work: Code, state: AttemptState, folder: WorkFolder, grader: Grader) -> Paired | None:
    """Return the paired difference of an attempt's result to its reference; None if either has none."""
    if work.reference is None or state.best_score is None or state.best is None:
        return None
    other = CampaignFolder(folder.root.parent).work(work.reference.attempt)
    pair = (
        folder.validation_submission(state.best.step),
        other.validation_submission(work.reference.step),
    )
    try:
        return grader.compare(*pair) if pair[1].is_file() else None
    except SubmissionError:
        return None


def _code_outcome(
    context: CodeContext, finish: CodeResult, failure: Failure | None, elapsed: float
) -> CodeOutcome:
    state = context.state
    cells = state.program_of(state.best_cell) if state.best_cell else []  # some may have failed
    ran = {cell.number: ran_part(cell.code, cell.result) for cell in cells if cell.result}
    on_sample = _needed_on_sample(state, cells)
    ran |= on_sample
    idle = {number for number, code in on_sample.items() if only_defines(code)}
    took = [cell.result.seconds for cell in cells if cell.result and cell.number not in idle]
    if cells and not ran[cells[-1].number].strip():
        ran[cells[-1].number] = cells[-1].code  # it submitted, at whatever line it failed
    out_of_fold = cells[-1].out_of_fold if cells else None
    return CodeOutcome(
        score=state.best_score,
        submitted=state.best,
        out_of_fold=out_of_fold.score if out_of_fold else None,
        code="\n\n".join(code for code in ran.values() if code.strip()),
        code_seconds=round(sum(took), 3),
        last=_last_execution(state),
        steps=state.steps,
        cells=_summaries(state, ran)[-_SUMMARIES_KEPT:],
        report=finish.report,
        title=finish.title,
        lesson=finish.lesson,
        result=finish.result,
        rejected=state.rejected,
        **_opening(context.work.draft, state),
        **measurements(context.work, state),
        failure=failure or (None if state.best else _why_nothing(context)),
        spend=state.spend.model_copy(update={"seconds": round(elapsed, 3)}),
    )


def _needed_on_sample(state: AttemptState, cells: Sequence[CellRun]) -> dict[int, str]:
    """Return what the best submission needs of the steps on the sample among its `cells`, by number."""
    best, found = state.best_cell, [cell for cell in cells if cell.sample is not None]
    parts = needed_parts(cells_of(state.cells, best.step)) if best is not None and found else {}
    return {cell.number: parts.get(cell.step, "") for cell in found}


def _summaries(state: AttemptState, ran: Mapping[int, str]) -> tuple[CellSummary, ...]:
    """Summarize the cells that a model wrote; `ran` is the best submission's code by cell number."""
    found, opening = [], {cell.number for cell in state.opening}
    for cell in state.cells:
        if cell.result is None or cell.number in opening:  # a killed cell ran again
            continue
        failed = cell.result.status is not CellStatus.OK
        error = cell.result.error.strip().rpartition("\n")[2][:_MESSAGE_LENGTH] if failed else ""
        score = str(cell.report.score) if cell.report and cell.report.score else ""
        score = cell.sample.shown if cell.sample else score
        rejected = f"rejected by {cell.rejected}" if cell.rejected else ""
        result = (
            ", ".join(filter(None, [score, rejected, error])) or f"ran in {cell.result.seconds:.0f} s"
        )
        output = cell.result.output[-_CELL_OUTPUT_KEPT:]
        code = ran.get(cell.number, "")
        values = {"goal": cell.goal, "result": result, "code": code, "output": output}
        found.append(CellSummary(step=cell.step, failed=failed, **values))
    return tuple(found)


def _opening(draft: Draft, state: AttemptState) -> dict[str, Any]:
    """Return an outcome's fields on the cells that the attempt opened with."""
    values: dict[str, Any] = {}
    if draft.notebook:
        scores = (cell.report.score for cell in state.opening if cell.report is not None)
        values["opening_score"] = next((score for score in scores if score is not None), None)
    if draft.preparation:
        ran = (cell.result for cell in state.opening if cell.code == draft.preparation)
        values["prepared"] = any(each is not None and each.status is CellStatus.OK for each in ran)
    return values


def _last_execution(state: AttemptState) -> Execution | None:
    """Return the last cell that ended, with those that its interpreter had run before."""
    ended = [(cell, cell.result) for cell in state.cells if cell.result is not None]
    if not ended:
        return None
    cell, result = ended[-1]
    program = "\n\n".join(each.code for each in state.program_of(cell))[-_PROGRAM_KEPT:]
    output, error = result.output[-_OUTPUT_KEPT:], result.error[-_ERROR_KEPT:]
    return Execution(program=program, output=output, error=error)


def _why_nothing(context: CodeContext) -> Failure:
    """Return the reason why an attempt has no score."""
    state = context.state
    if state.last_report is not None:
        return Failure(cause=FailureCause.NO_SUBMISSION, message=state.last_report.message)
    if state.last_error:
        return Failure(cause=FailureCause.CODE, message=error_line(state.last_error)[:_MESSAGE_LENGTH])
    message = f"{state.steps} steps and no {context.hand_in.wanted}"
    return Failure(cause=FailureCause.NO_SUBMISSION, message=message)
