"""Record effects, and replay them when work is resumed: durable execution by event sourcing.

After a crash the agent's code runs again from its start. It takes the same steps, since it gets the
recorded replies, outputs and times, until the log ends; from there on effects are performed.
"""

import hashlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from comind.campaign.log.event_lines import work_line
from comind.campaign.log.messages import MessageStore, messages_file
from comind.campaign.log.outcome import HandedIn, SamplePredictions, Submitted, WorkStopped
from comind.campaign.log.work import BASELINE_ROLE
from comind.campaign.log.work_events import (
    CallAnswered,
    CallFailed,
    CallSent,
    CellEnded,
    CellStarted,
    Graded,
    PictureShown,
    SampleGraded,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG, AttemptState
from comind.errors import CampaignError, ComindError, ReplyError
from comind.eventlog.log import EventLog, Record
from comind.llm.model_ports import ChatModel, Message, ModelReply, ModelRequest, Usage
from comind.session.session_ports import CellStatus
from comind.system.failpoints import failpoint

_log = logging.getLogger(__name__)
_CALL = "model call"
_FINGERPRINT_VERSION = 2

EndT = TypeVar("EndT", CallAnswered, CellEnded, Graded, PictureShown, SampleGraded)
Begin = CallSent | CellStarted | HandedIn | PictureShown
"""What identifies an effect."""


class ReplayDivergedError(CampaignError):
    """The code takes another step than the recorded one."""

    error_code = "replay"


class Recorder:
    """Replay the log of one piece of work, then append to it.

    `state` folds the events up to the current point of the replay, so that decisions by it repeat.
    """

    def __init__(self, log: EventLog[WorkEvent], *, messages: bool = True) -> None:
        """Start at the log's beginning; with `messages` those of requests are kept beside it."""
        self._log = log
        self._name = f"{log.path.parent.parent.name}/{log.path.parent.name}"
        self._messages = MessageStore(messages_file(log.path)) if messages else None
        self._past: deque[Record[WorkEvent]] = deque(log.records)
        events = (record.event for record in log.records)
        calls = [each for each in events if isinstance(each, CallSent) and each.ordinal is not None]
        known = (call.context_tokens for call in calls if call.context_tokens is not None)
        self.context_tokens: int | None = next(known, None)
        """Context window assumed for the work: as recorded with its first call, else the current one."""
        self.takes_images: bool | None = next((call.takes_images for call in calls), None)
        """Whether its model is assumed to take images, in the same way."""
        self._lock = threading.Lock()
        self._ordinal = 0
        self.state = AttemptState()

    @property
    def elapsed(self) -> float:
        """Wall-clock seconds of the work so far; not for decisions, which must use `state`."""
        return self._log.elapsed

    def next_ordinal(self) -> int:
        """Return the number of the next effect."""
        self._ordinal += 1
        return self._ordinal - 1

    def effect(self, begin: Begin, end: type[EndT], perform: Callable[[], EndT]) -> EndT:
        """Return the recorded result of an effect, or perform and record it.

        `begin` is recorded before the effect, except for the submissions of a grading and the path of a
        picture, which are idempotent. Its identity guards the replay: a recorded effect with another
        identity is not returned. An exception of `perform` is not recorded, so the effect is performed
        again when the work is resumed.

        Raises:
            ReplayDivergedError: the log holds another effect at this point.
            ReplyError: the log says that this call cannot be answered.
        """
        identity = _identity(begin) or ""
        while self._past:
            record = self._past.popleft()
            recorded = _identity(record.event)
            if recorded is not None and not identity.startswith(recorded):
                raise self._diverged(record, begin, f"is {recorded}, but the work now does {identity}")
            self.state = WORK_LOG.apply(self.state, record)
            if isinstance(record.event, end):
                return record.event
            if isinstance(record.event, CallFailed) and record.event.at_fault:
                raise ReplyError(record.event.message)
        if isinstance(begin, CallSent | CellStarted):
            self.note(begin)
        event = perform()
        self.note(event)
        return event

    def _diverged(self, record: Record[WorkEvent], begin: Begin, how: str) -> ReplayDivergedError:
        """Return the error of a replay that diverges; of two model calls, with what differs."""
        recorded, where = record.event, ""
        if isinstance(begin, CallSent) and isinstance(recorded, CallSent) and self._messages is not None:
            where = self._messages.difference(recorded.messages, begin.messages)
        return ReplayDivergedError(
            f"record {record.seq} of this work {how}" + (f": {where}" if where else ""),
            hint="resume with the version of CoMind that started the campaign",
        )

    def call(
        self,
        role: str,
        model: str,
        fingerprint: str,
        bound: Usage,
        ask: Callable[[], ModelReply],
        *,
        messages: Sequence[Message] = (),
        at_fault: tuple[type[Exception], ...] = (ReplyError,),
    ) -> ModelReply:
        """Return the recorded reply of `model` to the request `fingerprint`, or `ask` and record it.

        A call that failed with one of `at_fault` is not repeated: its replay raises a ReplyError.
        """
        ordinal = self.next_ordinal()
        sent = CallSent(
            ordinal=ordinal,
            fingerprint=fingerprint,
            fingerprint_version=_FINGERPRINT_VERSION,
            role=role,
            model=model,
            bound=bound,
            messages=self.keep(messages),
            context_tokens=self.context_tokens,
            takes_images=bool(self.takes_images),
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

        answered = self.effect(sent, CallAnswered, perform)
        failpoint("reply-recorded")
        return answered.reply

    def keep(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Keep the messages of a request; return their ids, none where messages are not kept."""
        return () if self._messages is None else self._messages.keep(messages)

    def note(self, event: WorkEvent) -> None:
        """Append an event, and update the state."""
        with self._lock:  # a monitor's request may fail while a cell is being recorded
            self.state = WORK_LOG.apply(self.state, self._log.append(event))
            if line := work_line(event, self.state):
                _log.log(_level(event), "%s: %s", self._name, line)


def _level(event: WorkEvent) -> int:
    """Return the level of an event: that of a step is for a debugger, unless it was stopped."""
    if isinstance(event, CellEnded):
        ran = event.result.status in (CellStatus.OK, CellStatus.ERROR)
        return logging.DEBUG if ran else logging.INFO
    return logging.DEBUG if isinstance(event, Graded | SampleGraded) else logging.INFO


def _identity(event: WorkEvent | Begin) -> str | None:
    """Return what identifies an effect in a replay: a hash of request, code or submission."""
    match event:
        case CallSent(ordinal=None):
            return None
        case CallSent(fingerprint_version=version, role=role) if version < _FINGERPRINT_VERSION:
            # Any call matches; the cells that follow are checked. The baseline's programs were replies.
            return None if role == BASELINE_ROLE else _CALL
        case CallSent(fingerprint=fingerprint):
            return f"{_CALL} {fingerprint[:12]}"
        case CellStarted(code=code):
            return f"cell {hashlib.sha256(code.encode()).hexdigest()[:12]}"
        case Graded(submitted=Submitted(validation_sha256=sha256)) | Submitted(validation_sha256=sha256):
            return f"grading of {sha256[:12]}"
        case PictureShown(path=path):
            return f"picture {path}"
        case (
            SampleGraded(predictions=SamplePredictions(sha256=sha256)) | SamplePredictions(sha256=sha256)
        ):
            return f"grading on the sample of {sha256[:12]}"
        case _:
            return None


class RecordedModel:
    """Dispatch requests to the models of their roles, and record each reply before it is returned.

    `context_tokens` and `takes_images` stay fixed for the work, whatever is learnt from refusals
    meanwhile: prompts depend on them, and must be the same in a replay.
    """

    def __init__(self, role: str, model_of: Callable[[str], ChatModel], recorder: Recorder) -> None:
        model = model_of(role)
        self._model_of = model_of
        self._recorder = recorder
        self.name = model.name
        self.context_tokens = recorder.context_tokens or model.context_tokens
        recorder.context_tokens = self.context_tokens
        recorded = recorder.takes_images
        self.takes_images = model.takes_images if recorded is None else recorded
        recorder.takes_images = self.takes_images
        self.reply_tokens = model.reply_tokens

    def bound(self, request: ModelRequest) -> Usage:
        """Return the worst-case usage of one request."""
        return self._model_of(request.role).bound(request)

    def complete(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply to `request`, or send it and record the reply."""
        model = self._model_of(request.role)
        bound = model.bound(request)
        answer = partial(model.complete, request.within(bound))
        return self._recorder.call(
            request.role,
            model.name,
            request.fingerprint(),
            bound,
            answer,
            messages=request.messages,
        )
