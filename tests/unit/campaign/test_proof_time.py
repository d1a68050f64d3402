"""Proofs of scripts come after a campaign's time, and end by limits of their own."""

from pathlib import Path
from typing import Any

from comind.app.bench_runs import GradedCurve
from comind.app.campaign_running import prove_scripts
from comind.app.reporting import CampaignGrader
from comind.app.terminal.campaign_progress import _Progress
from comind.campaign.log.campaign_events import (
    CampaignEnded,
    FinalPicked,
    Ranked,
    ScriptProved,
    WorkFinished,
    WorkPlanned,
)
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.work import Code
from comind.campaign.loop import Campaign
from comind.campaign.reports.campaign_view import read_view
from comind.campaign.reports.page.campaign_page import _charts
from comind.domain.draft import Operator
from comind.domain.spend import Budget
from tests.unit.campaign.samples import code, opened, score, scored

_LIMIT = 300.0
_TOOK = (10.0, 60.0, 70.0, 5.0)  # seconds of the attempts' code, the best first


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _proved(folder: Path, *, slower: float) -> tuple[CampaignState, dict[str, float]]:
    """Return a campaign that used all its time and was proved, and the seconds given to each proof."""
    clock, given = _Clock(), dict[str, float]()
    with Campaign(CampaignFolder(folder), now=clock) as campaign:
        spec: dict[str, Any] = {"budget": Budget(seconds=_LIMIT), "refit": True}
        campaign.record(opened(**spec))
        for number, took in enumerate(_TOOK):
            name = f"attempt-{number:03d}"
            outcome = scored(0.9 - 0.1 * number).model_copy(update={"code_seconds": took})
            campaign.record(WorkPlanned(id=name, work=code()))
            campaign.record(WorkFinished(id=name, outcome=outcome))
        ranked = [
            Ranked(work_id=f"attempt-{n:03d}", score=score(0.9), code_lines=1, seconds=took)
            for n, took in enumerate(_TOOK)
        ]
        campaign.record(FinalPicked(work_id="attempt-000", reason="best", leaderboard=tuple(ranked)))
        refit: Code = code().model_copy(update={"operator": Operator.REFIT, "parents": ("attempt-000",)})
        campaign.record(WorkPlanned(id="refit-000", work=refit))
        clock.now = _LIMIT
        campaign.record(WorkFinished(id="refit-000", outcome=scored(0.9)))

        def prove(work_id: str, seconds: float) -> ScriptProved:
            given[work_id] = seconds
            outcome = campaign.state.works.attempt(work_id).outcome
            assert outcome is not None
            clock.now += slower * (outcome.code_seconds or 10.0)
            return ScriptProved(id=work_id, proof="identical", kind="derived", script_sha256="a")

        prove_scripts(campaign, prove)
        campaign.record(CampaignEnded(reason="budget"))
    return CAMPAIGN_LOG.read(CampaignFolder(folder).log), given


def test_proofs_are_no_part_of_the_campaigns_time(tmp_path: Path) -> None:
    """They begin though no time is left, and their duration is counted apart from it."""
    state, given = _proved(tmp_path, slower=1.0)
    assert state.spend.seconds == _LIMIT
    assert state.proof_seconds == 10 + 10 + 60 + 5
    assert state.seconds_left() == 0
    assert set(given) == set(state.proofs)


def test_what_is_delivered_is_proved_and_others_within_a_third_of_the_time(tmp_path: Path) -> None:
    """Pick and refit have no limit but their own; of the others those run that still fit."""
    _, given = _proved(tmp_path / "quick", slower=1.0)
    unlimited = float("inf")
    assert given == {
        "attempt-000": unlimited,
        "refit-000": unlimited,
        "attempt-001": 80.0,  # 70 s of attempt-002 do not fit any more
        "attempt-003": 20.0,
    }
    _, given = _proved(tmp_path / "slow", slower=5.0)
    assert list(given) == ["attempt-000", "refit-000"]


def test_times_shown_after_a_resume_are_without_proofs(tmp_path: Path) -> None:
    """Chart, progress lines and a bench's curve have an attempt after proofs at the campaign's time."""
    before, _ = _proved(tmp_path, slower=1.0)
    folder, clock = CampaignFolder(tmp_path), _Clock()
    with Campaign(folder, now=clock) as campaign:
        campaign.resume(Budget(seconds=2 * _LIMIT))
        campaign.record(WorkPlanned(id="attempt-004", work=code()))
        clock.now += 20
        campaign.record(WorkFinished(id="attempt-004", outcome=scored(0.95)))
        assert campaign.elapsed == _LIMIT + before.proof_seconds + 20
    dots = _charts(read_view(folder))[0].dots
    assert dots[-1].label.startswith("attempt-004, ")
    assert dots[-1].label.endswith("after 5 min 20 s")
    lines = list(_Progress(folder).new_lines())
    assert next(each for each in reversed(lines) if "attempt-004" in each).startswith("05:20")
    assert GradedCurve(folder, CampaignGrader()).points[-1].seconds == _LIMIT + 20
