"""The monitor stops a cell on evidence, or on a verdict that quotes a printed line."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.baseline.recipe_programs import Program
from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import BASELINE_ROLE
from comind.campaign.log.work_events import (
    MONITOR_ROLE,
    WORK_EVENTS,
    CellEnded,
    MonitorAsked,
    MonitorHeard,
    WorkEvent,
)
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.work.monitor import (
    CellMonitor,
    MonitorSettings,
    quotes_line,
)
from comind.campaign.worker import execute
from comind.domain.spend import Budget
from comind.errors import ModelServiceError, ReplyError
from comind.eventlog.log import read_log
from comind.llm.model_ports import ModelRequest
from comind.llm.offline import RefusingModel
from comind.session.session_ports import CellResult, CellStatus
from comind.testing import ScriptedModel, ScriptedSession
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World, reply, run_inline

Lines = Callable[[Path], Iterator[tuple[float, str]]]


SETTINGS = MonitorSettings(Monitoring(ask_seconds=20), start=run_inline)
HOURS = 3600.0


def _saying(line: str, *, every: float = 10.0, times: int | None = None) -> Lines:
    def cell(workspace: Path) -> Iterator[tuple[float, str]]:
        for number in count(1) if times is None else range(1, times + 1):
            yield number * every, line.replace("#", str(number))

    return cell


def _verdict(*, stop: bool, quote: str = "", reason: str = "It is lost.") -> str:
    return json.dumps({"stop": stop, "quote": quote, "reason": reason})


def _watched(
    cell: Lines,
    model: ScriptedModel,
    *,
    settings: MonitorSettings = SETTINGS,
    seconds: float = 5 * HOURS,
    program: str = "fit()",
) -> tuple[CellResult, list[WorkEvent]]:
    """Run one cell under a monitor; return its result and what the monitor recorded."""
    events: list[WorkEvent] = []
    watch = CellMonitor(model, events.append, settings, "Fit a network.", program, seconds)
    session = ScriptedSession(Path(), {program: cell})
    result = session.run(program, seconds=seconds, watch=watch)
    watch.close()
    return result, events


def _heard(events: list[WorkEvent]) -> list[MonitorHeard]:
    return [event for event in events if isinstance(event, MonitorHeard)]


def _continuing() -> ScriptedModel:
    return ScriptedModel(lambda request: _verdict(stop=False, reason="It makes progress."))


# --- when it looks --------------------------------------------------------------------------------


@given(st.floats(1, 100), st.floats(100, 1000))
def test_intervals_double_up_to_a_limit(first: float, longest: float) -> None:
    """The first inspection is early, intervals double, and none is above the limit."""
    settings = MonitorSettings(first=first, longest=longest, start=run_inline)
    watch, interval = (
        CellMonitor(_continuing(), lambda event: None, settings, "g", "fit()", 9 * HOURS),
        first,
    )
    assert watch.next_look == first
    for _ in range(20):
        before = watch.next_look
        assert watch.look("", before) is None
        interval = min(2 * interval, longest)
        assert watch.next_look - before == pytest.approx(interval)
    assert interval == longest


def test_a_cell_is_looked_at_early_then_rarely() -> None:
    """A quiet cell is inspected after 20, 60, 140 ... seconds, later every ten minutes."""
    watch = CellMonitor(_continuing(), lambda event: None, SETTINGS, "g", "fit()", 5 * HOURS)
    looks = []
    while watch.next_look < HOURS:
        looks.append(watch.next_look)
        assert watch.look("", watch.next_look) is None
    assert looks == [20, 60, 140, 300, 620, 1220, 1820, 2420, 3020]


# --- evidence alone -------------------------------------------------------------------------------


def test_a_lost_training_is_stopped_without_a_model() -> None:
    """A loss of NaN at two inspections in a row stops the cell without a model call."""
    model = ScriptedModel([])
    result, events = _watched(_saying("epoch # loss: nan", every=3), model)
    assert result.status is CellStatus.STOPPED
    assert result.seconds == 40
    assert "the last 13 reports of loss are not a number" in result.error
    assert "(it printed: epoch 13 loss: nan)" in result.error
    assert events == []
    assert model.requests == []


def test_a_cell_whose_stated_time_exceeds_the_timeout_is_stopped() -> None:
    """A stated remaining time far above the timeout, seen twice after the warm-up, stops the cell."""
    model = _continuing()
    result, _ = _watched(_saying("epoch #/1000 ETA: 90:00:00"), model)
    assert result.status is CellStatus.STOPPED
    assert result.seconds == 80
    assert len(model.requests) == 1, "at 20 seconds it is too early to be certain"
    assert "no-time: it says that it needs" in model.requests[0].messages[-1].content


def test_a_loss_that_recovers_is_not_stopped() -> None:
    """Certain evidence that is gone at the next inspection is forgotten."""

    def cell(workspace: Path) -> Iterator[tuple[float, str]]:
        for number in range(1, 100):
            yield 3.0 * number, f"epoch {number} loss: {'nan' if number < 8 else 0.5}"

    result, _ = _watched(cell, _continuing())
    assert result.status is CellStatus.OK


# --- a model's verdict ----------------------------------------------------------------------------


def test_a_stop_with_a_printed_line_ends_the_cell() -> None:
    """The error has the model's reason and quoted line, without extra spaces and quotation marks."""
    model = ScriptedModel(
        [_verdict(stop=True, quote=' "epoch 1   loss: 9e9" ', reason="The loss\nexplodes.")]
    )
    result, events = _watched(_saying("epoch #  loss: 9e9"), model)
    assert result.status is CellStatus.STOPPED
    assert result.error == (
        "the monitor stopped it after 20 s: The loss explodes (it printed: epoch 1 loss: 9e9)"
    )
    asked, heard = events
    assert isinstance(asked, MonitorAsked)
    assert isinstance(heard, MonitorHeard)
    assert heard.accepted
    assert heard.reply is not None
    assert heard.reply.usage.prompt_tokens == 100


