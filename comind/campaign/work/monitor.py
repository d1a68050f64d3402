"""Monitor running cells, and stop those that are lost: by evidence, or by a model's verdict.

A cell is inspected early, then at growing intervals. Certain evidence at two inspections in a row stops
it; otherwise a model is called in a background thread, a limited number of times. Its verdict counts
only if it quotes a printed line or, about a cell that leaves no trace, a loop or a wait in the code; a
failed or late reply has no effect.
"""

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple

from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.work_events import (
    MONITOR_ROLE,
    MonitorAsked,
    MonitorHeard,
    MonitorVerdict,
    WorkEvent,
)
from comind.campaign.work.questions import Questions
from comind.errors import ModelBusyError, ReplyError
from comind.llm.exchange import parse, request_for
from comind.llm.model_ports import ChatModel, Message, ModelReply, ModelRequest
from comind.llm.templates import Templates
from comind.llm.tokens import shorten
from comind.session.activity import Activity, differs
from comind.session.evidence import STALLED, CellSnapshot, Evidence, Symptom, find_evidence
from comind.session.load import CellUsage

_TEMPLATES = Templates("comind.campaign")
_CODE_TOKENS = 1_000
_STALLED_CODE_TOKENS = 2_000  # in place of output
_OUTPUT_LINES = 60
_OUTPUT_SHOWN = 4_000
_GOAL_SHOWN = 500
_REASON_SHOWN = 300
_POLL_SECONDS = 0.5  # between two polls for the model's reply
_LEAST_INTERVAL = 1.0  # of two inspections, however short the timeout
_LEAST_TIME = 10.0  # before a question, or of idleness, that is a share of the timeout
_LATE_SHARE, _LATE_SECONDS = 0.1, 30.0  # of the timeout, left at which no question is worth a reply
_LEAST_QUOTE = 2  # letters and digits; a bracket or a rule of dashes is no evidence
_LOOP_OR_WAIT = re.compile(
    r"(?:^|[;:]\s*)(?:async )?while\b|\bfor\b.+\bin\b"
    r"|\.(?:join|acquire|get|wait)\(|\b(?:input|sleep|recv|accept|select)\("
)
_COMMENT = re.compile(r"(?:^|\s)#.*")


def _in_background(call: Callable[[], ModelReply]) -> "Future[ModelReply]":
    """Run `call` in a daemon thread, which the interpreter does not join at exit."""
    future: Future[ModelReply] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised by `Future.result`
            future.set_exception(error)

    threading.Thread(target=run, name="monitor", daemon=True).start()
    return future


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """Intervals and limits of monitoring."""

    limits: Monitoring = Monitoring()  # noqa: RUF009 - frozen, safe to share
    """The user's settings."""
    questions: Questions | None = None
    """The campaign's limit of questions; None for none."""
    first: float = 20.0
    """Most seconds to the first inspection, and at most a tenth of the timeout."""
    longest: float = 600.0
    """Most seconds between two inspections, and at most a tenth of the timeout; until then the interval
    doubles each time."""
    patience: float = 10.0
    """Timeout in seconds for an open call at the cell's end."""
    start: Callable[[Callable[[], ModelReply]], "Future[ModelReply]"] = _in_background
    """Runs a call without blocking."""


class _Question(NamedTuple):
    reply: "Future[ModelReply]"
    shown: str
    """The end of the output, as the model was shown it."""
    code: str
    """The cell's code, as the model was shown it, if a line of it may be quoted; else empty."""
    output: str
    """The whole output at the question."""
    usage: CellUsage | None

    def moved(self, output: str, usage: CellUsage | None) -> bool:
        """Return whether output, memory or files have changed since the question, or may have."""
        if usage is None or self.usage is None or output != self.output:
            return True
        return differs(self.usage, usage)


