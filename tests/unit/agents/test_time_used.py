"""Thirty minutes on a virtual clock: how much of them attempts have, and what is left unused."""

import heapq
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from comind.agents.comind.last_attempts import last_attempts
from comind.agents.comind.thoughts import COORDINATE, PROPOSE
from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.log.campaign_events import CampaignEvent, EnvironmentRead
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.outcome import CodeOutcome, ThinkOutcome
from comind.campaign.log.work import Code, Think
from comind.campaign.loop import Campaign, Finished, run
from comind.domain.draft import Draft
from comind.domain.environment import Environment, Machine
from comind.domain.spend import Budget, Spend
from comind.domain.value import Payload
from tests.unit.agents.rounds import IDEA, attempt, baseline, state_of, thought
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import code, failed, opened, scored

_LIMIT = 1800.0
_CALL = _STEP = 60.0  # seconds of a model's reply in planning, and of a step with its reply
_BASELINE = 30.0
_MOST_STEPS = 8  # then an attempt gains nothing more, and ends


@dataclass
class _Executor:
    """Ends each piece of work after its virtual time."""

    now: float = 0.0
    submitted: int = 0
    drafted: int = 0
    waiting: list[tuple[float, int, Finished]] = field(default_factory=list)
    attempts: list[tuple[float, float]] = field(default_factory=list)
    """When each began and ended."""

    def submit(self, work_id: str, work: Think | Code) -> None:
        outcome = self._thought(work) if isinstance(work, Think) else self._attempt(work)
        self.submitted += 1
        ends = self.now + outcome.spend.seconds
        if isinstance(work, Code) and not work.is_baseline:
            self.attempts.append((self.now, ends))
        heapq.heappush(self.waiting, (ends, self.submitted, Finished(work_id, outcome)))

    def finished(self) -> list[Finished]:
        ends, _, finished = heapq.heappop(self.waiting)
        self.now = ends
        return [finished]

    def _thought(self, work: Think) -> ThinkOutcome:
        result: dict[str, Any] = {"ideas": [IDEA]} if work.purpose == PROPOSE.name else {}
        calls = 2 if work.purpose == PROPOSE.name else 1
        if work.purpose == COORDINATE.name:
            self.drafted += 2
            titles = (f"draft {number}" for number in range(self.drafted - 2, self.drafted))
            result["drafts"] = [
                Draft(title=each, method="Trees.").model_dump(mode="json") for each in titles
            ]
        return ThinkOutcome(result=Payload(result), spend=Spend(seconds=calls * _CALL, calls=calls))

    def _attempt(self, work: Code) -> CodeOutcome:
        seconds = _BASELINE if work.is_baseline else min(work.budget.seconds, _MOST_STEPS * _STEP)
        steps = max(1, int(seconds // _STEP))
        spend = Spend(seconds=seconds, model_seconds=steps * _STEP / 2, calls=steps)
        changes = {"steps": steps, "code": "x", "code_seconds": _STEP / 2, "spend": spend}
        return scored(0.7 + 0.001 * self.submitted).model_copy(update=changes)


def _used(folder: Path, **spec: Any) -> tuple[float, float, float]:
    """Return the share of time with a running attempt, the unused seconds, and those of closing."""
    executor = _Executor()
    with Campaign(CampaignFolder(folder), now=lambda: executor.now) as campaign:
        budget = Budget(seconds=_LIMIT, closing_time_share=0.2)
        limits = {"attempt_seconds": _LIMIT, "cell_seconds": _LIMIT, "round_share": 0.45, "steps": 30}
        campaign.record(opened(**{"budget": budget, "iterations": None, "refit": True} | limits | spec))
        campaign.record(EnvironmentRead(environment=Environment(machine=Machine(cores=2))))
        run(campaign, BaselineFirst(agent_for()), executor)
        ran, until = 0.0, 0.0
        for begins, ends in executor.attempts:
            ran += max(0.0, ends - max(begins, until))
            until = max(until, ends)
        return ran / _LIMIT, _LIMIT - until, campaign.state.closing_seconds()


@pytest.mark.parametrize(("cores", "least"), [(1, 0.8), (2, 0.65)])
def test_attempts_have_two_thirds_of_the_time(tmp_path: Path, cores: int, least: float) -> None:
    """At least 65 % of it, more where thinking is done beside an attempt; hardly any is left unused.

    That is time with an attempt over all time. Unused is no more than a step and the closing phase.
    """
    share, unused, closing = _used(tmp_path, coders=2, cores=cores)
    assert share >= least
    assert unused <= _STEP + closing


def test_nothing_more_is_begun_where_iterations_are_over(tmp_path: Path) -> None:
    """The remainder is used in place of a round that is late, not after the last round asked for."""
    share, unused, _ = _used(tmp_path, coders=2, cores=1, iterations=1)
    assert share == pytest.approx(2 * _MOST_STEPS * _STEP / _LIMIT)
    assert unused == _LIMIT - (_BASELINE + 4 * _CALL + 2 * _MOST_STEPS * _STEP)


def _ended(number: int, work: Code, outcome: CodeOutcome | None) -> list[CampaignEvent]:
    return attempt(number, work, outcome and outcome.model_copy(update={"code": f"program {number}"}))


def test_the_two_best_are_extended_in_turn() -> None:
    """Each free slot gets one, from the program of an attempt, and none after one without a score."""
    plain = [*baseline(), *_ended(1, code("a"), scored(0.8)), *_ended(2, code("b"), scored(0.9))]
    state = state_of(*plain, coders=3)
    first = last_attempts(state)
    assert [each.parents for each in first] == [("attempt-002",), ("attempt-001",), ("attempt-002",)]
    assert first[0].draft.codebase == "program 2"
    assert len({each.draft.title for each in first}) == len(first)
    again = state_of(*plain, *_ended(3, first[0], scored(0.85)), coders=1)
    assert [each.parents for each in last_attempts(again)] == [("attempt-003",)]
    assert not last_attempts(state_of(*plain, *_ended(3, first[0], failed()), coders=1))
    assert not last_attempts(state_of(*baseline(failed()), coders=1))


def test_what_extends_at_the_end_is_no_draft_of_a_round() -> None:
    """A draft that waits is planned also after such an attempt."""
    drafts = {"drafts": [Draft(title="a", method="b").model_dump(mode="json")]}
    [work, *_] = last_attempts(state_of(*baseline(scored(0.7).model_copy(update={"code": "x"}))))
    events = [*baseline(), *attempt(1, work, scored(0.8)), *thought(0, COORDINATE, drafts)]
    planned = agent_for().plan(state_of(*events))
    assert isinstance(planned, list)
    assert [each.draft.title for each in planned if isinstance(each, Code)] == ["a"]