@pytest.mark.parametrize(
    "quote", ["", "epoch 1 loss: nan", "loss: 0.77", "---", "epoch", "Stop it, or let it run?"]
)
def test_a_stop_without_a_printed_line_ends_nothing(quote: str) -> None:
    """A quote that was not printed, is empty, or is from our prompt is recorded and rejected."""
    model = ScriptedModel(lambda request: _verdict(stop=True, quote=quote))
    result, events = _watched(_saying("epoch #\n---\nloss: 0.#"), model, seconds=100)
    assert result.status is CellStatus.TIMEOUT
    assert {heard.failure for heard in _heard(events)} == {"the line that it quotes was not printed"}
    assert not any(heard.accepted for heard in _heard(events))


@given(st.text(max_size=200), st.text(max_size=50))
def test_only_whole_lines_stand_in_an_output(output: str, quote: str) -> None:
    """Every printed line with letters or digits can be quoted; a quote without any never counts."""
    for line in output.splitlines():
        if sum(char.isalnum() for char in line) > 1:
            assert quotes_line(f"  {line}  ", output)
    if not any(char.isalnum() for char in quote):
        assert not quotes_line(quote, output)


def test_a_healthy_slow_cell_is_left_alone() -> None:
    """A cell with good progress over hours ends by itself, after a bounded number of calls."""
    model = _continuing()
    result, events = _watched(_saying("epoch # loss: 0.5", every=60, times=240), model)
    assert result.status is CellStatus.OK
    assert result.seconds == 4 * HOURS
    assert 5 <= len(model.requests) <= SETTINGS.limits.questions
    assert len(_heard(events)) == len(model.requests)


def test_questions_are_bounded() -> None:
    """However long a cell runs, the number of model calls about it is bounded."""
    model = _continuing()
    settings = MonitorSettings(Monitoring(ask_seconds=20, questions=3), start=run_inline)
    _watched(_saying("ValueError: row #", every=1), model, settings=settings)
    assert len(model.requests) == 3


def test_a_silent_cell_costs_nothing() -> None:
    """Without output there is no line to quote, so the model is not called."""
    model = ScriptedModel([])
    result, events = _watched(_saying("done", every=2 * HOURS, times=1), model)
    assert result.status is CellStatus.OK
    assert events == []


def _failing(request: ModelRequest) -> str:
    raise ModelServiceError("the endpoint is gone")


def _formless(request: ModelRequest) -> str:
    raise ReplyError("the conversation is too long")


@pytest.mark.parametrize(
    ("model", "failure"),
    [
        (ScriptedModel(_failing), "the endpoint is gone"),
        (ScriptedModel(_formless), "the conversation is too long"),
        (ScriptedModel(lambda request: "STOP"), "malformed reply: it is not JSON"),
        (ScriptedModel(lambda request: '{"stop": "perhaps"}'), "malformed reply: stop"),
        (RefusingModel(), "no model is configured for monitor"),
    ],
    ids=["service", "context", "words", "type", "offline"],
)
def test_a_model_that_fails_ends_nothing(model: ScriptedModel, failure: str) -> None:
    """Without a usable reply the cell continues, and the failure is recorded."""
    result, events = _watched(_saying("epoch #", times=30), model)
    assert result.status is CellStatus.OK
    heard = _heard(events)
    assert heard
    assert all(failure in each.failure for each in heard)
    if heard[0].reply is None:
        assert len(heard) == 1, "a model that cannot be asked is not asked again about this cell"