@dataclass
class CellMonitor:
    """Monitor of one cell; only model calls run in another thread."""

    model: ChatModel
    """Metered but not recorded, as a replay does not call it."""
    note: Callable[[WorkEvent], None]
    """Records a request before it is sent, and its result."""
    settings: MonitorSettings
    goal: str
    code: str
    limit: float
    """Timeout of the cell in seconds."""
    keep: Callable[[Sequence[Message]], tuple[str, ...]] = lambda _: ()
    """Keeps the messages of a request; returns their ids."""

    def __post_init__(self) -> None:
        limits, tenth = self.settings.limits, max(self.limit / 10, _LEAST_INTERVAL)
        self._first = self._interval = self._due = min(self.settings.first, tenth)
        self._longest = min(self.settings.longest, tenth)
        self._idle_limit = min(max(limits.idle_share * self.limit, _LEAST_TIME), limits.idle_seconds)
        self._ask_after = min(max(limits.ask_share * self.limit, _LEAST_TIME), limits.ask_seconds)
        self._ask_again_at = self._ask_after
        self._question: _Question | None = None
        self._questions_left = limits.questions
        self._activity = Activity()
        self._raised: set[Symptom] = set()
        self._certain: set[Symptom] = set()
        self._output = ""
        self._printed_at = 0.0
        self._asked_about = ""
        self._now = 0.0

    @property
    def next_look(self) -> float:
        """Running time of the cell, in seconds, at which to call `look` next."""
        return self._due if self._question is None else min(self._due, self._now + _POLL_SECONDS)

    def look(self, output: str, seconds: float, usage: CellUsage | None = None) -> str | None:
        """Return the reason to stop the cell, or None; does not block."""
        self._now = seconds
        reason = self._poll(output, usage)
        if reason is None and seconds >= self._due:
            reason = self._inspect(output, seconds, usage) or self._poll(output, usage)
        return reason

    def close(self) -> None:
        """Wait for an open call after the cell's end, up to the timeout `MonitorSettings.patience`."""
        if self._question is None:
            return
        try:
            self._question.reply.exception(timeout=self.settings.patience)
        except TimeoutError:
            failure = "the cell had ended before the model answered"
            self._end_question(MonitorHeard(seconds=self._now, failure=failure, lost=True))
            return
        self._poll("", None, ended=True)

    def _inspect(self, output: str, seconds: float, usage: CellUsage | None) -> str | None:
        """Search output and usage for evidence; call the model if none is certain."""
        printed = output != self._output
        if printed:
            self._output, self._printed_at = output, seconds
        snapshot = CellSnapshot(
            code=self.code,
            output=output,
            seconds=seconds,
            left=max(0.0, self.limit - seconds),
            silent=seconds - self._printed_at,
            stall=self._activity.take(usage, seconds, printed=printed),
            idle_limit=self._idle_limit,
            ask_after=self._ask_after,
        )
        evidence = find_evidence(snapshot)
        certain = {each.symptom: each for each in evidence if each.certain}
        for symptom in certain.keys() & self._certain:
            quote = _plain(certain[symptom].quote)
            return _stopped(seconds, certain[symptom].says, f"it printed: {quote}" if quote else "")
        self._certain = set(certain)
        if certain:  # inspect again soon, but after more output
            self._due = seconds + self._first
            return None
        self._interval = min(2 * self._interval, self._longest)
        self._due = seconds + self._interval
        if self._worth_asking(snapshot, evidence):
            self._ask(snapshot, evidence, usage)
        return None

    def _worth_asking(self, snapshot: CellSnapshot, evidence: tuple[Evidence, ...]) -> bool:
        found = {each.symptom for each in evidence}
        stalled = bool(found & STALLED)
        if self._question is not None or self._questions_left <= 0 or not (snapshot.lines or stalled):
            return False  # there is no line to quote
        if snapshot.left < min(_LATE_SHARE * self.limit, _LATE_SECONDS):
            return False  # it ends by itself, as soon as a reply could come
        news = stalled or snapshot.output != self._asked_about
        # An idle cell goes on soon, or is stopped without a question.
        due = news and not snapshot.stall.idle and snapshot.seconds >= self._ask_again_at
        return bool(found - self._raised) or due

    def _ask(
        self, snapshot: CellSnapshot, evidence: tuple[Evidence, ...], usage: CellUsage | None
    ) -> None:
        """Ask the model, if the campaign's share of questions allows it."""
        questions = self.settings.questions
        if questions is None:
            self._question = self._sent(snapshot, evidence, usage)
        elif questions.begin():
            try:
                self._question = self._sent(snapshot, evidence, usage)
            except BaseException:
                questions.end(stopped=False, made=False)
                raise

    def _sent(
        self, snapshot: CellSnapshot, evidence: tuple[Evidence, ...], usage: CellUsage | None
    ) -> _Question:
        """Record a question, and send it."""
        shown = _last_lines(snapshot.lines)
        stalled = any(each.symptom in STALLED for each in evidence)
        code = shorten(self.code, _STALLED_CODE_TOKENS if stalled else _CODE_TOKENS, end=0.5)
        question = _TEMPLATES.render(
            "monitor",
            goal=self.goal[:_GOAL_SHOWN],
            code=code,
            stalled=stalled,
            usage=usage,
            seconds=snapshot.seconds,
            left=snapshot.left,
            evidence=evidence,
            output=shown,
        )
        prompt = ModelRequest(
            role=MONITOR_ROLE,
            messages=(
                Message(role="system", content=_TEMPLATES.render("monitor_system")),
                Message(role="user", content=question),
            ),
            max_tokens=400,
        )
        request = request_for(prompt, MonitorVerdict)
        bound = self.model.bound(request)
        self._questions_left -= 1
        self._raised |= {each.symptom for each in evidence}
        self._ask_again_at = 2 * snapshot.seconds
        self._asked_about = snapshot.output
        self.note(
            MonitorAsked(
                seconds=round(snapshot.seconds, 3),
                evidence=evidence,
                fingerprint=request.fingerprint(),
                model=self.model.name,
                bound=bound,
                messages=self.keep(request.messages),
            )
        )
        reply = self.settings.start(lambda: self.model.complete(request.within(bound)))
        return _Question(reply, shown, code if stalled else "", snapshot.output, usage)

    def _end_question(self, heard: MonitorHeard) -> None:
        """Record the result of the open call."""
        self._question = None
        if self.settings.questions is not None:
            made = heard.reply is not None or heard.lost
            self.settings.questions.end(stopped=heard.accepted, made=made)
        self.note(heard)

    def _poll(self, output: str, usage: CellUsage | None, *, ended: bool = False) -> str | None:
        """Record the result of the open call, if it has one; return the reason to stop the cell."""
        question = self._question
        if question is None or not question.reply.done():
            return None
        moved = question.moved(output, usage)
        heard = _evaluate(question, round(self._now, 3), moved=moved, ended=ended)
        if heard.reply is None:
            self._questions_left = 0  # no further calls to a model that fails
        self._end_question(heard)
        if not heard.accepted or heard.verdict is None:
            return None
        return _stopped(self._now, heard.verdict.reason, _source(heard.verdict.quote, question))


