"""What the events of one piece of work amount to: its model calls, its cells, and what it spent.

This is the one place where the beginning and the end of a call or a cell are paired. Budget, ledger,
traces, live view, lineage and scripts read the calls and cells that are found here.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import Generic, TypeVar

from immutables import Map

from comind.campaign.attempt import (
    CallAnswered,
    CallFailed,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    MonitorAsked,
    MonitorHeard,
    MonitorVerdict,
    RequestFailed,
    SessionOpened,
    SubmissionNames,
    WorkEnded,
    WorkEvent,
)
from comind.campaign.monitor import MONITOR_ROLE
from comind.campaign.outcome import Outcome, Submitted
from comind.domain.metric import Paired, ValidationScore
from comind.domain.spend import Spend
from comind.evaluation.grader_port import GradeReport
from comind.eventlog.log import Record
from comind.llm.base import ModelReply, Usage
from comind.session.base import CellStatus
from comind.session.notebook import Cell

__all__ = ["AttemptState", "Call", "CellRun", "FailedRequest", "Row", "apply", "fold"]

T = TypeVar("T")

_LOST = "no reply was recorded: the process ended while the call was under way"


@dataclass(frozen=True, slots=True)
class Row(Generic[T]):
    """Values in order; a change returns a new row that shares the rest, whatever its length."""

    _values: Map[int, T] = Map()  # noqa: RUF009 - immutable, safe to share

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[T]:
        return (self._values[number] for number in range(len(self)))

    @property
    def last(self) -> T | None:
        """The last value, if there is one."""
        return self._values.get(len(self) - 1)

    def put(self, number: int, value: T) -> "Row[T]":
        """Return the row with `value` at `number`: instead of another one, or after the last."""
        return Row(self._values.set(number, value))


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A try that the endpoint did not answer, while its call went on."""

    at: datetime
    message: str
    spend: Spend


