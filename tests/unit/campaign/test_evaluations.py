"""The limit of evaluations holds under concurrency and after a kill; only agents' gradings count."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.baseline.recipe_programs import Program
from comind.campaign.agent import programs_left
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import BudgetExceeded, CodeOutcome, CodeResult, DeadlineExceeded
from comind.campaign.log.work import BASELINE_ROLE, Code, Decision, Done, Wait
from comind.campaign.log.work_events import WORK_EVENTS, Graded
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.work.context import CodeContext
from comind.campaign.work.evaluations import Evaluations
from comind.campaign.work.metering import ledger_of
from comind.campaign.worker import execute
from comind.domain.spend import Budget
from comind.eventlog.log import read_log
from comind.testing import TinyAgent
from tests.unit.campaign.samples import code
from tests.unit.campaign.world import World


class _Rounds(TinyAgent):
    """Runs the same cells in each attempt, in as many attempts as there are slots for."""

    cells: tuple[str, ...] = ("good",)
    attempts = 20

    def plan(self, state: CampaignState) -> Decision:
        """Fill the free slots."""
        begun = len(state.works)
        free = min(state.free_slots(), programs_left(state, self.attempts, begun))
        if free:
            return [code(f"draft {begun + n}", steps=len(self.cells)) for n in range(free)]
        return Wait() if state.works.in_flight() else Done(reason="all done")

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Run all cells."""
        del work
        for cell in self.cells:
            context.step(cell, cell)
        return CodeResult(report="all cells ran")


def _world(root: Path, agent: TinyAgent, evaluations: int) -> World:
    world = World(root, budget=Budget(seconds=3600.0, evaluations=evaluations))
    world.agent = agent
    return world


def _graded(world: World) -> list[Graded]:
    logs = sorted(world.folder.root.glob("*/log.jsonl"))
    events = [record.event for log in logs for record in read_log(log, WORK_EVENTS)]
    return [event for event in events if isinstance(event, Graded)]


@pytest.mark.parametrize("coders", [1, 4])
@pytest.mark.parametrize("cells", [("good",), ("look", "good", "better"), ("words", "good")])
def test_a_campaign_ends_with_its_last_evaluation(
    tmp_path: Path, coders: int, cells: tuple[str, ...]
) -> None:
    """Exactly seven submissions are graded, numbered in order, also invalid ones; then it ends."""
    agent = _Rounds()
    agent.cells = cells
    world = _world(tmp_path, agent, 7)
    state = world.run(world.campaign(coders=coders, evaluations=7))
    graded = _graded(world)
    assert sorted(each.evaluation or 0 for each in graded) == list(range(1, 8))
    assert {each.evaluations for each in graded} == {7}
    assert state.spend.evaluations == 7
    assert state.ended is not None
    assert (state.ended.reason, state.ended.detail) == ("budget", "7 of 7 evaluations are used up")


def test_steps_that_hand_in_nothing_use_no_evaluation(tmp_path: Path) -> None:
    """Ten cells that only look leave both evaluations to what is handed in after them."""
    agent = _Rounds()
    agent.cells, agent.attempts = ("look",) * 10 + ("good",), 2
    world = _world(tmp_path, agent, 2)
    state = world.run(world.campaign(coders=2, evaluations=2))
    assert (len(_graded(world)), state.spend.evaluations) == (2, 2)
    assert all(each.score is not None for each in state.works.attempts())


def test_no_step_runs_after_the_last_evaluation(tmp_path: Path) -> None:
    """An attempt of other work that comes too late runs nothing, and says why."""
    agent = _Rounds()
    agent.attempts = 1
    world = _world(tmp_path, agent, 1)
    world.run(world.campaign(coders=1, evaluations=1))
    ran, folder = len(world.ran), world.folder.work("attempt-001")
    dependencies = world.dependencies(WORK_LOG.read(world.folder.work("attempt-000").log).owed)
    outcome = execute(agent, code("late", steps=1), folder, dependencies)
    assert outcome.failure is not None
    assert outcome.failure.message == "1 of 1 evaluations are used up"
    assert len(world.ran) == ran


