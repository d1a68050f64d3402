"""The loop runs an agent's plan to its end without Prefect, resuming from its log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from comind.campaign.log.campaign_events import CampaignEnded, EnvironmentRead
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.outcome import ThinkOutcome
from comind.campaign.log.work import Code, Decision, Done, Think, Wait
from comind.campaign.loop import Campaign, Finished, run
from comind.domain.environment import Environment, Machine
from comind.domain.spend import Budget, Spend
from comind.errors import CampaignError, ComindError, ModelServiceError
from comind.llm.model_ports import Usage
from tests.unit.campaign.samples import code, scored
from tests.unit.campaign.world import World, reply


def _summary(state: CampaignState) -> list[tuple[str, str, float | None]]:
    """Return what must not depend on kills: work, roles and scores."""
    rows = []
    for record in state.works:
        assert record.work.kind == "code"
        assert record.outcome is not None
        assert record.outcome.kind == "code"
        score = record.outcome.score
        rows.append((record.id, record.work.operator.value, score.value.value if score else None))
    return rows


_UNDISTURBED = [
    ("attempt-000", "draft", 0.9),
    ("attempt-001", "improve", 0.95),
    ("attempt-002", "improve", 0.95),
]


def test_a_baseline_is_improved_upon(tmp_path: Path) -> None:
    """The tiny agent scores a baseline, then improves it for the given number of iterations."""
    world = World(tmp_path)
    state = world.run(world.campaign())
    assert _summary(state) == _UNDISTURBED
    assert state.best is not None
    assert state.best.work_id == "attempt-001"
    assert state.ended == CampaignEnded(reason="done", detail="all iterations are over")
    assert CAMPAIGN_LOG.read(world.folder.log) == state


def test_a_campaign_killed_after_any_event_resumes_to_the_same_end(tmp_path: Path) -> None:
    """Killed after any event, the campaign resumes to the same attempts and scores."""
    world = World(tmp_path)
    world.run(world.campaign())
    lines = world.folder.log.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        world.folder.log.write_bytes(b"".join(lines[:cut]))
        again = World(tmp_path)
        campaign = again.campaign()
        campaign.resume()
        state = again.run(campaign)
        assert _summary(state) == _UNDISTURBED
        assert again.model.requests == [], "every reply was recorded"


def test_a_spent_budget_ends_the_campaign(tmp_path: Path) -> None:
    """When the token budget is exhausted, work in flight finishes and nothing more is planned."""
    world = World(tmp_path, budget=Budget(tokens=240, closing_share=0))
    state = world.run(world.campaign())
    assert _summary(state) == _UNDISTURBED[:1]
    assert state.ended is not None
    assert state.ended.reason == "budget"
    assert state.ended.detail == "the campaign's token limit is reached"


@pytest.mark.parametrize(
    ("small", "raised"),
    [
        (Budget(tokens=240, closing_share=0), Budget(tokens=100_000, closing_share=0)),
        (Budget(usd=0.2, closing_share=0), Budget(usd=5.0, closing_share=0)),
    ],
)
def test_a_spent_budget_that_is_raised_goes_on(tmp_path: Path, small: Budget, raised: Budget) -> None:
    """With more tokens or dollars, a campaign that ended by its budget runs to its full end."""
    usage = Usage(prompt_tokens=100, completion_tokens=20, usd=0.1)
    world = World(tmp_path, budget=small, usage=usage)
    state = world.run(world.campaign())
    assert state.ended is not None
    assert state.ended.reason == "budget"
    asked = len(world.model.requests)
    again = World(tmp_path, budget=raised, usage=usage)
    campaign = again.campaign()
    campaign.resume(raised)
    state = again.run(campaign)
    assert _summary(state)[-1] == _UNDISTURBED[-1]
    assert state.ended == CampaignEnded(reason="done", detail="all iterations are over")
    undisturbed = World(tmp_path / "undisturbed")
    undisturbed.run(undisturbed.campaign())
    assert asked + len(again.model.requests) == len(undisturbed.model.requests)


def test_a_broken_service_halts_and_resumes(tmp_path: Path) -> None:
    """When the endpoint is down, the error reaches the caller; resumed, the campaign completes."""
    world = World(tmp_path, [reply("look"), reply("good"), reply("better")])
    with pytest.raises(ModelServiceError):
        world.run(world.campaign(coders=1))
    halted = CAMPAIGN_LOG.read(world.folder.log)
    assert [record.id for record in halted.works.in_flight()] == ["attempt-001"]
    assert halted.best is not None
    again = World(tmp_path)
    campaign = again.campaign()
    campaign.resume()
    state = again.run(campaign)
    assert [row[0] for row in _summary(state)] == ["attempt-000", "attempt-001", "attempt-002"]


def test_a_campaign_is_run_by_one_process(tmp_path: Path) -> None:
    """A second process is refused by the lock with a one-line error."""
    world = World(tmp_path)
    campaign = world.campaign()
    with pytest.raises(CampaignError, match="another process"):
        Campaign(world.folder)
    campaign.close()


def test_the_clock_survives_a_kill(tmp_path: Path) -> None:
    """Seconds without an event count from the last tick."""
    world = World(tmp_path)
    campaign = world.campaign()
    world.folder.clock.write_text("1234.5\n")
    campaign.close()
    campaign = world.campaign()
    assert 1234.5 <= campaign.elapsed < 1240
    campaign.close()


@dataclass
class _OneByOne:
    """Ends what was submitted one at a time, oldest first; keeps what ran beside each."""

    error: ComindError | None = None
    running: dict[str, Think | Code] = field(default_factory=dict)
    beside: list[list[str]] = field(default_factory=list)

    def submit(self, work_id: str, work: Think | Code) -> None:
        self.running[work_id] = work

    def finished(self) -> list[Finished]:
        self.beside.append(list(self.running))
        work_id = next(iter(self.running))
        if self.error is not None:
            del self.running[work_id]
            return [Finished(work_id, self.error)]
        thought = isinstance(self.running.pop(work_id), Think)
        return [Finished(work_id, ThinkOutcome(spend=Spend()) if thought else scored(0.9))]


class _OneMore:
    """Plans a fifth attempt in a free slot."""

    def plan(self, state: CampaignState) -> Decision:
        if len(state.works.attempts()) == 5:
            return Wait() if state.works.in_flight() else Done(reason="all have ended")
        return [code("new")] if state.free_slots() else Wait()

    def remainder(self, _state: CampaignState) -> Sequence[Code]:
        return ()

    def rejections(self, _state: CampaignState) -> Mapping[str, str]:
        return {}


def _killed_with_four_attempts(root: Path) -> Campaign:
    """Return a campaign with four attempts and a thought in flight, resumed on fewer cores."""
    campaign = World(root).campaign(coders=4)
    campaign.record(EnvironmentRead(environment=Environment(machine=Machine(cores=4))))
    for number in range(4):
        campaign.plan(code(str(number)))
    campaign.plan(Think(purpose="look"))
    campaign.record(EnvironmentRead(environment=Environment(machine=Machine(cores=2))))
    return campaign


def test_resumed_attempts_wait_for_free_slots(tmp_path: Path) -> None:
    """Of four attempts two run at once on two cores, the others follow, then a new one begins."""
    executor = _OneByOne()
    with _killed_with_four_attempts(tmp_path) as campaign:
        run(campaign, _OneMore(), executor)
        assert not campaign.state.works.in_flight()
    first, second, third, fourth, new = (f"attempt-{number:03d}" for number in range(5))
    thought = "think-000"
    assert executor.beside == [
        [first, second, thought],
        [second, thought, third],
        [thought, third, fourth],
        [third, fourth],
        [fourth, new],
        [new],
    ]


def test_attempts_that_wait_are_kept_at_a_halt(tmp_path: Path) -> None:
    """None begins once a service is gone, and all are resumed later."""
    executor = _OneByOne(ModelServiceError("the endpoint is down"))
    with _killed_with_four_attempts(tmp_path) as campaign:
        with pytest.raises(ModelServiceError):
            run(campaign, _OneMore(), executor)
        assert len(executor.beside) == 3, "two attempts and the thought"
        assert len(campaign.state.works.in_flight()) == 5
