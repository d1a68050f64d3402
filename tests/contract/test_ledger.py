"""The ledger of a large campaign against the count that its endpoint kept for itself."""

import csv
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeResult
from comind.campaign.log.work import Code, Decision, Done, Wait
from comind.campaign.log.work_events import WORK_EVENTS, SubmissionNames
from comind.campaign.log.work_state import WORK_LOG, AttemptState, Call
from comind.campaign.loop import Campaign, run
from comind.campaign.reports.call_costs import calls_csv, spend_by_role
from comind.campaign.work.context import CodeContext
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.worker import Dependencies
from comind.domain.spend import Budget, Spend
from comind.eventlog.log import read_log
from comind.llm.model_ports import Message, ModelRequest
from comind.llm.openai_model import OpenAIModel
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import ModelSettings, Price, Traffic
from comind.testing import ColumnGrader, ScriptedSession, ThreadExecutor, TinyAgent
from tests.doubles.clock import QuickClock
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.doubles.faults import Fault, raw, reset, status
from tests.unit.campaign.samples import code, opened, owed_by_calls, rounded
from tests.unit.campaign.world import CELLS

ATTEMPTS, STEPS, SLOTS = 64, 3, 16
FAILURES = 5  # of one call, at most: after six, while others are answered, it is given up
TASK = Message(
    role="user", content="Write one cell after another, each of which hands in two submissions."
)
NAMES = SubmissionNames(validation="validation_submission.csv", test="submission.csv")
PRICE = Price(prompt=2.0, cached=0.5, completion=10.0)


class Cell(BaseModel):
    """What the model writes in a step."""

    code: str


class ManyAttempts(TinyAgent):
    """Fills every slot until all attempts are planned."""

    def plan(self, state: CampaignState) -> Decision:
        """Plan as many as there are slots."""
        left = ATTEMPTS - len(state.works)
        if left == 0:
            return Wait() if state.works.in_flight() else Done(reason="all done")
        numbers = range(len(state.works), len(state.works) + min(left, state.free_slots()))
        planned: list[Code] = [code(f"draft {number}", steps=STEPS) for number in numbers]
        return list(planned) or Wait()

    def code(self, work: Code, context: CodeContext) -> CodeResult:
        """Ask for one cell after another, no two attempts and no two steps in the same words."""
        while context.steps_left:
            steps = Message(role="user", content=f"{work.draft.title}, {context.steps_left} steps left")
            prompt = ModelRequest(role="coding_agent", messages=(TASK, steps))
            context.step("next", context.ask(prompt, Cell).value.code, NAMES)
        return CodeResult(report="all steps are made")


def _faults(seed: int) -> Callable[[int, EndpointRequest], "Fault | None"]:
    """Return what goes wrong, for one request in four; never so often that a call is given up.

    What happens to a conversation is drawn from its text, so that it does not depend on which thread
    asks first.
    """
    kinds = [
        status(429),
        status(500),
        status(503),
        status(429, retry_after=3),
        reset(0.5),
        raw("<html>"),
    ]
    tries: Counter[str] = Counter()

    def fault(_number: int, asked: EndpointRequest) -> Fault | None:
        tries[asked.text] += 1
        draw = random.Random(f"{seed} {tries[asked.text]} {asked.text}")
        failed = draw.random() < 0.25 and tries[asked.text] <= FAILURES
        return draw.choice(kinds) if failed else None

    return fault