def _printing(watch: CellMonitor, upto: float) -> str | None:
    """Monitor a cell that prints a line a second, in virtual time."""
    while watch.next_look <= upto:
        now = watch.next_look
        if reason := watch.look("\n".join(f"line {n}" for n in range(int(now))), now):
            return reason
    return None


def test_a_question_holds_up_nobody() -> None:
    """While a model call is open the cell runs on and is inspected; a late verdict still counts."""
    go, events = threading.Event(), list[WorkEvent]()

    def answer(request: ModelRequest) -> str:
        go.wait(60)
        return _verdict(stop=True, quote="line 3")

    settings = MonitorSettings(Monitoring(ask_seconds=20), patience=60)
    watch = CellMonitor(ScriptedModel(answer), events.append, settings, "g", "c", HOURS)
    assert _printing(watch, 200) is None
    assert [event.type for event in events] == ["monitor-asked"]
    go.set()
    assert watch._question is not None
    watch._question.reply.exception(timeout=60)
    assert _printing(watch, 201) is not None


def test_an_open_call_of_the_monitor_has_a_timeout_at_the_cells_end() -> None:
    """At a cell's end an open call has a timeout, after which it is charged at its bound."""
    go, events = threading.Event(), list[WorkEvent]()

    def answer(request: ModelRequest) -> str:
        go.wait(60)
        return _verdict(stop=True, quote="line 3")

    settings = MonitorSettings(Monitoring(ask_seconds=20), patience=0.01)
    watch = CellMonitor(ScriptedModel(answer), events.append, settings, "g", "c", HOURS)
    _printing(watch, 30)
    watch.close()
    go.set()
    assert [event.type for event in events] == ["monitor-asked", "monitor-heard"]
    assert _heard(events)[0].lost
    watch.close()
    assert len(events) == 2


# --- in an attempt --------------------------------------------------------------------------------


def _world(root: Path, *, verdict: str, budget: Budget | None = None) -> World:
    """A coder whose first cell diverges and whose second submits."""
    world = World(root, budget=budget or Budget(seconds=HOURS), monitor=SETTINGS)
    world.cells = {"slow": _saying("epoch # loss: 5e9")}
    world.model = ScriptedModel(_coder(verdict))
    return world


def _coder(verdict: str) -> Callable[[ModelRequest], str]:
    def answer(request: ModelRequest) -> str:
        if request.role == MONITOR_ROLE:
            return verdict
        last = request.messages[-1].content
        return reply("slow" if last == "baseline" else "good")

    return answer


STOP = _verdict(stop=True, quote="epoch 1 loss: 5e9", reason="The loss explodes.")


def _carry_out(world: World, **changes: object) -> CodeOutcome:
    work = code().model_copy(update=changes)
    dependencies = world.dependencies(baseline=lambda: (Program(name="slow", code="slow"),))
    outcome = execute(world.agent, work, world.folder.work("attempt-000"), dependencies)
    assert isinstance(outcome, CodeOutcome)
    return outcome


def _events(world: World) -> list[WorkEvent]:
    return [r.event for r in read_log(world.folder.work("attempt-000").log, WORK_EVENTS)]


def test_a_stop_is_fed_back_and_paid_for(tmp_path: Path) -> None:
    """The coder sees why its cell was stopped, the call is charged, and the attempt continues."""
    world = _world(tmp_path, verdict=STOP)
    outcome = _carry_out(world)
    assert outcome.score is not None
    assert outcome.spend.calls == 3
    assert outcome.spend.tokens == 3 * 120
    ended = next(event for event in _events(world) if isinstance(event, CellEnded))
    assert ended.result.status is CellStatus.STOPPED
    assert "The loss explodes" in world.model.requests[-1].messages[-1].content


@pytest.mark.parametrize("role", [BASELINE_ROLE, "refit"])
def test_our_own_code_is_not_watched(tmp_path: Path, role: str) -> None:
    """The baseline and the refit are not monitored."""
    world = _world(tmp_path, verdict=STOP)
    _carry_out(world, role=role)
    assert all(request.role != MONITOR_ROLE for request in world.model.requests)
    ended = next(event for event in _events(world) if isinstance(event, CellEnded))
    assert ended.result.status is CellStatus.TIMEOUT


