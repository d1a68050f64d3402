"""Whatever an endpoint does, a campaign ends with a submission or the right exit code, within budget."""

import math
from pathlib import Path
from typing import NamedTuple

import pytest

from comind.baseline.recipe_programs import Program
from comind.campaign.baseline_first import BaselineFirst
from comind.campaign.closing.finish import finish
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.loop import Campaign, run
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.worker import Dependencies
from comind.domain.spend import Budget, Spend
from comind.errors import ComindError, NoSubmissionError
from comind.llm.openai_model import OpenAIModel
from comind.llm.rate_limiter import RateLimiter
from comind.llm.settings import ModelSettings, Traffic
from comind.testing import ColumnGrader, ScriptedSession, ThreadExecutor
from tests.contract.faults import FAULTS, FaultCase, answer
from tests.doubles.clock import QuickClock
from tests.doubles.endpoint import Endpoint
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import opened
from tests.unit.campaign.world import CELLS

_BASELINE = (Program(name="plain", code="poor"),)


class Ended(NamedTuple):
    """How a campaign ended."""

    exit_code: int
    message: str
    state: CampaignState
    spend: Spend
    waited: float
    ledger: BudgetLedger


def _campaign(case: FaultCase, server: Endpoint, root: Path) -> Ended:
    """Run a campaign of two attempts against `server`; only time, cells and labels are not real."""

    def passing(now: float) -> None:
        if case.back_at is not None and now >= case.back_at and not server.listening:
            server.start()

    clock = QuickClock(passing)
    settings = ModelSettings(
        timeout_seconds=case.patience,
        call_seconds=2 * case.patience,
        context_tokens=32_000,
        stream=case.stream,
    )
    model = OpenAIModel("test-model", base_url=server.url, api_key="sk-secret", settings=settings)
    budget = Budget(seconds=86_400, tokens=case.tokens or 1_000_000)
    ledger = BudgetLedger(budget, Spend())

    dependencies = Dependencies(
        lambda role: model,
        ledger,
        ColumnGrader(),
        lambda work, folder, notify: ScriptedSession(folder.workspace, CELLS),  # type: ignore[arg-type]
        limiter=RateLimiter(Traffic(), clock=clock, jitter=lambda: 1.0),
        baseline=lambda: _BASELINE,
    )
    folder, agent = CampaignFolder(root / "runs" / "faults"), agent_for()
    campaign = Campaign(folder)
    values = {"iterations": 1, "coders": 2, "steps": 4, "parameters": {"critic": True}}
    spec = opened(budget=budget, baseline=case.baseline, **values)
    campaign.record(spec)
    executor = ThreadExecutor(folder, agent, dependencies, workers=2)
    error: ComindError | None = None
    try:
        ending = run(campaign, BaselineFirst(agent), executor)
        finish(campaign, executor, ColumnGrader())
        campaign.record(ending)
        if campaign.state.best is None:
            error = NoSubmissionError(ending.detail)
    except ComindError as caught:
        error = caught
    campaign.close()
    messages = [str(error or "")]
    spend = Spend()
    for log in sorted(folder.root.glob("*/log.jsonl")):
        state = WORK_LOG.read(log)
        assert state.open_call is None
        spend = sum((call.spend for call in state.calls), spend)
    outcomes = [record.outcome for record in campaign.state.works if record.outcome is not None]
    messages += [outcome.failure.message for outcome in outcomes if outcome.failure is not None]
    exit_code = 0 if error is None else error.exit_code
    return Ended(exit_code, "\n".join(messages), campaign.state, spend, clock.monotonic(), ledger)


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case.name)
def test_a_campaign_survives(case: FaultCase, tmp_path: Path) -> None:
    """The exit code, the submission, the calls, the pauses and the spend are as the table says."""
    with Endpoint(answer) as server:
        server.fail(case.faults(server))
        ended = _campaign(case, server, tmp_path)
    assert case.message in ended.message
    assert "sk-secret" not in ended.message
    assert ended.exit_code == case.exit_code, ended.message
    best = ended.state.best
    expected = {"agent": 0.9, "baseline": 0.5, "": None}[case.best_from]
    assert (best.score.value.value if best else None) == expected
    if case.calls is not None:
        assert len(server.requests) == case.calls
    assert ended.waited >= case.waited
    limit = ended.state.budget.tokens
    assert limit is not None
    assert ended.ledger.spent.tokens <= limit
    exact = ended.spend.tokens - ended.spend.bound_tokens
    assert (ended.spend.bound_tokens > 0) == case.bounded
    assert exact <= server.counted.tokens
    if not case.name.endswith("usage") and case.patience >= FaultCase.patience:
        assert exact == server.counted.tokens
    assert ended.spend.tokens >= server.counted.tokens
    if exact and ended.spend.bound_tokens == 0:
        assert ended.spend.cached_tokens == server.counted.cached_tokens
    assert math.isfinite(ended.spend.usd)
    in_flight = [record.work for record in ended.state.works.in_flight()]
    assert ended.exit_code == 4 or not in_flight
    assert all(isinstance(work, Code) or work.purpose for work in in_flight)


def test_every_case_has_a_name_of_its_own() -> None:
    """No two cases share a name, so that a row of the page leads to one test."""
    assert len({case.name for case in FAULTS}) == len(FAULTS)
