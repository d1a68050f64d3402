"""Watches running cells: evidence first, then a model whose STOP needs a line that supports it.

A cell is looked at early, then at growing intervals. Certain evidence ends it when it stands at two
looks in a row; for everything else a model is asked, beside the cell and at most so many times. A
model that fails, dawdles or quotes what was not printed ends nothing.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple

from comind.campaign.attempt import MonitorAsked, MonitorHeard, MonitorVerdict, WorkEvent
from comind.errors import ModelBusyError, ReplyError
from comind.llm.base import ChatModel, Message, ModelReply, ModelRequest
from comind.llm.exchange import parse, request_for
from comind.llm.templates import Templates
from comind.llm.tokens import shorten
from comind.session.evidence import CellSnapshot, Evidence, EvidenceKind, find_evidence

__all__ = [
    "MONITOR_ROLE",
    "CellMonitor",
    "Monitor",
    "MonitorSettings",
    "in_background",
    "stands_in",
]

MONITOR_ROLE = "monitor"
"""The role whose model is asked."""

_TEMPLATES = Templates("comind.campaign")
_CODE_TOKENS = 1_000
_OUTPUT_LINES = 60
_OUTPUT_SHOWN = 4_000
_GOAL_SHOWN = 500
_REASON_SHOWN = 300
_HEARING_SECONDS = 0.5  # between two looks whether the model has answered
_LEAST_QUOTE = 2  # letters and digits; a bracket or a rule of dashes supports nothing


def in_background(call: Callable[[], ModelReply]) -> "Future[ModelReply]":
    """Start `call` in a thread that nobody has to wait for, not even the end of the program."""
    future: Future[ModelReply] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is wanted
            future.set_exception(error)

    threading.Thread(target=run, name="monitor", daemon=True).start()
    return future


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """How closely cells are watched."""

    first: float = 20.0
    """Seconds to the first look."""
    ask_after: float = 300.0
    """Seconds after which a model is asked about a cell that shows no evidence; then at twice that."""
    longest: float = 600.0
    """Most seconds between two looks; up to that, each interval is twice the last."""
    questions: int = 12
    """Most questions about one cell."""
    patience: float = 10.0
    """Seconds that a cell's end may wait for the reply to a question about it."""
    start: Callable[[Callable[[], ModelReply]], "Future[ModelReply]"] = in_background
    """Makes a call without holding up who asks for it."""


class _Question(NamedTuple):
    reply: "Future[ModelReply]"
    shown: str