def test_a_replay_asks_nobody(tmp_path: Path) -> None:
    """Cut after any record, work resumes to the same end, without monitor calls for finished cells."""
    whole = _world(tmp_path / "whole", verdict=STOP)
    expected = _carry_out(whole)
    lines = whole.folder.work("attempt-000").log.read_bytes().splitlines(keepends=True)
    types = [event.type for event in _events(whole)]
    assert types[2:7] == [
        "cell-started",
        "session-opened",
        "monitor-asked",
        "monitor-heard",
        "cell-ended",
    ]
    for cut in range(len(lines) + 1):
        root = tmp_path / f"cut-{cut}"
        shutil.copytree(tmp_path / "whole", root)
        world = _world(root, verdict=STOP)
        log = world.folder.work("attempt-000").log
        log.write_bytes(b"".join(lines[:cut]))
        before = WORK_LOG.read(log)
        outcome = _carry_out(world)
        assert outcome.score == expected.score
        asked = [r for r in world.model.requests if r.role == MONITOR_ROLE]
        assert len(asked) == (0 if "cell-ended" in types[:cut] else 1)
        lost = int(before.open_call is not None)
        assert outcome.spend.lost_calls == lost
        again = int("monitor-heard" in types[:cut] and "cell-ended" not in types[:cut])
        assert outcome.spend.calls == 3 + lost + again


def test_a_monitor_call_at_a_kill_counts_against_the_budget(tmp_path: Path) -> None:
    """Killed during a monitor call, its bound counts against the budget."""
    world = _world(tmp_path, verdict=STOP)
    _carry_out(world)
    log = world.folder.work("attempt-000").log
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:5]))
    state = WORK_LOG.read(log)
    assert state.open_call is not None
    assert (state.open_call.role, state.open_call.cell) == (MONITOR_ROLE, 0)
    assert state.spend.calls == 1
    assert (state.owed.calls, state.owed.lost_calls, state.owed.tokens) == (2, 1, 240)


def test_a_budget_that_is_over_stops_no_cell(tmp_path: Path) -> None:
    """If the budget does not allow the monitor's call, the cell runs to its own end."""
    world = _world(tmp_path, verdict=STOP, budget=Budget(tokens=200))
    _carry_out(world)
    heard = _heard(_events(world))
    assert [each.failure for each in heard] == ["120 of 200 tokens are used up"]
    ended = next(event for event in _events(world) if isinstance(event, CellEnded))
    assert ended.result.status is CellStatus.TIMEOUT


# --- what it asks ---------------------------------------------------------------------------------


def test_the_question_is_as_reviewed() -> None:
    """The monitor's prompt changes only together with the reviewed text in snapshots/."""
    model = _continuing()
    cell = _saying("UserWarning: row # is empty", every=1)
    _watched(cell, model, seconds=3 * HOURS, program="for row in rows:\n    fit(row)")
    asked = "\n\n".join(f"=== {m.role}\n{m.content}" for m in model.requests[0].messages) + "\n"
    snapshot = Path(__file__).parent / "snapshots" / "monitor.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(exist_ok=True)
        snapshot.write_text(asked)
    assert asked == snapshot.read_text()


def test_a_question_is_bounded() -> None:
    """The monitor's prompt is bounded, whatever is printed and however long the program is."""
    model = _continuing()
    _watched(_saying("x" * 9_000, every=1), model, program="y = 1\n" * 9_000)
    assert model.requests
    assert all(sum(len(m.content) for m in r.messages) < 12_000 for r in model.requests)


def test_a_healthy_cell_is_asked_about_after_minutes() -> None:
    """Without evidence the model is not called in the first minutes, however much a cell prints."""
    settings = MonitorSettings(start=run_inline)
    for seconds, asked in ((290.0, 0), (400.0, 1)):
        model = _continuing()
        _watched(_saying("fold # done", times=int(seconds / 10)), model, settings=settings)
        assert len(model.requests) == asked


@pytest.mark.parametrize(("first_line", "asked"), [(330.0, 1), (370.0, 0)])
def test_no_question_is_asked_shortly_before_the_timeout(first_line: float, asked: int) -> None:
    """With 20 of 400 s left a reply could stop nothing any more."""
    model = _continuing()
    _watched(_saying("fold # done", every=first_line), model, seconds=400.0)
    assert len(model.requests) == asked
