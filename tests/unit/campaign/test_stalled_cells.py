"""Cells that print nothing: stopped when they do nothing, and asked about when they only compute."""

import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.work_events import MonitorAsked, MonitorHeard, WorkEvent
from comind.campaign.work.monitor import CellMonitor, MonitorSettings
from comind.campaign.work.questions import Questions
from comind.llm.model_ports import ModelReply, ModelRequest
from comind.session.load import CellUsage
from comind.session.session_ports import CellResult, CellStatus
from comind.testing import ScriptedModel, ScriptedSession
from tests.unit.campaign.world import run_inline

SPINS = "while True:\n    pass"
_LIMITS = (60.0, 300.0, 18_000.0)
"""Of a short cell, of one under the profile `quick`, and by default."""

Usage = Callable[[float], CellUsage | None]


def _computes(cores: float = 1.0, *, growth: int = 0, waits_from: float = math.inf) -> Usage:
    """Return the usage of a cell that computes, grows by so many bytes a second, and then waits."""

    def usage(at: float) -> CellUsage:
        busy = min(at, waits_from)
        return CellUsage(cpu_seconds=cores * busy, memory_bytes=(1 << 30) + int(growth * busy))

    return usage


def _watched(
    limit: float,
    model: ScriptedModel,
    usage: Usage,
    *,
    code: str = SPINS,
    lines: tuple[tuple[float, str], ...] = (),
    ends: float = math.inf,
    limits: Monitoring = Monitoring(),  # noqa: B008 - frozen
    questions: Questions | None = None,
) -> tuple[CellResult, list[WorkEvent]]:
    events: list[WorkEvent] = []
    settings = MonitorSettings(limits, questions, start=run_inline)
    watch = CellMonitor(model, events.append, settings, "Fit a network.", code, limit)

    def cell(_: Path) -> Iterator[tuple[float, str]]:
        yield from lines
        yield ends, "done"

    result = ScriptedSession(Path(), {code: cell}, usage=usage).run(code, seconds=limit, watch=watch)
    watch.close()
    return result, events


def _verdict(quote: str, *, stop: bool = True) -> ScriptedModel:
    said = {"stop": stop, "quote": quote, "reason": "The loop has no end."}
    return ScriptedModel(lambda request: json.dumps(said))


def _question(request: ModelRequest) -> str:
    return request.messages[-1].content


# --- a cell that does nothing ---------------------------------------------------------------------


@pytest.mark.parametrize("limit", _LIMITS)
@pytest.mark.parametrize("lines", [(), ((2.0, "begin"),)], ids=["silent", "after output"])
def test_a_deadlock_is_stopped_by_evidence(limit: float, lines: tuple[tuple[float, str], ...]) -> None:
    """A cell that waits is stopped within half its timeout, without a model, and told why."""
    model = ScriptedModel([])
    result, events = _watched(limit, model, _computes(waits_from=3), lines=lines)
    assert result.status is CellStatus.STOPPED
    assert result.seconds <= min(limit / 2, 1300)
    assert "used no processor time, and changed neither memory nor files: it waits" in result.error
    assert result.error.endswith("such as a lock, input or a long sleep")
    assert (events, model.requests) == ([], [])


def test_a_wait_that_ends_is_left_alone() -> None:
    """Evidence at a single inspection is not enough: a cell that goes on computing is not stopped."""

    def usage(at: float) -> CellUsage:
        return CellUsage(cpu_seconds=5 + max(0.0, at - 70), memory_bytes=1 << 30)

    result, _ = _watched(300, _verdict("", stop=False), usage, ends=200)
    assert result.status is CellStatus.OK


@pytest.mark.parametrize("usage", [lambda at: None, _computes(0.03)], ids=["unknown", "slowly"])
def test_a_cell_that_may_compute_is_not_stopped_by_evidence(usage: Usage) -> None:
    """Where usage cannot be measured, and where little is computed, no evidence is certain."""
    result, _ = _watched(300, _verdict("", stop=False), usage)
    assert result.status is CellStatus.TIMEOUT


def test_a_short_wait_is_left_alone_however_short_the_timeout() -> None:
    """Of a timeout of seconds, a share is not taken for a long time."""
    result, _ = _watched(12, ScriptedModel([]), _computes(waits_from=0), ends=9)
    assert result.status is CellStatus.OK


def test_the_time_of_idleness_is_a_setting() -> None:
    """`idle_share` and `idle_seconds` are used: the smaller of both stops the cell."""
    ends = []
    for limits in (Monitoring(), Monitoring(idle_seconds=30), Monitoring(idle_share=0.8)):
        result, _ = _watched(600, ScriptedModel([]), _computes(waits_from=0), limits=limits)
        ends.append(result.seconds)
    assert ends[1] < ends[0] < ends[2]


