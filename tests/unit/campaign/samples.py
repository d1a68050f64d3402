"""Values that the campaign's tests share."""

from datetime import UTC, datetime

from comind.campaign.log.campaign_events import CampaignEvent, CampaignOpened, SplitMade
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.outcome import CodeOutcome, Failure, FailureCause, Submitted
from comind.campaign.log.work import Code
from comind.campaign.log.work_state import AttemptState
from comind.domain.draft import Draft, Operator
from comind.domain.metric import Interval, MetricValue, ValidationScore
from comind.domain.spend import Budget, Spend, WorkBudget
from comind.eventlog.log import Record


def spec(**changes: object) -> CampaignSpec:
    values: dict[str, object] = {
        "id": "demo-tiny-1",
        "competition": "demo",
        "competition_folder": "somewhere/demo",
        "agent": "tiny",
        "model": "scripted",
        "seed": 0,
        "iterations": 2,
        "coders": 2,
        "steps": 2,
        "attempt_seconds": 600.0,
        "cell_seconds": 60.0,
        "sandbox": "process",
        "refit": False,
        "budget": Budget(seconds=3600.0),
    }
    return CampaignSpec.model_validate(values | changes)


def opened(**changes: object) -> CampaignOpened:
    return CampaignOpened(spec=spec(**changes))


def split_made(**changes: object) -> SplitMade:
    values: dict[str, object] = {
        "key": "demo-1",
        "public_sha256": "a",
        "sealed_sha256": "b",
        "metric": "accuracy",
        "maximize": True,
        "validation_rows": 3,
        "rule": "random: for a test",
    }
    return SplitMade.model_validate(values | changes)


def records(*events: CampaignEvent) -> list[Record[CampaignEvent]]:
    """Return the records of events that came ten seconds apart."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [Record(seq, start, 10.0 * seq, event) for seq, event in enumerate(events)]


def code(title: str = "baseline", *, steps: int = 2) -> Code:
    return Code(
        operator=Operator.DRAFT,
        draft=Draft(title=title, method="as it comes"),
        budget=WorkBudget(seconds=600, steps=steps, cell_seconds=60),
    )


def score(value: float, *, maximize: bool = True) -> ValidationScore:
    return ValidationScore(
        metric="accuracy",
        value=MetricValue(value=value, maximize=maximize),
        interval=Interval(low=value, high=value),
        rows=10,
    )


def scored(value: float, *, maximize: bool = True, tokens: int = 0) -> CodeOutcome:
    return CodeOutcome(
        score=score(value, maximize=maximize),
        submitted=Submitted(step=1, validation_sha256="a" * 64, test_sha256="b" * 64),
        steps=1,
        spend=Spend(prompt_tokens=tokens),
    )


def failed(tokens: int = 0) -> CodeOutcome:
    return CodeOutcome(
        failure=Failure(cause=FailureCause.CODE, message="KeyError: 'x'"),
        spend=Spend(prompt_tokens=tokens),
    )


def owed_by_calls(state: AttemptState) -> Spend:
    """Return the sum of the spend of all calls, the open one at its bound, and the graded cells."""
    found = sum((call.spend for call in state.calls), Spend())
    found += Spend(evaluations=sum(cell.report is not None for cell in state.cells))
    call = state.open_call
    if call is None:
        return found
    bound = call.bound
    counts = {"bound_tokens": bound.tokens, "bound_usd": bound.usd, "calls": 1, "lost_calls": 1}
    return found + Spend.model_validate(bound.model_dump() | counts)


def rounded(spend: Spend) -> dict[str, float]:
    """Return a spend by field name, rounded so that the order of addition does not matter."""
    return {name: round(value, 9) for name, value in spend.model_dump().items()}
