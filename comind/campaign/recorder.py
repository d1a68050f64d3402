"""Effects that happen once: what is recorded is handed back, what is not is performed and recorded.

Code that reaches the world through a recorder alone can be run again from the start after a crash. It
takes the same steps, since it sees the same replies, outputs and times, until the record ends; from
there on it is live.
"""

import hashlib
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from comind.campaign.attempt import (
    CallAnswered,
    CallFailed,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    WorkEvent,
)
from comind.campaign.history import AttemptState, apply
from comind.campaign.outcome import Submitted, WorkStopped
from comind.campaign.plan import BASELINE_ROLE
from comind.errors import CampaignError, ComindError, ReplyError
from comind.eventlog.log import EventLog, Record
from comind.llm.base import ChatModel, ModelReply, ModelRequest, Usage
from comind.system.failpoints import failpoint

__all__ = [
    "RecordedModel",
    "Recorder",
    "ReplayDivergedError",
    "call_identity",
    "cell_identity",
    "grading_identity",
]

_CALL = "model call"
_FINGERPRINT_VERSION = 2

EndT = TypeVar("EndT", CallAnswered, CellEnded, Graded)


class ReplayDivergedError(CampaignError):
    """The work now takes another step than the one that was recorded."""

    kind = "replay"


class Recorder:
    """Plays a work's log back, then goes on writing it.

    `state` is what the events up to this point amount to: during a replay it lags behind the log, so
    that whoever decides by it decides the same.
    """

    def __init__(self, log: EventLog[WorkEvent]) -> None:
        self._log = log
        self._past: deque[Record[WorkEvent]] = deque(log.records)
        calls = (record.event for record in log.records if isinstance(record.event, CallSent))
        known = (call.context_tokens for call in calls if call.context_tokens is not None)
        self.context_tokens: int | None = next(known, None)
        """What the work takes its model to read: as its first call says, else as is known by now."""
        self._lock = threading.Lock()
        self._ordinal = 0
        self.state = AttemptState()

    @property
    def elapsed(self) -> float:
        """Seconds that the work has taken, right now; what it may decide by is in `state`."""
        return self._log.elapsed

    def next_ordinal(self) -> int:
        """Return the number of the next effect."""
        self._ordinal += 1
        return self._ordinal - 1

    def effect(
        self, begin: WorkEvent | None, end: type[EndT], identity: str, perform: Callable[[], EndT]
    ) -> EndT:
        """Return the recorded end of an effect, or perform and record it.

        An effect that may be repeated freely has no event at its begin. `identity` is what it is: the
        record of another one is not handed back. An exception of `perform` is not recorded, so the
        effect is performed again when the work goes on.

        Raises:
            ReplayDivergedError: the record holds another effect at this place.
            ReplyError: the record says that this call cannot be answered.
        """
        while self._past:
            record = self._past.popleft()
            recorded = _identity(record.event)
            if recorded is not None and not identity.startswith(recorded):
                raise ReplayDivergedError(
                    f"record {record.seq} of this work is {recorded}, but the work now does {identity}",
                    hint="resume with the version of CoMind that started the campaign",
                )
            self.state = apply(self.state, record)
            if isinstance(record.event, end):
                return record.event
            if isinstance(record.event, CallFailed) and record.event.at_fault:
                raise ReplyError(record.event.message)
        if begin is not None:
            self.note(begin)
        event = perform()
        self.note(event)
        return event

    def call(
        self,
        role: str,
        model: str,
        fingerprint: str,
        bound: Usage,
        ask: Callable[[], ModelReply],
        *,
        at_fault: tuple[type[Exception], ...] = (ReplyError,),
    ) -> ModelReply:
        """Return the recorded reply of `model` to a call with this fingerprint, or `ask` and record it.

        A call that ended with an error of `at_fault` is not made again: a replay raises a ReplyError.
        """
        ordinal = self.next_ordinal()
        sent = CallSent(
            ordinal=ordinal,
            fingerprint=fingerprint,
            fingerprint_version=_FINGERPRINT_VERSION,
            role=role,
            model=model,
            bound=bound,
            context_tokens=self.context_tokens,
        )

        def perform() -> CallAnswered:
            failpoint("call-sent")
            try:
                reply = ask()
            except (ComindError, WorkStopped) as error:
                over = isinstance(error, at_fault)
                self.note(CallFailed(ordinal=ordinal, message=str(error), at_fault=over))
                raise
            return CallAnswered(ordinal=ordinal, reply=reply)

        answered = self.effect(sent, CallAnswered, call_identity(fingerprint), perform)
        failpoint("reply-recorded")
        return answered.reply

    def note(self, event: WorkEvent) -> None:
        """Record something that is not an effect, or one half of one."""
        with self._lock:  # a monitor's question may fail while a cell is being recorded
            self.state = apply(self.state, self._log.append(event))


def call_identity(fingerprint: str) -> str:
    """Return what tells one model call from another."""
    return f"{_CALL} {fingerprint[:12]}"


def cell_identity(code: str) -> str:
    """Return what tells one cell from another."""
    return f"cell {hashlib.sha256(code.encode()).hexdigest()[:12]}"


def grading_identity(submitted: Submitted) -> str:
    """Return what tells one grading from another."""
    return f"grading of {submitted.validation_sha256[:12]}"


def _identity(event: WorkEvent) -> str | None:
    match event:
        case CallSent(fingerprint_version=version, role=role) if version < _FINGERPRINT_VERSION:
            # Any call: what followed shows whether the work still takes the same steps. The baseline's
            # programs were replies then.
            return None if role == BASELINE_ROLE else _CALL
        case CallSent(fingerprint=fingerprint):
            return call_identity(fingerprint)
        case CellStarted(code=code):
            return cell_identity(code)
        case Graded(submitted=submitted):
            return grading_identity(submitted)
        case _:
            return None


class RecordedModel:
    """The models of a work's roles, whose replies are recorded before anyone sees them.

    A request goes to the model of its role; none is asked for twice. What the work's own model reads
    stays the same for the work, whatever a refusal teaches meanwhile: prompts are made by it, and have
    to be the same when the work is resumed.
    """

    def __init__(self, role: str, model_of: Callable[[str], ChatModel], recorder: Recorder) -> None:
        model = model_of(role)
        self._model_of = model_of
        self._recorder = recorder
        self.name = model.name
        self.context_tokens = recorder.context_tokens or model.context_tokens
        recorder.context_tokens = self.context_tokens
        self.reply_tokens = model.reply_tokens

    def bound(self, request: ModelRequest) -> Usage:
        """Return the most that answering `request` can cost."""
        return self._model_of(request.role).bound(request)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply to `request`, or ask for it and record it."""
        model = self._model_of(request.role)
        bound = model.bound(request)
        answer = partial(model.complete, request.within(bound))
        return self._recorder.call(request.role, model.name, request.fingerprint(), bound, answer)
