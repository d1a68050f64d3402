"""Fold the events of one piece of work to its model calls, cells, submissions and spend.

Only here are the start and end events of calls and cells paired. Budget, traces, live view, lineage and
scripts read the result.
"""

import math
from dataclasses import dataclass, replace
from datetime import datetime

from comind.campaign.log.outcome import Outcome, SamplePredictions, Submitted
from comind.campaign.log.persistent_vector import PersistentVector
from comind.campaign.log.work_events import (
    MONITOR_ROLE,
    WORK_EVENTS,
    CallAnswered,
    CallFailed,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    MonitorAsked,
    MonitorHeard,
    MonitorVerdict,
    NodeLost,
    PictureShown,
    RequestFailed,
    SampleGraded,
    SessionAwaited,
    SessionOpened,
    SubmissionNames,
    WorkEnded,
    WorkEvent,
    submitted_program,
)
from comind.domain.metric import Paired, ValidationScore
from comind.domain.spend import Spend
from comind.eventlog.log import Record
from comind.eventlog.store import LogSchema
from comind.grading.grader_port import GradeReport
from comind.llm.model_ports import ModelReply, Usage
from comind.session.notebook import Cell
from comind.session.session_ports import CellStatus

_LOST = "no reply was recorded: the process ended while the call was in flight"


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A request of a call that failed and may have been retried."""

    at: datetime
    message: str
    spend: Spend


@dataclass(frozen=True, slots=True)
class Call:
    """One model call, with retries; open until it or its process ends."""

    number: int
    """Within its work, from 0."""
    role: str
    model: str
    fingerprint: str
    bound: Usage
    sent: datetime
    messages: tuple[str, ...] = ()
    """Ids of its messages; none in older logs."""
    ordinal: int | None = None
    """Of the effect; None for calls of a running cell's monitor and programs, which are no effects."""
    cell: int | None = None
    """Number of the running cell whose monitor or program calls."""
    failed_requests: PersistentVector[FailedRequest] = PersistentVector()  # noqa: RUF009 - frozen
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """Charged so far, failed requests included; `seconds` are not used."""
    ended: datetime | None = None
    reply: ModelReply | None = None
    verdict: MonitorVerdict | None = None
    """Of the monitor's model on the cell."""
    failure: str = ""
    """Why it failed, or why the monitor's verdict was rejected."""
    lost: bool = False
    """Whether the usage of its last request is unknown; charged at its bound."""

    @property
    def stopped_cell(self) -> bool:
        """Whether it is a question of the monitor whose verdict stopped the cell."""
        return self.verdict is not None and self.verdict.stop and not self.failure

    @property
    def last_request(self) -> datetime:
        """Start of the last request."""
        return self.failed_requests.last.at if self.failed_requests.last else self.sent

    @property
    def last_charge(self) -> Spend:
        """Charge for the last request."""
        if self.lost:
            return _charge(self.bound, calls=1, lost_calls=1)
        if self.reply is None:
            return Spend()
        seconds = self.reply.seconds
        return _charge(self.reply.usage, exact=self.reply.exact, calls=1, model_seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun(Cell):
    """One run of a cell; without a result it is running, or was interrupted."""

    number: int
    """Within its work, from 0; a step runs again if its process was killed."""
    ordinal: int
    step: int
    names: SubmissionNames | None
    """The files to submit, if not the default ones."""
    scratch: bool = False
    """Whether nothing later depends on it."""
    rejected: str = ""
    """By whom and why the agent rejected it."""
    started: datetime
    ended: datetime | None = None
    submitted: Submitted | None = None
    refused: str = ""
    """Why the named files were rejected."""
    report: GradeReport | None = None
    """The grader's report on its submissions."""
    out_of_fold: GradeReport | None = None
    """The grader's report on its out-of-fold predictions."""
    probabilities: GradeReport | None = None
    """The grader's report on the probabilities beside its labels."""
    gain: Paired | None = None
    """Paired difference to the attempt's previous leader; positive is better."""
    predictions: SamplePredictions | None = None
    sample: SampleGraded | None = None
    """Of a step on the sample: what it handed in in place of a pair, and how that was graded."""
    uses_sample: bool = False
    """Whether it handed in what depends on rows of the sample."""


@dataclass(frozen=True, slots=True)
class AttemptState:
    """State of one piece of work, folded from its log."""

    begun: datetime | None = None
    ended: datetime | None = None
    calls: PersistentVector[Call] = PersistentVector()  # noqa: RUF009 - frozen
    """In the order they were sent; only the last one can be open."""
    cells: PersistentVector[CellRun] = PersistentVector()  # noqa: RUF009 - frozen
    """In the order they were started; each may have been interrupted."""
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """Charged for calls; `seconds` are the work's own."""
    best_score: ValidationScore | None = None
    best: Submitted | None = None
    """The attempt's pick: a nominated step that ties with the leader, else the leader."""
    leader_score: ValidationScore | None = None
    leader: Submitted | None = None
    """The step with the best score."""
    nominated: bool = False
    """Whether `best` was nominated."""
    rejected: str = ""
    """By whom and why `best` was rejected, as every scored step was; empty if it was not."""
    sealed: bool | None = None
    threads: int = 0
    sessions: int = 0
    """Number of sessions that were opened or lost with their node."""
    evaluations_over: bool = False
    """Whether a grading of its own was the last one that the campaign's limit allowed."""
    waited: float = 0.0
    """Seconds that were waited for the first session; the attempt's time does not count them."""
    outcome: Outcome | None = None

    def leads(self, score: ValidationScore, rejected: str) -> bool:
        """Return whether a step leads with this score; a rejected one leads others of its kind only."""
        if self.leader_score is None or (self.rejected and not rejected):
            return True
        if rejected and not self.rejected:
            return False
        return score.value.better_than(self.leader_score.value)

    @property
    def open_call(self) -> Call | None:
        """The call in flight, now or when the process was killed."""
        call = self.calls.last
        return call if call is not None and call.ended is None else None

    @property
    def open_cell(self) -> CellRun | None:
        """The cell that is running, or was interrupted."""
        cell = self.cells.last
        return cell if cell is not None and cell.ended is None else None

    @property
    def best_cell(self) -> CellRun | None:
        """The cell with the best submission."""
        found = [cell for cell in self.cells if self.best and cell.submitted == self.best]
        return found[-1] if found else None

    @property
    def owed(self) -> Spend:
        """The spend, with the open call at its bound."""
        call = self.open_call
        return self.spend if call is None else self.spend + replace(call, lost=True).last_charge

    @property
    def steps(self) -> int:
        """Number of the step started last."""
        return self.cells.last.step if self.cells.last else 0

    def replayable(self, before: int | None = None) -> list[CellRun]:
        """Return the cells to run in a new interpreter to restore the session's state, oldest first.

        Stopped cells, scratch cells, and cells from the number `before` on are left out.
        """
        found: list[CellRun] = []
        for cell in self.cells:
            if cell.result is None or (before is not None and cell.number >= before):
                continue
            if cell.result.status in (CellStatus.OK, CellStatus.ERROR) and not cell.scratch:
                found.append(cell)
            if cell.result.state_lost:
                found = []
        return found

    def program_of(self, cell: CellRun) -> list[CellRun]:
        """Return a cell after those that its interpreter had run before; if it is a program, alone."""
        alone = submitted_program(cell.names, cell.code) is not None
        return [*([] if alone else self.replayable(cell.number)), cell]

    @property
    def opening(self) -> list[CellRun]:
        """The cells that ended before the first model call of the agent, or of a cell's program."""
        of_cells = {cell.number: cell.ordinal for cell in self.cells}
        called = (call for call in self.calls if call.role != MONITOR_ROLE)
        places = (
            of_cells.get(c.cell) if c.ordinal is None and c.cell is not None else c.ordinal
            for c in called
        )
        asked = next((place for place in places if place is not None), math.inf)
        return [cell for cell in self.cells if cell.ordinal < asked and cell.result is not None]

    @property
    def last_error(self) -> str:
        """Traceback of the last cell that ended, if it failed."""
        results = [cell.result for cell in self.cells if cell.result is not None]
        return results[-1].error if results and results[-1].status is not CellStatus.OK else ""

    @property
    def last_report(self) -> GradeReport | None:
        """The grader's last report."""
        reports = [cell.report for cell in self.cells if cell.report is not None]
        return reports[-1] if reports else None


def _apply(state: AttemptState, record: Record[WorkEvent]) -> AttemptState:
    """Return the state after one more record; an end without a start is ignored."""
    spend = state.spend.model_copy(update={"seconds": record.elapsed})
    state = replace(state, spend=spend, begun=state.begun or record.at)
    match record.event:
        case CallSent() | MonitorAsked() as sent:
            return _sent(state, sent, record.at)
        case RequestFailed() | CallAnswered() | CallFailed() | MonitorHeard() as heard:
            return _heard(state, heard, record.at)
        case CellStarted() as started:
            return _started(state, started, record.at)
        case CellEnded() as ended:
            return _ended(state, ended, record.at)
        case Graded() | SampleGraded() as graded:
            return _graded(state, graded)
        case SessionOpened() | NodeLost() as session:
            return _session(state, session)
        case SessionAwaited() | PictureShown():
            return state
        case WorkEnded(outcome=outcome):
            return replace(_close_lost(state), outcome=outcome, ended=record.at)


WORK_LOG = LogSchema(WORK_EVENTS, AttemptState(), _apply)
"""Log of one piece of work; any prefix of it folds to a state."""


def _session(state: AttemptState, session: SessionOpened | NodeLost) -> AttemptState:
    if isinstance(session, SessionOpened):
        sealed, waited = session.sealed and state.sealed is not False, state.waited + session.waited
        state = replace(state, sealed=sealed, threads=session.threads, waited=waited)
    return replace(state, sessions=state.sessions + 1)


def _sent(state: AttemptState, sent: CallSent | MonitorAsked, at: datetime) -> AttemptState:
    state, cell = _close_lost(state), state.open_cell
    role, ordinal = (sent.role, sent.ordinal) if isinstance(sent, CallSent) else (MONITOR_ROLE, None)
    call = Call(
        number=len(state.calls),
        ordinal=ordinal,
        cell=cell.number if cell is not None and ordinal is None else None,
        role=role,
        model=sent.model,
        fingerprint=sent.fingerprint,
        bound=sent.bound,
        sent=at,
        messages=sent.messages,
    )
    return replace(state, calls=state.calls.put(call.number, call))


def _heard(
    state: AttemptState, heard: RequestFailed | CallAnswered | CallFailed | MonitorHeard, at: datetime
) -> AttemptState:
    if (call := state.open_call) is None:
        return state
    if isinstance(heard, RequestFailed):
        failed = FailedRequest(at, heard.message, _charge(heard.booked, retries=1))
        call = replace(call, failed_requests=call.failed_requests.put(len(call.failed_requests), failed))
        return _with_charge(state, call, failed.spend)
    match heard:
        case CallAnswered(reply=reply):
            call = replace(call, ended=at, reply=reply)
        case CallFailed(message=message):
            call = replace(call, ended=at, failure=message)
        case MonitorHeard(reply=reply, verdict=verdict, failure=failure, lost=lost):
            call = replace(call, ended=at, reply=reply, verdict=verdict, failure=failure, lost=lost)
    return _with_charge(state, call, call.last_charge)


def _close_lost(state: AttemptState) -> AttemptState:
    """Close a call that was in flight when the process was killed, at its bound."""
    if (call := state.open_call) is None:
        return state
    call = replace(call, ended=call.last_request, failure=_LOST, lost=True)
    return _with_charge(state, call, call.last_charge)


def _with_charge(state: AttemptState, call: Call, spend: Spend) -> AttemptState:
    """Replace the last call, and charge `spend` to it and to the work."""
    call = replace(call, spend=call.spend + spend)
    return replace(state, calls=state.calls.put(call.number, call), spend=state.spend + spend)


def _charge(usage: Usage, *, exact: bool = False, **counts: float) -> Spend:
    """Return the spend for one request; usage that is not `exact` is also counted as a bound."""
    bound = {} if exact else {"bound_tokens": usage.tokens, "bound_usd": usage.usd}
    return Spend.model_validate({**usage.model_dump(), **bound, **counts})


def _started(state: AttemptState, started: CellStarted, at: datetime) -> AttemptState:
    state = _close_lost(state)  # such as a monitor's call about this cell, which is started again
    cell = CellRun(
        number=len(state.cells),
        ordinal=started.ordinal,
        step=started.step,
        goal=started.goal,
        code=started.code,
        names=started.submission,
        scratch=started.scratch,
        rejected=started.rejected,
        started=at,
    )
    return replace(state, cells=state.cells.put(cell.number, cell))


def _ended(state: AttemptState, ended: CellEnded, at: datetime) -> AttemptState:
    if (cell := state.open_cell) is None:
        return state
    taken = {name: getattr(ended, name) for name in ("result", "submitted", "refused", "uses_sample")}
    cell = replace(cell, ended=at, predictions=ended.sample, **taken)
    return replace(state, cells=state.cells.put(cell.number, cell))


def _graded(state: AttemptState, graded: Graded | SampleGraded) -> AttemptState:
    if graded.evaluation is not None:
        over, spend = graded.evaluation == graded.evaluations, state.spend + Spend(evaluations=1)
        state = replace(state, spend=spend, evaluations_over=over)
    cell, rejected = state.cells.last, ""
    if isinstance(graded, SampleGraded):
        if cell is not None and cell.predictions == graded.predictions:
            state = replace(state, cells=state.cells.put(cell.number, replace(cell, sample=graded)))
        return state
    if cell is not None and cell.submitted == graded.submitted:
        rejected, cell = cell.rejected, replace(cell, report=graded.report, gain=graded.gain)
        cell = replace(cell, out_of_fold=graded.out_of_fold, probabilities=graded.probabilities)
        state = replace(state, cells=state.cells.put(cell.number, cell))
    score = graded.report.score
    if score is None:  # only the format of a refit is checked
        return replace(state, best=graded.submitted) if graded.report.valid else state
    leads = state.leads(score, rejected)
    if not leads and rejected and not state.rejected:
        return state
    if leads:
        first = state.rejected and not rejected  # it replaces a nominated step, too
        nominated = state.nominated and not first
        state = replace(state, leader_score=score, leader=graded.submitted, nominated=nominated)
    if graded.submitted.nominated:
        chosen = leads or (graded.gain is not None and graded.gain.tie)
    else:
        near = graded.nominee is not None and graded.nominee.tie
        chosen = leads and not (state.nominated and near)
    if not chosen:
        return state
    pick = graded.submitted
    return replace(state, best_score=score, best=pick, nominated=pick.nominated, rejected=rejected)
