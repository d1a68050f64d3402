"""Score, spend, best step, choice and curve of a campaign follow from its logs in one place."""

from pathlib import Path

from comind.campaign.log.campaign_events import FinalPicked, WorkFinished, WorkPlanned
from comind.campaign.log.campaign_folders import EVALUATOR
from comind.campaign.log.campaign_state import CAMPAIGN_LOG
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_state import AttemptState
from comind.campaign.reports.campaign_view import CampaignView, read_view
from comind.campaign.worker import execute
from comind.domain.draft import Operator
from comind.domain.spend import Spend
from tests.unit.campaign.samples import code, opened, records, score, scored
from tests.unit.campaign.world import World, reply


def test_a_step_counts_before_its_attempt_ends(tmp_path: Path) -> None:
    """The best step of an attempt that runs is the best of the campaign, and the choice says so."""
    world = World(tmp_path, script=[reply("good"), reply("poor")])
    with world.campaign() as campaign:
        campaign.record(WorkPlanned(id="attempt-000", work=code()))
        assert read_view(world.folder).choice == "nothing scored yet"
        outcome = execute(world.agent, code(), world.folder.work("attempt-000"), world.dependencies())
        running = read_view(world.folder)
        campaign.record(WorkFinished(id="attempt-000", outcome=outcome))
    ended = read_view(world.folder)
    assert running.choice == "best so far attempt-000, step 1, which still runs"
    assert ended.choice == "best so far attempt-000"
    assert running.best is not None
    assert (running.best.score.value.value, running.best.submitted.step) == (0.9, 1)
    assert ended.best == running.best
    assert running.delivered == ended.delivered == ("attempt-000", running.best.submitted)


def test_a_run_on_a_fold_is_never_delivered() -> None:
    """Its score is of other rows, so it is not compared with those of attempts, however good it is."""
    facts = {"operator": Operator.FOLD, "fold": 1, "parents": ("attempt-000",)}
    fold = code().model_copy(update=facts)
    planned = [WorkPlanned(id="attempt-000", work=code())]
    ended = [WorkFinished(id="attempt-000", outcome=scored(0.7)), WorkPlanned(id="fold-000", work=fold)]
    state = CAMPAIGN_LOG.fold(records(opened(), *planned, *ended))
    submitted = Submitted(step=1, validation_sha256="a" * 64, test_sha256="b" * 64)
    running = AttemptState(best_score=score(0.9), best=submitted)
    view = CampaignView(state, {"fold-000": running})
    assert view.choice == "best so far attempt-000"


def test_a_pick_is_the_choice_though_another_scored_more() -> None:
    """After the pick its score is the campaign's; the curve still has the best of all."""
    picked = FinalPicked(work_id="attempt-000", reason="the simplest", leaderboard=())
    planned = [WorkPlanned(id=f"attempt-{number:03}", work=code()) for number in range(2)]
    ended = [
        WorkFinished(id=f"attempt-{number:03}", outcome=scored(value))
        for number, value in enumerate((0.7, 0.9))
    ]
    view = CampaignView(CAMPAIGN_LOG.fold(records(opened(), *planned, *ended, picked)), {})
    assert view.best is not None
    assert (view.best.work_id, view.best.score.value.value) == ("attempt-000", 0.7)
    assert view.choice == "final pick attempt-000: the simplest"
    assert [point.best.value for point in view.curve if point.best is not None] == [0.7, 0.9]


def test_spend_has_all_work() -> None:
    """What the evaluator and running attempts have used is counted; the time is the campaign's."""
    state = CAMPAIGN_LOG.fold(records(opened(), WorkPlanned(id="attempt-000", work=code())))
    used = Spend(seconds=50, prompt_tokens=10, usd=0.5)
    view = CampaignView(state, dict.fromkeys((EVALUATOR, "attempt-000"), AttemptState(spend=used)))
    assert (view.spend.tokens, view.spend.usd) == (20, 1.0)
    assert view.spend.seconds == state.spend.seconds
