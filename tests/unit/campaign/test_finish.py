"""Closing a campaign: ties go to the simpler and faster; a refit is work of its own."""

import csv
from pathlib import Path

import pytest

from comind.campaign.closing.final_pick import leaderboard_csv, pick_simplest
from comind.campaign.log.campaign_events import Ranked
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work_items import Attempt
from comind.domain.draft import Blend, BlendMember, Operator
from comind.domain.metric import Interval, Paired
from tests.unit.campaign.samples import code, score, scored
from tests.unit.campaign.world import CELLS, World


def _ranked(
    name: str, value: float, *, behind: tuple[float, float] | None, lines: int = 50, seconds: float = 60
) -> Ranked:
    """Return a leaderboard entry; `behind` is the difference to the best and its standard error."""
    paired = None
    if behind is not None:
        interval = Interval(low=behind[0] - 2 * behind[1], high=behind[0] + 2 * behind[1])
        paired = Paired(difference=behind[0], standard_error=behind[1], interval=interval)
    return Ranked(work_id=name, score=score(value), code_lines=lines, seconds=seconds, behind=paired)


BEST = _ranked("attempt-003", 0.90, behind=None, lines=120, seconds=300)


@pytest.mark.parametrize(
    ("other", "chosen", "why"),
    [
        (
            _ranked("attempt-001", 0.80, behind=(0.1, 0.02), lines=5),
            "attempt-003",
            "beyond the noise of all others",
        ),
        (
            _ranked("attempt-001", 0.89, behind=(0.01, 0.02), lines=30),
            "attempt-001",
            "30 lines of code instead of 120",
        ),
        (
            _ranked("attempt-001", 0.89, behind=(0.01, 0.02), lines=500),
            "attempt-003",
            "the simplest of 2 that tie",
        ),
        (
            _ranked("attempt-001", 0.89, behind=(0.01, 0.02), lines=120, seconds=20),
            "attempt-001",
            "within the noise of the best score (attempt-003)",
        ),
    ],
)
def test_ties_go_to_the_simpler_then_the_faster(other: Ranked, chosen: str, why: str) -> None:
    """Only scores within noise of the best tie with it, and the reason is stated."""
    final = pick_simplest((BEST, other))
    assert final.work_id == chosen
    assert why in final.reason


def test_a_blend_is_picked_where_it_is_the_best() -> None:
    """A blend with the best score is picked whatever its length; behind another it is not."""
    gain = Paired(difference=0.012, standard_error=0.004, interval=Interval(low=0.004, high=0.02))
    members = tuple(BlendMember(attempt=f"attempt-00{n}", step=1, weights=(1,)) for n in (1, 3))
    blend = Blend(mean="vote", ids=("id",), targets=("y",), members=members, gain=gain)
    work = code().model_copy(update={"operator": Operator.BLEND, "blend": blend})
    blended = Attempt("blend-000", work, scored(0.91))
    first = _ranked("blend-000", 0.91, behind=None, lines=900)
    other = _ranked("attempt-003", 0.90, behind=(0.01, 0.02), lines=5)
    final = pick_simplest((first, other), blended)
    assert final.work_id == "blend-000"
    assert "an average of 2 scored steps" in final.reason
    assert "by 0.012 (standard error 0.004)" in final.reason
    behind = _ranked("blend-000", 0.89, behind=(0.01, 0.02), lines=900)
    assert pick_simplest((BEST, behind), blended).work_id == "attempt-003"


def test_a_leaderboard_is_a_table() -> None:
    """Each row has rank, score with interval, and difference to the best."""
    other = _ranked("attempt-001", 0.89, behind=(0.01, 0.02))
    rows = list(csv.DictReader(leaderboard_csv((BEST, other)).splitlines()))
    assert [(row["rank"], row["attempt"], row["score"]) for row in rows] == [
        ("1", "attempt-003", "0.9"),
        ("2", "attempt-001", "0.89"),
    ]
    assert rows[1]["behind"] == "0.01"


def _refitted(tmp_path: Path, **spec: object) -> CampaignState:
    world = World(tmp_path)
    return world.run(world.campaign(refit=True, **spec))


def test_the_pick_is_refitted_by_its_own_code(tmp_path: Path) -> None:
    """After the last attempt the pick's code runs once more; the refit is delivered and has no score."""
    state = _refitted(tmp_path)
    assert state.picked is not None
    refit = state.refit()
    assert refit is not None
    assert refit.outcome is not None
    picked = state.works[state.picked.work_id].outcome
    assert picked is not None
    assert picked.kind == "code"
    assert (refit.work.role, refit.work.parents) == ("refit", (state.picked.work_id,))
    assert refit.work.draft.codebase == picked.code
    assert refit.outcome.code == picked.code
    assert refit.outcome.score is None
    assert state.delivered() == refit
    assert refit.submitted is not None
    assert all(attempt.work.role != "refit" for attempt in state.works.attempts())
    assert state.best is not None


@pytest.mark.parametrize(("deaths", "delivered"), [(1, True), (2, False)])
def test_a_refit_whose_interpreter_dies_is_retried_once(
    tmp_path: Path, deaths: int, delivered: bool
) -> None:
    """A refit is retried once after its interpreter died."""
    calm = World(tmp_path / "calm")
    calm.run(calm.campaign(refit=True))
    code, calls = calm.ran[-1], calm.ran.count(calm.ran[-1])
    ran = 0

    def dies(workspace: Path) -> object:
        nonlocal ran
        ran += 1
        if calls <= ran < calls + deaths:
            raise ChildProcessError("the interpreter died")
        return CELLS[code](workspace)

    world = World(tmp_path / "killed", cells={code: dies})
    state = world.run(world.campaign(refit=True))
    assert (state.refit() is not None) == delivered
    assert ran == calls + 1


def test_without_a_refit_the_pick_is_delivered(tmp_path: Path) -> None:
    """Without a refit the scored submission is delivered."""
    world = World(tmp_path)
    state = world.run(world.campaign(refit=False))
    assert state.picked is not None
    delivered = state.delivered()
    assert delivered is not None
    assert delivered.id == state.picked.work_id
    assert delivered.submitted is not None
    assert state.refit() is None