@dataclass
class CellMonitor:
    """Watches one cell; only the model is asked in another thread."""

    model: ChatModel
    """Metered, but not recorded: a replay has no use for what was asked beside a cell."""
    note: Callable[[WorkEvent], None]
    """Records a question before it is sent, and what came of it."""
    settings: MonitorSettings
    goal: str
    code: str
    limit: float
    """Seconds that the cell may run."""

    def __post_init__(self) -> None:
        self._interval = self._due = self.settings.first
        self._question: _Question | None = None
        self._questions_left = self.settings.questions
        self._ask_again_at = self.settings.ask_after
        self._raised: set[EvidenceKind] = set()
        self._certain: set[EvidenceKind] = set()
        self._output = ""
        self._printed_at = 0.0
        self._asked_about = ""
        self._now = 0.0

    @property
    def next_look(self) -> float:
        """Seconds into the cell at which to look next."""
        return self._due if self._question is None else min(self._due, self._now + _HEARING_SECONDS)

    def look(self, output: str, seconds: float) -> str | None:
        """Return why the cell is to be stopped, or None; returns at once."""
        self._now = seconds
        reason = self._hear(seconds)
        if reason is None and seconds >= self._due:
            reason = self._inspect(output, seconds) or self._hear(seconds)
        return reason

    def close(self) -> None:
        """Hear what is still to be heard, now that the cell has ended; what takes too long is lost."""
        if self._question is None:
            return
        try:
            self._question.reply.exception(timeout=self.settings.patience)
        except TimeoutError:
            self._question = None
            failure = "the cell had ended before the model answered"
            self.note(MonitorHeard(seconds=self._now, failure=failure, lost=True))
            return
        self._hear(self._now, ended=True)

    def _inspect(self, output: str, seconds: float) -> str | None:
        """Look for evidence; ask about what is not certain."""
        if output != self._output:
            self._output, self._printed_at = output, seconds
        sight = CellSnapshot(
            code=self.code,
            output=output,
            seconds=seconds,
            left=max(0.0, self.limit - seconds),
            silent=seconds - self._printed_at,
        )
        evidence = find_evidence(sight)
        certain = {each.kind: each for each in evidence if each.certain}
        for kind in certain.keys() & self._certain:
            return _stopped(seconds, certain[kind].says, certain[kind].quote)
        self._certain = set(certain)
        if certain:  # soon enough to lose little, late enough to have something new
            self._due = seconds + self.settings.first
            return None
        self._interval = min(2 * self._interval, self.settings.longest)
        self._due = seconds + self._interval
        if self._worth_asking(sight, evidence):
            self._ask(sight, evidence)
        return None

    def _worth_asking(self, sight: CellSnapshot, evidence: tuple[Evidence, ...]) -> bool:
        if self._question is not None or self._questions_left <= 0 or not sight.lines:
            return False  # where nothing is printed, nothing can be quoted
        news = {each.kind for each in evidence} - self._raised
        changed = sight.output != self._asked_about
        return bool(news) or (changed and sight.seconds >= self._ask_again_at)

    def _ask(self, sight: CellSnapshot, evidence: tuple[Evidence, ...]) -> None:
        shown = _end_of(sight.lines)
        question = _TEMPLATES.render(
            "monitor",
            goal=self.goal[:_GOAL_SHOWN],
            code=shorten(self.code, _CODE_TOKENS, end=0.5),
            seconds=sight.seconds,
            left=sight.left,
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
        self._raised |= {each.kind for each in evidence}
        self._ask_again_at = 2 * sight.seconds
        self._asked_about = sight.output
        self.note(
            MonitorAsked(
                seconds=round(sight.seconds, 3),
                evidence=evidence,
                fingerprint=request.fingerprint(),
                model=self.model.name,
                bound=bound,
            )
        )
        reply = self.settings.start(lambda: self.model.complete(request.within(bound)))
        self._question = _Question(reply, shown)

    def _hear(self, seconds: float, *, ended: bool = False) -> str | None:
        """Take in the reply, if there is one by now; return why the cell is to be stopped."""
        question = self._question
        if question is None or not question.reply.done():
            return None
        self._question = None
        heard = _heard(question, round(seconds, 3), ended=ended)
        if heard.reply is None:
            self._questions_left = 0  # a model that cannot be asked will hardly do better soon
        self.note(heard)
        if not heard.accepted or heard.verdict is None:
            return None
        return _stopped(seconds, heard.verdict.reason, heard.verdict.quote)


Monitor = Callable[[str, str, float], CellMonitor]
"""Watches the cells of one attempt: makes a watch of a cell's goal, its code and its time limit."""


def _heard(question: _Question, seconds: float, *, ended: bool) -> MonitorHeard:
    try:
        reply = question.reply.result()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a model, the cell is not at fault
        lost = isinstance(error, ModelBusyError) and error.billed
        return MonitorHeard(seconds=seconds, failure=str(error) or type(error).__name__, lost=lost)
    try:
        verdict = parse(reply, MonitorVerdict)
    except ReplyError as error:
        return MonitorHeard(seconds=seconds, reply=reply, failure=f"the reply has no form: {error}")
    failure = ""
    if verdict.stop and ended:
        failure = "the cell had ended before the model answered"
    elif verdict.stop and not stands_in(verdict.quote, question.shown):
        failure = "the line that it quotes was not printed"
    accepted = verdict.stop and not failure
    return MonitorHeard(
        seconds=seconds, reply=reply, verdict=verdict, accepted=accepted, failure=failure
    )


def stands_in(quote: str, output: str) -> bool:
    """Say whether `quote` is a line of `output` with something in it, spaces apart."""
    wanted = _plain(quote)
    if sum(char.isalnum() for char in wanted) < _LEAST_QUOTE:
        return False
    return any(_plain(line) == wanted for line in output.splitlines())


def _plain(line: str) -> str:
    """Return a line without what may differ in a quotation: the spaces, and marks around it."""
    return " ".join(line.split()).strip("`'\"").strip()


def _stopped(seconds: float, reason: str, quote: str) -> str:
    reason = " ".join(reason.split())[:_REASON_SHOWN].rstrip(".") or "it is lost"
    return f"the monitor stopped it after {seconds:.0f} s: {reason} (it printed: {_plain(quote)})"


def _end_of(lines: list[str]) -> str:
    """Return the last lines that fit into what is shown, none of them cut."""
    shown: list[str] = []
    space = _OUTPUT_SHOWN
    for line in reversed(lines[-_OUTPUT_LINES:]):
        space -= len(line) + 1
        if space < 0:
            break
        shown.append(line)
    return "\n".join(reversed(shown))