# --- a cell that only computes --------------------------------------------------------------------


@pytest.mark.parametrize("limit", _LIMITS)
def test_an_endless_loop_is_stopped_by_the_line_that_shows_it(limit: float) -> None:
    """The model is asked within a third of the timeout, and its quote of the code ends the cell."""
    model = _verdict(" while True:  ")
    result, events = _watched(limit, model, _computes(0.98))
    assert result.status is CellStatus.STOPPED
    assert result.seconds <= min(limit / 3, 620)
    assert result.error.endswith("s: The loop has no end (its code: while True:)")
    asked, heard = events
    assert isinstance(asked, MonitorAsked)
    assert [each.symptom for each in asked.evidence] == ["spinning"]
    assert isinstance(heard, MonitorHeard)
    assert heard.accepted
    shown = _question(model.requests[0])
    assert "0.98 cores, but it printed nothing and changed neither memory nor files" in shown
    assert "you may quote a line of its code" in shown
    assert "of processor time on all cores together, and hold 1024 MiB of memory." in shown
    assert "It has printed nothing." in shown


@pytest.mark.parametrize("quote", ["", "while False:", "True", "[...]"])
def test_a_quote_that_is_not_in_the_code_ends_nothing(quote: str) -> None:
    """A verdict without a whole line of the code is recorded and has no effect."""
    result, events = _watched(300, _verdict(quote), _computes())
    assert result.status is CellStatus.TIMEOUT
    failures = {event.failure for event in events if isinstance(event, MonitorHeard)}
    assert failures == {"the line that it quotes was not printed, nor is it in the code"}


def test_the_code_is_no_evidence_against_a_cell_that_prints() -> None:
    """Where output grows, only a printed line counts."""
    lines = tuple((float(at), f"epoch {at} loss: 0.5") for at in range(300))
    result, events = _watched(300, _verdict("while True:"), _computes(), lines=lines)
    assert result.status is CellStatus.TIMEOUT
    failures = {event.failure for event in events if isinstance(event, MonitorHeard)}
    assert failures == {"the line that it quotes was not printed"}


def test_the_code_is_no_evidence_against_a_cell_that_is_only_silent() -> None:
    """Without output where progress was announced, but with memory that grows, the code ends nothing."""
    program = f"{SPINS}\n    print(1)"
    model = _verdict("while True:")
    lines, usage = ((1.0, "begin"),), _computes(growth=2 << 20)
    result, events = _watched(300, model, usage, code=program, lines=lines)
    assert result.status is CellStatus.TIMEOUT
    asked = [event for event in events if isinstance(event, MonitorAsked)]
    assert "silence" in {each.symptom for event in asked for each in event.evidence}
    failures = {event.failure for event in events if isinstance(event, MonitorHeard)}
    assert failures == {"the line that it quotes was not printed"}


@pytest.mark.parametrize(
    ("output", "later", "stopped"),
    [
        ("", CellUsage(cpu_seconds=90, memory_bytes=1 << 30), True),
        ("begin\n", CellUsage(cpu_seconds=90, memory_bytes=1 << 30), False),
        ("", CellUsage(cpu_seconds=90, memory_bytes=3 << 30), False),
        ("", CellUsage(cpu_seconds=90, memory_bytes=1 << 30, written_at=5), False),
        ("", None, False),
    ],
    ids=["no trace", "output", "memory", "files", "unknown"],
)
def test_a_trace_before_the_reply_makes_the_code_no_evidence(
    output: str, later: CellUsage | None, *, stopped: bool
) -> None:
    """A cell that printed, or changed memory or files, while the model thought runs on."""
    events: list[WorkEvent] = []
    sent: list[tuple[Callable[[], ModelReply], Future[ModelReply]]] = []

    def start(call: Callable[[], ModelReply]) -> Future[ModelReply]:
        sent.append((call, Future()))
        return sent[-1][1]

    settings = MonitorSettings(start=start)
    watch = CellMonitor(_verdict("while True:"), events.append, settings, "Fit.", SPINS, 300)
    usage = _computes()
    while not sent:
        assert watch.look("", watch.next_look, usage(watch.next_look)) is None
    call, reply = sent[0]
    reply.set_result(call())
    assert bool(watch.look(output, watch.next_look, later)) is stopped
    failures = [event.failure for event in events if isinstance(event, MonitorHeard)]
    changed = "the cell has printed, or changed memory or files, since it was asked about"
    assert failures == ["" if stopped else changed]


