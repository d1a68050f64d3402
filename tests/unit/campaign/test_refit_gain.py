"""A refit is begun, and time is kept for it, by what it gains and by whether it can finish."""

from typing import Any

import pytest

from comind.campaign.closing.finish import plan_refit
from comind.campaign.log.campaign_events import FinalPicked, Ranked, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.refit_gain import expected_gain, not_worth_it
from comind.campaign.log.work import Code
from comind.domain.metric import Interval, ValidationScore
from comind.domain.spend import Budget
from tests.unit.campaign.samples import code, opened, records, score, scored, split_made

_LIMIT = 1800.0


def _noisy(value: float, error: float, *, maximize: bool = True) -> ValidationScore:
    """Return a score with about this standard error."""
    interval = Interval(low=value - 1.96 * error, high=value + 1.96 * error)
    return score(value, maximize=maximize).model_copy(update={"interval": interval})


def _picked(took: float, error: float, train_rows: int, validation_rows: int) -> CampaignState:
    """Return a campaign of thirty minutes with one pick, whose code takes so many seconds."""
    outcome = scored(0.9).model_copy(update={"code_seconds": took, "score": _noisy(0.9, error)})
    ranked = Ranked(work_id="attempt-000", score=score(0.9), code_lines=1, seconds=took)
    budget = Budget(seconds=_LIMIT, closing_time_share=0.5)
    spec: dict[str, Any] = {"budget": budget, "refit": True, "blend": False, "folds": 0}
    return CAMPAIGN_LOG.fold(
        records(
            opened(**spec),
            split_made(train_rows=train_rows, validation_rows=validation_rows),
            WorkPlanned(id="attempt-000", work=code()),
            WorkFinished(id="attempt-000", outcome=outcome),
            FinalPicked(work_id="attempt-000", reason="the best", leaderboard=(ranked,)),
        )
    )


def test_the_gain_grows_with_the_share_of_rows_and_falls_with_their_number() -> None:
    """The error falls by a power of the rows: quickly for few of them, slowly for many."""
    ninety = score(0.9)
    assert expected_gain(ninety, 1_000, 200) == pytest.approx(0.1 * (1 - 1.2**-0.3))
    shares = [expected_gain(ninety, 1_000, added) for added in (0, 100, 400)]
    assert shares == sorted(shares)
    assert shares[0] == 0
    sizes = [expected_gain(ninety, rows, rows // 5) for rows in (500, 5_000, 50_000, 500_000)]
    assert sizes == sorted(sizes, reverse=True)
    less_is_better = score(4.0, maximize=False)
    assert expected_gain(less_is_better, 1_000, 200) == pytest.approx(4 * (1 - 1.2**-0.3))


def test_a_long_refit_needs_a_gain_beyond_the_noise() -> None:
    """More than a third of the time is spent for what could be measured, less of it for anything."""
    many = {"train_rows": 200_000, "added_rows": 20_000, "limit": _LIMIT}
    reason = not_worth_it(_noisy(0.9, 0.002), seconds=700, **many)
    assert reason == (
        "it takes about 700 s, 39% of the campaign's time, and the gain to expect, 0.00048, is below "
        "the standard error of the validation score, 0.002"
    )
    assert not_worth_it(_noisy(0.9, 0.0001), seconds=700, **many) == "", "the gain is beyond the noise"
    assert not_worth_it(_noisy(0.9, 0.002), seconds=600, **many) == "", "a third of the time"
    assert not_worth_it(_noisy(0.9, 0.002), 0, 20_000, seconds=700, limit=_LIMIT) == "", "an older log"


def test_no_time_is_kept_for_a_refit_that_is_not_worth_it() -> None:
    """Attempts get it, and the campaign's last line has the reason."""
    without = _picked(500, 0.01, 200_000, 20_000)
    assert without.closing_seconds() == 0
    reason = plan_refit(without)
    assert isinstance(reason, str)
    assert "below the standard error" in reason
    worth = _picked(500, 0.01, 300, 200)
    assert worth.closing_seconds() == pytest.approx(1.5 * 500 + 15)
    assert isinstance(plan_refit(worth), Code)