def test_work_of_the_platform_is_not_counted(tmp_path: Path) -> None:
    """The baseline's grading is none of the campaign's evaluations."""
    world = _world(tmp_path, _Rounds(), 2)
    baseline = code(steps=2).model_copy(update={"role": BASELINE_ROLE})
    dependencies = world.dependencies(baseline=lambda: (Program(name="good", code="good"),))
    outcome = execute(world.agent, baseline, world.folder.work("attempt-000"), dependencies)
    assert isinstance(outcome, CodeOutcome)
    assert outcome.score is not None
    assert (outcome.spend.evaluations, dependencies.ledger.evaluations.used) == (0, 0)


def test_steps_of_the_agent_baseline_are_counted(tmp_path: Path) -> None:
    """Its search goes on from attempt 0, and is limited as any other agent's."""
    world = _world(tmp_path, _Rounds(), 2)
    draft = code().draft.model_copy(update={"codebase": "searched"})
    search = code(steps=1).model_copy(update={"role": BASELINE_ROLE, "draft": draft})
    dependencies = world.dependencies()
    outcome = execute(world.agent, search, world.folder.work("attempt-001"), dependencies)
    assert (outcome.spend.evaluations, dependencies.ledger.evaluations.used) == (1, 1)


def test_a_resumed_campaign_has_the_evaluations_that_its_logs_leave(tmp_path: Path) -> None:
    """After a kill the ledger counts what was graded, in ended attempts and in those in flight."""
    agent = _Rounds()
    agent.cells, agent.attempts = ("good", "better"), 2
    world = _world(tmp_path, agent, 3)
    campaign = world.campaign(coders=1, evaluations=3)
    campaign.plan(code("first", steps=2))
    campaign.close()
    folder = world.folder.work("attempt-000")
    execute(agent, code("first", steps=2), folder, world.dependencies())
    kept = folder.log.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(kept) if b'"type":"graded"' in line.replace(b" ", b""))
    folder.log.write_bytes(b"".join(kept[:last]))  # killed after the second cell, before its grading
    ledger = ledger_of(ProjectFolder(tmp_path), world.folder, world.budget)
    assert ledger.evaluations.used == 1
    outcome = execute(agent, code("first", steps=2), folder, world.dependencies(ledger=ledger))
    assert outcome.failure is None
    assert [each.evaluation for each in _graded(world)] == [1, 2]


@given(st.integers(1, 6), st.lists(st.lists(st.booleans(), max_size=5), min_size=1, max_size=6))
def test_concurrent_attempts_never_exceed_the_limit(limit: int, plans: list[list[bool]]) -> None:
    """Threads that take places, and use or release each, get each number once, and none too many."""
    evaluations, numbers, lock = Evaluations(limit), list[int](), threading.Lock()

    def attempt(plan: list[bool]) -> None:
        place = evaluations.place()
        try:
            for use in plan:
                place.take(lambda: 1.0)
                if use:
                    number = place.use()
                    with lock:
                        numbers.append(number)
        except BudgetExceeded:
            return
        finally:
            place.release()

    with ThreadPoolExecutor(len(plans)) as pool:
        list(pool.map(attempt, plans))
    wanted = sum(sum(plan) for plan in plans)
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(numbers) <= limit
    assert len(numbers) == wanted or evaluations.over


def test_a_step_waits_for_an_evaluation_until_its_deadline() -> None:
    """While another attempt holds the last one a step waits; the deadline ends the wait."""
    evaluations = Evaluations(1)
    first, second = evaluations.place(), evaluations.place()
    first.take(lambda: 1.0)

    def seconds_left(until: float) -> Callable[[], float]:
        def left() -> float:
            if time.monotonic() > until:
                raise DeadlineExceeded("late")
            return 0.01

        return left

    with pytest.raises(DeadlineExceeded):
        second.take(seconds_left(time.monotonic() + 0.1))
    threading.Timer(0.1, first.release).start()
    second.take(seconds_left(time.monotonic() + 30))
    assert second.use() == 1