Monitor = Callable[[str, str, float], CellMonitor]
"""Creates the monitor of a cell from its goal, code and timeout in seconds."""


def _evaluate(question: _Question, seconds: float, *, moved: bool, ended: bool) -> MonitorHeard:
    try:
        reply = question.reply.result()
    except Exception as error:  # noqa: BLE001 - no failure of a model may stop the cell
        lost = isinstance(error, ModelBusyError) and error.billed
        return MonitorHeard(seconds=seconds, failure=str(error) or type(error).__name__, lost=lost)
    try:
        verdict = parse(reply, MonitorVerdict)
    except ReplyError as error:
        return MonitorHeard(seconds=seconds, reply=reply, failure=f"malformed reply: {error}")
    failure = ""
    if verdict.stop and ended:
        failure = "the cell had ended before the model answered"
    elif verdict.stop:
        failure = _objection(verdict.quote, question, moved=moved)
    accepted = verdict.stop and not failure
    return MonitorHeard(
        seconds=seconds, reply=reply, verdict=verdict, accepted=accepted, failure=failure
    )


def _objection(quote: str, question: _Question, *, moved: bool) -> str:
    """Return why a quote stops no cell; empty if it counts."""
    if quotes_line(quote, question.shown):
        return ""
    if not quotes_line(quote, question.code):
        code = ", nor is it in the code" if question.code else ""
        return f"the line that it quotes was not printed{code}"
    if not _LOOP_OR_WAIT.search(_COMMENT.sub("", _plain(quote))):
        return "the line of the code that it quotes has no loop and no wait"
    return "the cell has printed, or changed memory or files, since it was asked about" if moved else ""


def _source(quote: str, question: _Question) -> str:
    """Return a quote that counts with where it is from."""
    return f"{'it printed' if quotes_line(quote, question.shown) else 'its code'}: {_plain(quote)}"


def quotes_line(quote: str, text: str) -> bool:
    """Return whether `quote` is a line of `text` with letters or digits, whitespace ignored."""
    wanted = _plain(quote)
    if sum(char.isalnum() for char in wanted) < _LEAST_QUOTE:
        return False
    return any(_plain(line) == wanted for line in text.splitlines())


def _plain(line: str) -> str:
    """Normalize whitespace, and strip quotation marks."""
    return " ".join(line.split()).strip("`'\"").strip()


def _stopped(seconds: float, reason: str, shows: str) -> str:
    reason = " ".join(reason.split())[:_REASON_SHOWN].rstrip(".") or "it is lost"
    return f"the monitor stopped it after {seconds:.0f} s: {reason}{f' ({shows})' if shows else ''}"


def _last_lines(lines: list[str]) -> str:
    """Return the last lines that fit into the prompt, none of them truncated."""
    shown: list[str] = []
    space = _OUTPUT_SHOWN
    for line in reversed(lines[-_OUTPUT_LINES:]):
        space -= len(line) + 1
        if space < 0:
            break
        shown.append(line)
    return "\n".join(reversed(shown))