@pytest.mark.parametrize(
    ("program", "line", "counts"),
    [
        (SPINS, "while True:", True),
        ("for row in endless():\n    fit(row)", "for row in endless():", True),
        ("total = sum(1 for _ in count())", "total = sum(1 for _ in count())", True),
        ("worker.join()", "worker.join()", True),
        ("answer = input()", "answer = input()", True),
        ("time.sleep(1e9)", "time.sleep(1e9)", True),
        ("model.fit(x, y)", "model.fit(x, y)", False),
        (
            "fit(x)  # while True: wait for it in vain",
            "fit(x)  # while True: wait for it in vain",
            False,
        ),
        ("# while True:\nfit(x)", "# while True:", False),
    ],
)
def test_only_a_loop_or_a_wait_in_the_code_is_evidence(program: str, line: str, *, counts: bool) -> None:
    """A quoted line of the code without one has no effect, and the failure says so."""
    result, events = _watched(300, _verdict(line), _computes(), code=program)
    assert result.status is (CellStatus.STOPPED if counts else CellStatus.TIMEOUT)
    failures = {event.failure for event in events if isinstance(event, MonitorHeard)}
    assert failures == {"" if counts else "the line of the code that it quotes has no loop and no wait"}


def test_a_line_of_the_code_that_was_not_shown_is_no_evidence() -> None:
    """Of a long program the middle is left out, and cannot be quoted."""
    rest = "y = 1\n" * 9_000
    result, events = _watched(300, _verdict("while True:"), _computes(), code=f"{rest}{SPINS}\n{rest}")
    assert result.status is CellStatus.TIMEOUT
    failures = {event.failure for event in events if isinstance(event, MonitorHeard)}
    assert failures == {"the line that it quotes was not printed, nor is it in the code"}


@pytest.mark.parametrize("limit", _LIMITS)
def test_a_silent_fit_that_grows_is_not_asked_about(limit: float) -> None:
    """Memory that grows is a trace of progress, and costs no question."""
    model = ScriptedModel([])
    result, events = _watched(limit, model, _computes(growth=2 << 20), ends=0.9 * limit)
    assert result.status is CellStatus.OK
    assert (events, model.requests) == ([], [])


def test_a_cell_that_has_come_to_wait_is_not_asked_about() -> None:
    """Once it computes nothing any more, evidence stops it without a question."""
    model = ScriptedModel([])
    result, events = _watched(600, model, _computes(waits_from=100))
    assert result.status is CellStatus.STOPPED
    assert (events, model.requests) == ([], [])


def test_only_questions_that_stop_nothing_use_up_the_campaigns_share() -> None:
    """Without other calls there is a question for each lost cell, and a single one in vain."""
    questions = Questions(0.1, lambda: 0)
    for quote, asked in (
        ("while True:", 2),
        ("while True:", 2),
        ("no such line", 2),
        ("while True:", 0),
    ):
        _, events = _watched(300, _verdict(quote), _computes(), questions=questions)
        assert len(events) == asked


def test_a_silent_fit_is_asked_about_at_doubled_times() -> None:
    """A fit in compiled code without any trace runs to its end, after a few questions."""
    model = _verdict("", stop=False)
    result, events = _watched(18_000, model, _computes(4.0), code="model.fit(x, y)", ends=10_000)
    assert result.status is CellStatus.OK
    asked = [event.seconds for event in events if isinstance(event, MonitorAsked)]
    assert asked == [620, 1_820, 4_220, 9_020]


def test_more_of_the_code_is_shown_in_place_of_output() -> None:
    """The prompt about a cell without output has twice as much of a long program, and is bounded."""
    sizes = []
    for lines in ((), tuple((float(at), "epoch") for at in range(300))):
        model = _verdict("", stop=False)
        _watched(300, model, _computes(), code="y = 1\n" * 9_000, lines=lines)
        sizes.append(len(_question(model.requests[0]).partition("# Time")[0]))
    assert 1.8 < sizes[0] / sizes[1] < 2.2
    assert sizes[0] < 8_000


def test_the_time_of_the_first_question_is_a_setting() -> None:
    """`ask_share` and `ask_seconds` are used: the smaller of both is the time of the first question."""
    lines = tuple((float(at), f"fold {at} done") for at in range(0, 1000, 5))
    first = []
    for limits in (Monitoring(), Monitoring(ask_seconds=60), Monitoring(ask_share=0.6)):
        model = _verdict("", stop=False)
        _, events = _watched(1000, model, _computes(), lines=lines, limits=limits)
        first.append(next(event.seconds for event in events if isinstance(event, MonitorAsked)))
    assert first[1] < first[0] < first[2]


def test_without_questions_evidence_still_stops() -> None:
    """`questions: 0` asks no model; a cell that does nothing is stopped all the same."""
    model, limits = ScriptedModel([]), Monitoring(questions=0)
    assert _watched(300, model, _computes(), limits=limits)[0].status is CellStatus.TIMEOUT
    waits = _computes(waits_from=1)
    assert _watched(300, model, waits, limits=limits)[0].status is CellStatus.STOPPED
