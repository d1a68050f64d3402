"""The monitor's questions that stop nothing are a small share of a campaign's model calls."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.campaign_settings import Monitoring
from comind.campaign.log.work_events import WorkEvent
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.work.metering import BudgetLedger, Meter, MeteredModel
from comind.campaign.work.monitor import CellMonitor, MonitorSettings
from comind.campaign.work.questions import Questions, asked_in_vain
from comind.campaign.worker import execute
from comind.domain.spend import Budget, Spend
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.rate_limiter import RateLimiter
from comind.session.load import CellUsage
from comind.testing import ScriptedModel, ScriptedSession
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World, reply, run_inline

_CELLS = st.lists(
    st.tuples(
        st.integers(0, 3),  # calls of the agent before it
        st.floats(1, 18_000),  # its timeout
        st.floats(0, 1),  # the part of it that it takes
        st.floats(0, 4),  # cores
        st.sampled_from([0.0, 0.01, 1.0, 100.0]),  # MiB a second
        st.sampled_from(["", "epoch # score: 0.5", "UserWarning: row #", "score: nan"]),
    ),
    max_size=25,
)


def _answering(request: ModelRequest) -> str:
    return json.dumps({"stop": False, "reason": "It is healthy."})


@given(_CELLS)
def test_questions_about_healthy_cells_are_under_a_tenth(
    cells: list[tuple[int, float, float, float, float, str]],
) -> None:
    """Whatever healthy cells print and use, at most a tenth of all calls is about them, or one call."""
    ledger = BudgetLedger(Budget(), Spend())
    model = ScriptedModel(_answering)
    metered = MeteredModel(model, Meter(ledger, RateLimiter()))
    settings = MonitorSettings(Monitoring(), Questions(0.1, lambda: ledger.calls), start=run_inline)
    for calls, limit, part, cores, growth, line in cells:
        for _ in range(calls):
            metered.complete(ModelRequest(role="coder", messages=(Message(role="user", content="c"),)))

        def lines(_: Path, end: float = part * limit, line: str = line) -> Iterator[tuple[float, str]]:
            for number in range(50):
                yield number * end / 50, line.replace("#", str(number))

        def usage(at: float, cores: float = cores, growth: float = growth) -> CellUsage:
            return CellUsage(cpu_seconds=cores * at, memory_bytes=(1 << 30) + (int(growth * at) << 20))

        watch = CellMonitor(metered, lambda _: None, settings, "g", "print(fit())", limit)
        ScriptedSession(Path(), {"c": lines}, usage=usage).run("c", seconds=limit, watch=watch)
        watch.close()
        asked = sum(request.role == "monitor" for request in model.requests)
        assert ledger.calls == len(model.requests)
        assert asked <= max(1, ledger.calls / 10)


@given(st.floats(0.01, 1), st.lists(st.sampled_from(["call", "ask", "stops", "in vain"]), max_size=60))
def test_open_questions_count_as_asked_in_vain(share: float, steps: list[str]) -> None:
    """However questions overlap, those in vain and open are within the share of calls, or one."""
    made = {"calls": 0, "open": 0, "vain": 0}
    questions = Questions(share, lambda: made["calls"])
    for step in steps:
        if step == "call":
            made["calls"] += 1
        elif step == "ask" and questions.begin():
            made["open"] += 1
            doubtful = made["vain"] + made["open"]
            assert doubtful <= max(1, share * (made["calls"] + made["open"]))
        elif step in ("stops", "in vain") and made["open"]:
            made["open"] -= 1
            made["calls"] += 1
            made["vain"] += step == "in vain"
            questions.end(stopped=step == "stops")


def test_questions_that_stop_cells_are_not_limited() -> None:
    """A campaign whose model writes many lost cells gets a question for each."""
    questions = Questions(0.1, lambda: 0)
    for _ in range(9):
        assert questions.begin()
        questions.end(stopped=True)
    assert questions.begin()
    assert not questions.begin()


def _silent(model: MeteredModel, note: Callable[[WorkEvent], None], questions: Questions) -> str:
    """Run a cell that computes without any trace under a monitor; return its error."""
    settings = MonitorSettings(Monitoring(questions=1), questions, start=run_inline)
    watch = CellMonitor(model, note, settings, "g", "fit()", 300)

    def usage(at: float) -> CellUsage:
        return CellUsage(cpu_seconds=at, memory_bytes=1 << 30)

    cells = {"c": lambda _: iter([(300.0, "done")])}
    return ScriptedSession(Path(), cells, usage=usage).run("c", seconds=300, watch=watch).error


def test_a_question_that_cannot_be_recorded_is_not_open() -> None:
    """After an error before its request, the next question may be asked."""
    ledger = BudgetLedger(Budget(), Spend())
    metered = MeteredModel(ScriptedModel(_answering), Meter(ledger, RateLimiter()))
    questions = Questions(0.1, lambda: 0)

    def full(event: WorkEvent) -> None:
        raise OSError("no space left on device")

    assert _silent(metered, full, questions) == "OSError: no space left on device"
    assert questions.begin()


def test_a_question_that_the_budget_refused_was_not_in_vain() -> None:
    """It made no request, so the next question may be asked."""
    ledger = BudgetLedger(Budget(tokens=1), Spend())
    model, events = ScriptedModel(_answering), list[WorkEvent]()
    questions = Questions(0.1, lambda: ledger.calls)
    _silent(MeteredModel(model, Meter(ledger, RateLimiter())), events.append, questions)
    assert [event.type for event in events] == ["monitor-asked", "monitor-heard"]
    assert model.requests == []
    assert questions.begin()


def test_refused_questions_in_logs_are_not_counted(tmp_path: Path) -> None:
    """A resumed campaign does not count a question that the budget refused."""
    settings = MonitorSettings(Monitoring(ask_seconds=5, questions=1), start=run_inline)
    world = World(tmp_path, monitor=settings, budget=Budget(tokens=200))
    world.cells = {"slow": lambda _: ((number, f"epoch {number}") for number in range(600))}
    world.model = ScriptedModel(_by_role({"stop": False, "reason": "It is healthy."}))
    execute(world.agent, code(), world.folder.work("attempt-000"), world.dependencies())
    state = WORK_LOG.read(world.folder.work("attempt-000").log)
    assert [call.failure for call in state.calls if call.role == "monitor"]
    assert asked_in_vain(world.folder) == 0


def _by_role(verdict: Mapping[str, object]) -> Callable[[ModelRequest], str]:
    return lambda request: json.dumps(verdict) if request.role == "monitor" else reply("slow")


def test_a_resumed_campaign_counts_what_its_logs_have(tmp_path: Path) -> None:
    """Questions that stopped nothing are read from the logs; those that stopped a cell do not count."""

    def lost(workspace: Path) -> Iterator[tuple[float, str]]:
        return ((number, f"epoch {number} loss: 5e9") for number in range(600))

    for stop in (True, False):
        settings = MonitorSettings(Monitoring(ask_seconds=5, questions=1), start=run_inline)
        world = World(tmp_path / str(stop), monitor=settings)
        world.cells = {"slow": lost}
        verdict = {"stop": stop, "quote": "epoch 1 loss: 5e9", "reason": "It explodes."}
        world.model = ScriptedModel(_by_role(verdict))
        execute(world.agent, code(), world.folder.work("attempt-000"), world.dependencies())
        asked = sum(request.role == "monitor" for request in world.model.requests)
        assert asked
        assert asked_in_vain(world.folder) == (0 if stop else asked)