@dataclass(frozen=True, slots=True)
class Call:
    """One model call; open until its end, or the end of its process, is known."""

    number: int
    """Within its work, from 0."""
    role: str
    model: str
    fingerprint: str
    bound: Usage
    sent: datetime
    ordinal: int | None = None
    """Number of the effect; the monitor's questions are none and have no number."""
    cell: int | None = None
    """Number of the running cell that the monitor asked about."""
    failed_requests: Row[FailedRequest] = Row()
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """What is booked for it so far, failed tries included; `seconds` are not used."""
    ended: datetime | None = None
    reply: ModelReply | None = None
    verdict: MonitorVerdict | None = None
    """What the monitor's model said of the cell."""
    failure: str = ""
    """Why it came to nothing, or why the monitor's verdict did not count."""
    lost: bool = False
    """Whether nobody knows what its last try took; booked at its bound."""

    @property
    def last_request(self) -> datetime:
        """When the last try began."""
        return self.failed_requests.last.at if self.failed_requests.last else self.sent

    @property
    def took(self) -> Spend:
        """What the last try is booked at."""
        if self.lost:
            return _booked(self.bound, calls=1, lost_calls=1)
        if self.reply is None:
            return Spend()
        seconds = self.reply.seconds
        return _booked(self.reply.usage, exact=self.reply.exact, calls=1, model_seconds=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun(Cell):
    """One run of a cell; without a result it is running, or was cut off."""

    number: int
    """Within its work, from 0; a step has more than one run where its process was killed."""
    ordinal: int
    step: int
    names: SubmissionNames | None
    """The files that it was to hand in, where they were named."""
    scratch: bool = False
    """Whether nothing that follows needs it."""
    started: datetime
    ended: datetime | None = None
    submitted: Submitted | None = None
    refused: str = ""
    """Why the files that were named could not be taken in."""
    report: GradeReport | None = None
    """The grader's verdict on what it handed in."""
    out_of_fold: GradeReport | None = None
    """The grader's verdict on its predictions for rows of train.csv."""
    gain: Paired | None = None
    """How much better it is than the attempt's leader before it, on the same rows."""


@dataclass(frozen=True, slots=True)
class AttemptState:
    """What the events of one piece of work amount to."""

    begun: datetime | None = None
    ended: datetime | None = None
    calls: Row[Call] = Row()
    """All model calls in the order they were sent; only the last one can be open."""
    cells: Row[CellRun] = Row()
    """All runs of cells in the order they were started; each may have been cut off."""
    spend: Spend = Spend()  # noqa: RUF009 - frozen, safe to share
    """What is booked for the calls; `seconds` are the work's own."""
    best_score: ValidationScore | None = None
    best: Submitted | None = None
    """The attempt's pick: the step with the best score, else a nominated one that ties with it."""
    leader_score: ValidationScore | None = None
    leader: Submitted | None = None
    """The step with the best score, whatever was nominated."""
    nominated: bool = False
    """Whether `best` was nominated."""
    sealed: bool | None = None
    threads: int = 0
    outcome: Outcome | None = None

    @property
    def open_call(self) -> Call | None:
        """The call that is under way, or was when its process was killed."""
        call = self.calls.last
        return call if call is not None and call.ended is None else None

    @property
    def open_cell(self) -> CellRun | None:
        """The cell that is running, or was cut off."""
        cell = self.cells.last
        return cell if cell is not None and cell.ended is None else None

    @property
    def best_cell(self) -> CellRun | None:
        """The cell that handed in the best submission."""
        found = [cell for cell in self.cells if self.best and cell.submitted == self.best]
        return found[-1] if found else None

    @property
    def owed(self) -> Spend:
        """The spend with the bound of the open call."""
        call = self.open_call
        return self.spend if call is None else self.spend + replace(call, lost=True).took

    @property
    def steps(self) -> int:
        """The step whose cell was started last."""
        return self.cells.last.step if self.cells.last else 0

    def replayable(self, before: int | None = None) -> list[CellRun]:
        """Return the cells that bring a fresh interpreter to where one was, oldest first.

        A cell that had to be stopped would have to be stopped again, so it is left out, as are those
        that are scratch, and those from the number `before` on.
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

    @property
    def opening(self) -> list[CellRun]:
        """The cells that ran to an end before a model was asked what to do."""
        asked = next((call.ordinal for call in self.calls if call.ordinal is not None), math.inf)
        return [cell for cell in self.cells if cell.ordinal < asked and cell.result is not None]

    @property
    def last_error(self) -> str:
        """Traceback of the last cell that ended, when that cell failed."""
        results = [cell.result for cell in self.cells if cell.result is not None]
        return results[-1].error if results and results[-1].status is not CellStatus.OK else ""

    @property
    def last_report(self) -> GradeReport | None:
        """The grader's last verdict."""
        reports = [cell.report for cell in self.cells if cell.report is not None]
        return reports[-1] if reports else None


def fold(records: Iterable[Record[WorkEvent]], state: AttemptState | None = None) -> AttemptState:
    """Return the state after `records`, which go on from `state`; any prefix of a work's log has one."""
    return reduce(apply, records, state or AttemptState())


def apply(state: AttemptState, record: Record[WorkEvent]) -> AttemptState:
    """Return the state after one more record; the end of what has not begun changes nothing."""
    spend = state.spend.model_copy(update={"seconds": record.elapsed})
    state = replace(state, spend=spend, begun=state.begun or record.at)
    match record.event:
        case CallSent(role=role, ordinal=ordinal) as sent:
            return _sent(state, sent, record.at, role=role, ordinal=ordinal)
        case MonitorAsked() as asked:
            cell = state.open_cell
            number = cell.number if cell is not None else None
            return _sent(state, asked, record.at, role=MONITOR_ROLE, cell=number)
        case RequestFailed() | CallAnswered() | CallFailed() | MonitorHeard() as heard:
            return _heard(state, heard, record.at)
        case CellStarted() as started:
            return _started(state, started, record.at)
        case CellEnded() as ended:
            return _ended(state, ended, record.at)
        case Graded() as graded:
            return _graded(state, graded)
        case SessionOpened(sealed=sealed, threads=threads):
            return replace(state, sealed=sealed and state.sealed is not False, threads=threads)
        case WorkEnded(outcome=outcome):
            return replace(_lose(state), outcome=outcome, ended=record.at)


def _sent(
    state: AttemptState,
    sent: CallSent | MonitorAsked,
    at: datetime,
    *,
    role: str,
    ordinal: int | None = None,
    cell: int | None = None,
) -> AttemptState:
    state = _lose(state)
    call = Call(
        number=len(state.calls),
        ordinal=ordinal,
        cell=cell,
        role=role,
        model=sent.model,
        fingerprint=sent.fingerprint,
        bound=sent.bound,
        sent=at,
    )
    return replace(state, calls=state.calls.put(call.number, call))


def _heard(
    state: AttemptState, heard: RequestFailed | CallAnswered | CallFailed | MonitorHeard, at: datetime
) -> AttemptState:
    call = state.open_call
    if call is None:
        return state
    if isinstance(heard, RequestFailed):
        failed = FailedRequest(at, heard.message, _booked(heard.booked, retries=1))
        call = replace(call, failed_requests=call.failed_requests.put(len(call.failed_requests), failed))
        return _book(state, call, failed.spend)
    match heard:
        case CallAnswered(reply=reply):
            call = replace(call, ended=at, reply=reply)
        case CallFailed(message=message):
            call = replace(call, ended=at, failure=message)
        case MonitorHeard(reply=reply, verdict=verdict, failure=failure, lost=lost):
            call = replace(call, ended=at, reply=reply, verdict=verdict, failure=failure, lost=lost)
    return _book(state, call, call.took)


def _lose(state: AttemptState) -> AttemptState:
    """Close a call that was under way when the process was killed: nobody will hear of it any more."""
    call = state.open_call
    if call is None:
        return state
    call = replace(call, ended=call.last_request, failure=_LOST, lost=True)
    return _book(state, call, call.took)


def _book(state: AttemptState, call: Call, spend: Spend) -> AttemptState:
    """Take in what has become of the last call, and what that took."""
    call = replace(call, spend=call.spend + spend)
    return replace(state, calls=state.calls.put(call.number, call), spend=state.spend + spend)


def _booked(usage: Usage, *, exact: bool = False, **counts: float) -> Spend:
    """Return what a try took; what nobody counted is marked as a bound."""
    bound = {} if exact else {"bound_tokens": usage.tokens, "bound_usd": usage.usd}
    return Spend.model_validate({**usage.model_dump(), **bound, **counts})


def _started(state: AttemptState, started: CellStarted, at: datetime) -> AttemptState:
    state = _lose(state)  # such as a question about this very cell, which is started again
    cell = CellRun(
        number=len(state.cells),
        ordinal=started.ordinal,
        step=started.step,
        goal=started.goal,
        code=started.code,
        names=started.submission,
        scratch=started.scratch,
        started=at,
    )
    return replace(state, cells=state.cells.put(cell.number, cell))


def _ended(state: AttemptState, ended: CellEnded, at: datetime) -> AttemptState:
    cell = state.open_cell
    if cell is None:
        return state
    cell = replace(cell, ended=at, result=ended.result, submitted=ended.submitted, refused=ended.refused)
    return replace(state, cells=state.cells.put(cell.number, cell))


def _graded(state: AttemptState, graded: Graded) -> AttemptState:
    cell = state.cells.last
    if cell is not None and cell.submitted == graded.submitted:
        folds, gain = graded.out_of_fold, graded.gain
        cell = replace(cell, report=graded.report, out_of_fold=folds, gain=gain)
        state = replace(state, cells=state.cells.put(cell.number, cell))
    score = graded.report.score
    if score is None:  # of a refit, only the form is looked at
        return replace(state, best=graded.submitted) if graded.report.valid else state
    leads = score.value.better_than(state.leader_score.value if state.leader_score else None)
    if leads:
        state = replace(state, leader_score=score, leader=graded.submitted)
    if graded.submitted.nominated:
        chosen = leads or _ties(graded.gain)
    else:
        chosen = leads and not (state.nominated and _ties(graded.nominee))
    if not chosen:
        return state
    nominated = graded.submitted.nominated
    return replace(state, best_score=score, best=graded.submitted, nominated=nominated)


def _ties(difference: Paired | None) -> bool:
    """Whether a step is known to be within the noise of the leader."""
    return difference is not None and difference.tie