def _campaign(
    root: Path, server: Endpoint, budget: Budget
) -> tuple[dict[str, list[Call]], CampaignState, BudgetLedger]:
    settings = ModelSettings(price=PRICE, context_tokens=8_192)
    model = OpenAIModel("test-model", base_url=server.url, api_key=None, settings=settings)
    folder, ledger = CampaignFolder(root / "runs" / "many"), BudgetLedger(budget, Spend())
    traffic = Traffic(concurrent=8, retries=10_000)
    dependencies = Dependencies(
        lambda role: model,
        ledger,
        ColumnGrader(),
        lambda work, where, notify: ScriptedSession(where.workspace, CELLS),  # type: ignore[arg-type]
        limiter=RateLimiter(traffic, clock=QuickClock()),
    )
    campaign = Campaign(folder)
    campaign.record(opened(coders=SLOTS, steps=STEPS, budget=budget))
    executor = ThreadExecutor(folder, ManyAttempts(), dependencies, workers=SLOTS)
    campaign.record(run(campaign, ManyAttempts(), executor))
    campaign.close()
    calls: dict[str, list[Call]] = {}
    for log in sorted(folder.root.glob("*/log.jsonl")):
        state = AttemptState()
        for record in read_log(log, WORK_EVENTS):
            state = WORK_LOG.apply(state, record)
            told = state.owed.model_copy(update={"seconds": 0.0})
            assert rounded(owed_by_calls(state)) == rounded(told), "killed after any record, both agree"
        calls[log.parent.name] = list(state.calls)
    return calls, campaign.state, ledger


def _answer(asked: EndpointRequest) -> str:
    return "```python\ngood\n```" if not asked.wanted else '{"code": "good"}'


def test_the_ledger_equals_the_servers_count(tmp_path: Path) -> None:
    """64 attempts in 16 slots, a quarter of all requests fails: every token is where it belongs."""
    with Endpoint(_answer, _faults(7)) as server:
        calls, state, ledger = _campaign(tmp_path, server, Budget(seconds=1e6))
    spends = [call.spend for mine in calls.values() for call in mine]
    spend = sum(spends, Spend())
    assert len(state.works) == ATTEMPTS
    assert all(record.outcome is not None and record.outcome.failure is None for record in state.works)
    assert server.completed == ATTEMPTS * STEPS == spend.calls
    assert spend.retries == len(server.requests) - server.completed > 20
    exact = [each for each in spends if each.bound_tokens == 0]
    assert 0 < len(exact) < len(spends)
    assert spend.tokens - spend.bound_tokens == server.counted.tokens
    assert spend.cached_tokens == server.counted.cached_tokens > 0
    assert spend.bound_tokens >= server.wasted.tokens > 0
    fresh = server.counted.prompt_tokens - server.counted.cached_tokens
    dollars = fresh * 2 + server.counted.cached_tokens * 0.5 + server.counted.completion_tokens * 10
    assert round(spend.usd - spend.bound_usd, 9) == round(dollars / 1e6, 9)
    assert ledger.spent.tokens == spend.tokens
    assert round(ledger.spent.usd, 9) == round(spend.usd, 9)
    assert len(calls) == ATTEMPTS
    found = spend_by_role(call for mine in calls.values() for call in mine)
    assert {role: each.tokens for role, each in found.items()} == {"coding_agent": spend.tokens}
    rows = list(csv.DictReader(calls_csv(calls).splitlines()))
    assert [row["work"] for row in rows] == [work for work, mine in calls.items() for _ in mine]
    assert sum(int(row["prompt_tokens"]) for row in rows) == spend.prompt_tokens
    assert round(sum(float(row["usd"]) for row in rows), 9) == round(spend.usd, 9)


def test_a_cap_holds_while_sixteen_spend(tmp_path: Path) -> None:
    """The campaign ends at its cap in dollars, less what is kept back, and never beyond."""
    cap = Budget(seconds=1e6, usd=0.3, closing_share=0.1)
    with Endpoint(_answer, _faults(8)) as server:
        calls, state, ledger = _campaign(tmp_path, server, cap)
    spend = sum((call.spend for mine in calls.values() for call in mine), Spend())
    assert spend.usd <= 0.27
    assert round(ledger.spent.usd, 9) == round(spend.usd, 9)
    assert spend.usd > 0.2, "what is in the way is one bound, not one for each slot"
    failures = {r.outcome.failure.cause for r in state.works if r.outcome and r.outcome.failure}
    assert failures == {"budget"}
