"""The closing phase meets its deadline on a virtual clock, and folds yield time to the refit."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.campaign_state import CampaignState
from comind.domain.draft import Operator
from comind.domain.spend import Budget
from tests.examples import examples
from tests.unit.campaign.simulated import OVERHEAD, Simulated

pytestmark = pytest.mark.slow

_CLOSING_SHARE = 0.2
_MOST_SLOWER = 1.1


def _ended(minutes: float, share: float, **spec: Any) -> tuple[CampaignState, float]:
    """Return the end of a campaign whose code takes this share of its time, and when it ended."""
    limit = 60.0 * minutes
    with tempfile.TemporaryDirectory() as root:
        world = Simulated(
            Path(root),
            budget=Budget(seconds=limit, closing_time_share=_CLOSING_SHARE),
            folds=4,
            seconds_of_code=[share * limit * each for each in (1.0, 0.6, 0.8)],
            slower=_MOST_SLOWER,
        )
        usual: dict[str, Any] = {
            "folds": "auto",
            "blend": True,
            "pick": "best",
            "refit": True,
            "iterations": max(2, round(1 / share)),
            "coders": 1,
            "steps": 1,
            "attempt_seconds": 300 * 60.0,
            "cell_seconds": 300 * 60.0,
            "round_share": 0.45,
        }
        state = world.run(world.campaign(**usual | spec))
        return state, world.now


def _check(state: CampaignState, now: float) -> None:
    """Check the deadline, the refit or its reason, and that no fold run was interrupted."""
    limit = state.budget.seconds
    assert limit is not None
    assert state.ended is not None
    assert now <= limit + 2 * OVERHEAD
    assert state.picked is not None
    assert (state.refit() is None) == ("no refit: " in state.ended.detail)
    assert all(each.score for each in state.works.codes(Operator.FOLD))
    picked = state.works.attempt(state.picked.work_id)
    assert picked.outcome is not None
    took = picked.work.blend.seconds if picked.work.blend else picked.outcome.code_seconds
    if state.refit() is None:
        assert 1.5 * took + 15 + 2 * OVERHEAD > _CLOSING_SHARE * limit, "there was time"
    if not state.works.codes(Operator.FOLD):
        assert state.fold_plan is None or state.fold_plan.reason


@examples(8)
@given(
    minutes=st.sampled_from([10, 30, 120]),
    share=st.floats(0.04, 0.3),
    coders=st.integers(1, 4),
    folds=st.sampled_from([0, "auto"]),
    blend=st.booleans(),
)
def test_every_campaign_ends_in_time(
    minutes: int, share: float, coders: int, folds: int | str, blend: bool
) -> None:
    """There is time for the refit, or a reason without one; no fold run is interrupted."""
    _check(*_ended(minutes, share, coders=coders, folds=folds, blend=blend))


@pytest.mark.parametrize(("minutes", "coders"), [(10, 1), (120, 4)])
def test_quick_code_has_time_for_all(minutes: int, coders: int) -> None:
    """If the code takes a fiftieth of the time, there are folds and a refit under each pick rule."""
    state, now = _ended(minutes, 0.02, coders=coders, iterations=12)
    _check(state, now)
    assert state.picked is not None
    assert state.picked.folds >= 1
    assert state.refit() is not None


def test_a_campaign_that_was_killed_after_the_pick_begins_no_attempt(tmp_path: Path) -> None:
    """The reserved time goes to the refit, not to another attempt."""
    world = Simulated(
        tmp_path,
        budget=Budget(seconds=600, closing_time_share=_CLOSING_SHARE),
        seconds_of_code=[40.0],
        slower=_MOST_SLOWER,
    )
    spec: dict[str, Any] = {"coders": 1, "steps": 1, "iterations": 100, "refit": True}
    state = world.run(world.campaign(**spec))
    lines = world.folder.log.read_bytes().splitlines(keepends=True)
    picked = next(n for n, line in enumerate(lines) if b'"final-picked"' in line)
    world.folder.log.write_bytes(b"".join(lines[: picked + 1]))
    world.folder.clock.unlink()
    campaign = world.campaign()
    campaign.resume()
    again = world.run(campaign)
    assert len(again.works.attempts()) == len(state.works.attempts())
    assert again.refit() is not None


def test_a_refit_asks_no_model(tmp_path: Path) -> None:
    """A campaign whose token budget is exhausted is refitted."""
    budget = Budget(seconds=600, tokens=240, closing_share=0, closing_time_share=_CLOSING_SHARE)
    world = Simulated(tmp_path, budget=budget)
    state = world.run(world.campaign(coders=1, steps=1, iterations=100, refit=True))
    assert state.ended is not None
    assert state.ended.detail == "the campaign's token limit is reached"
    assert state.refit() is not None


def test_a_refit_that_cannot_finish_is_not_begun(tmp_path: Path) -> None:
    """No time is kept for it either: attempts have all of it, and the last line has the reason."""
    budget = Budget(seconds=600, closing_time_share=_CLOSING_SHARE)
    world = Simulated(tmp_path, budget=budget, seconds_of_code=[100.0])
    state = world.run(world.campaign(coders=1, steps=1, iterations=100, refit=True, cell_seconds=300))
    assert not state.works.codes(Operator.REFIT)
    assert state.ended is not None
    assert "no refit: it takes about 150 s, and " in state.ended.detail
    assert sum(each.score is not None for each in state.works.attempts()) == 5


def test_a_refit_without_time_is_retried_with_more_time(tmp_path: Path) -> None:
    """One that takes longer than expected is retried once per end of the campaign, with more time."""
    budget = Budget(seconds=600, closing_time_share=_CLOSING_SHARE)
    world = Simulated(tmp_path, budget=budget, seconds_of_code=[60.0], slower=2.4)
    spec: dict[str, Any] = {"coders": 1, "steps": 1, "iterations": 8, "refit": True}
    state = world.run(world.campaign(**spec, cell_seconds=300))
    assert state.refit() is None
    assert len(state.works.codes(Operator.REFIT)) == 1
    campaign = world.campaign()
    campaign.resume(budget.model_copy(update={"seconds": 1500.0}))
    assert world.run(campaign).refit() is not None
