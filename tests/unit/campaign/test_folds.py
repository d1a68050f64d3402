"""Fold runs: which attempts run, on how many folds, what they decide, and resuming after a kill."""

import shutil
from pathlib import Path

import pytest

from comind.campaign.closing.fold_runs import fold_runs
from comind.campaign.log.campaign_events import FoldsPlanned
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Decision
from comind.campaign.loop import read_state
from comind.domain.draft import Operator
from comind.domain.spend import Budget
from comind.testing import TinyAgent
from tests.unit.campaign.blending import BlendingWorld, TableGrader, program
from tests.unit.campaign.samples import split_made

pytestmark = pytest.mark.slow

_ALIKE = [program(seed, 0.5) for seed in range(6)]


def _world(root: Path, programs: list[str] = _ALIKE, *, folds: int = 2) -> BlendingWorld:
    return BlendingWorld.of(root, programs, folds)


def _run(world: BlendingWorld, **spec: object) -> CampaignState:
    wanted = {"blend": False, "coders": 1, "refit": False, "folds": "auto", "pick": "best"}
    campaign = world.campaign(**(wanted | spec))
    campaign.record(split_made(metric="rmse", maximize=False))
    return world.run(campaign)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a campaign that has ended with folds, a blend and a refit; read-only."""
    place = tmp_path_factory.mktemp("ended")
    _run(_world(place), blend=True, refit=True)
    return place


@pytest.fixture
def state(root: Path) -> CampaignState:
    """The state of that campaign."""
    return read_state(BlendingWorld.of(root, []).folder)


def test_finalists_run_on_folds_and_the_pick_rests_on_them(tmp_path: Path) -> None:
    """Each attempt that is not eliminated has a score on each fold; the best of them is the pick."""
    state = _run(_world(tmp_path))
    assert state.fold_plan is not None
    finalists = state.fold_plan.finalists
    assert len(finalists) > 1
    runs = [(each.work.parents, each.work.fold) for each in state.works.codes(Operator.FOLD)]
    (first,) = state.finished_folds
    both = [(1, finalists), (2, first.continuing)]
    assert runs == [((finalist,), fold) for fold, running in both for finalist in running]
    gone = set(finalists) - set(first.continuing)
    assert {line.split()[0] for line in first.dropped} == gone != set()
    assert all(each.work.role == "fold" for each in state.works.codes(Operator.FOLD))
    picked = state.picked
    assert picked is not None
    assert picked.folds == 2
    assert picked.confidence is not None
    assert 0 < picked.confidence <= 1
    assert picked.shrinkage is not None
    by_id = {each.work_id: each for each in picked.leaderboard}
    assert all(len(by_id[each].folds) == 1 + (each in first.continuing) for each in finalists)
    assert picked.work_id in first.continuing
    assert "no more rows" in picked.evidence
    best = min(finalists, key=lambda each: by_id[each].expected or 0.0)
    assert best in (picked.work_id, *picked.reason.replace("(", " ").replace(")", " ").split())


def test_a_better_holdout_score_gives_way_to_folds(tmp_path: Path) -> None:
    """An attempt that leads on the first validation rows by luck is not picked."""
    lucky = program(0, 0.5).replace(
        "draw.gauss(0, 0.5)", "draw.gauss(0, 0.46 if float(row['id']) < 1000 else 0.8)"
    )
    worlds = _world(tmp_path, [lucky, lucky, *[program(7, 0.5)] * 2, *[program(8, 0.9)] * 2])
    state = _run(worlds)
    assert state.picked is not None
    assert state.best is not None
    assert state.best.work_id == "attempt-000"
    assert state.picked.work_id == "attempt-001"
    assert state.picked.shrinkage is not None


def test_agents_never_see_runs_on_folds(state: CampaignState) -> None:
    """Fold runs are excluded from attempts, from the best, and from the candidates for the pick."""
    assert len(state.works.codes(Operator.FOLD)) > 1
    for seen in (state.works.attempts(), state.works.best_first(), state.works.rankable()):
        assert not [each for each in seen if each.work.operator is Operator.FOLD]
    assert state.best is not None
    assert state.best.work_id.startswith("attempt")


def test_a_blend_is_judged_over_the_rows_of_all_folds(root: Path, state: CampaignState) -> None:
    """The blend's members are finalists, and it is judged on the rows of all folds."""
    assert state.judged is not None
    assert state.judged.folds == 2
    assert state.judged.blend is not None
    assert {each.attempt for each in state.judged.blend.members} <= {*fold_runs(state).runs}
    assert state.picked is not None
    assert state.picked.work_id == "blend-000"
    assert state.refit() is not None
    assert (root / "runs").is_dir()


def test_nothing_runs_where_there_is_nothing_to_choose(tmp_path: Path) -> None:
    """One attempt beyond the noise of all others needs no folds, and the log has the reason."""
    programs = [program(0, 0.1), program(0, 0.1), *(program(seed, 2.0) for seed in range(4))]
    state = _run(_world(tmp_path, programs))
    assert state.fold_plan == FoldsPlanned(reason="no attempt is within noise of attempt-000")
    assert state.works.codes(Operator.FOLD) == []
    assert state.picked is not None
    assert state.picked.work_id == "attempt-000"


def test_the_race_ends_where_one_is_left(tmp_path: Path) -> None:
    """An attempt far behind on the first fold is eliminated, and the note names the one left."""
    lucky = program(0, 0.5).replace(
        "draw.gauss(0, 0.5)", "draw.gauss(0, 0.5 if float(row['id']) < 1000 else 0.9)"
    )
    state = _run(_world(tmp_path, [lucky, lucky, *[program(7, 0.5)] * 2, *[program(8, 3.0)] * 2]))
    assert [each.work.fold for each in state.works.codes(Operator.FOLD)] == [1, 1]
    assert [each.continuing for each in state.finished_folds] == [("attempt-001",)]
    assert state.picked is not None
    assert state.picked.work_id == "attempt-001"
    assert state.picked.folds == 1
    assert "after fold 1 attempt-001 alone is left" in state.picked.notes


def test_members_of_a_blend_run_where_the_best_is_alone(tmp_path: Path) -> None:
    """Blend members behind the best beyond noise still run on every fold, and are averaged."""
    programs = [program(seed, noise) for seed, noise in enumerate((0.4, 0.7, 0.7)) for _ in range(2)]
    state = _run(_world(tmp_path, programs), blend=True)
    assert state.fold_plan is not None
    assert state.fold_plan.finalists == ("attempt-000",)
    assert len(state.fold_plan.members) > 1
    assert [each.continuing for each in state.finished_folds] == [state.fold_plan.runners]
    assert state.judged is not None
    assert state.judged.folds == 2
    assert state.judged.blend is not None


@pytest.mark.parametrize("spec", [{"folds": 0}, {"pick": "simplest"}])
def test_folds_can_be_left_out(tmp_path: Path, spec: dict[str, object]) -> None:
    """With `folds` 0, or under the rule `simplest`, nothing runs and nothing is recorded."""
    state = _run(_world(tmp_path), **spec)
    assert state.fold_plan is None
    assert state.works.codes(Operator.FOLD) == []
    assert state.picked is not None
    assert state.picked.folds == 0


def test_without_folds_the_best_score_is_picked(tmp_path: Path) -> None:
    """Under the rule `best`, a tie on the first validation rows does not favour shorter code."""
    state = _run(_world(tmp_path, folds=0))
    assert state.fold_plan is not None
    assert state.fold_plan.reason == "no more rows"
    assert state.picked is not None
    assert state.best is not None
    assert state.picked.work_id == state.best.work_id
    assert state.picked.reason == "the best validation score"


def test_a_finalist_whose_script_fails_on_a_fold_keeps_its_first_score(tmp_path: Path) -> None:
    """The others are compared on folds; the failed one is noted with its reason."""
    fails = program(0, 0.45).replace(
        "float(row", "1 / (asked == 'test' or float(row['id']) < 1000) * float(row", 1
    )
    state = _run(_world(tmp_path, [fails, fails, *_ALIKE[2:]]))
    ran = fold_runs(state)
    assert state.fold_plan is not None
    assert "attempt-000" in state.fold_plan.finalists
    assert "attempt-000" not in ran.runs
    assert len(ran.runs) == len(state.fold_plan.finalists) - 1
    assert state.picked is not None
    assert any("attempt-000 has no scores on folds: fold 1" in note for note in state.picked.notes)


class _Mounting(TinyAgent):
    """Mounts the first attempt's solution for all others."""

    def plan(self, state: CampaignState) -> Decision:
        """Plan as the tiny agent does."""
        planned = super().plan(state)
        if not isinstance(planned, list) or not state.works.attempts():
            return planned
        return [each.model_copy(update={"inputs": ("attempt-000",)}) for each in planned]


def test_who_reads_files_that_were_fitted_on_these_rows_runs_on_no_fold(tmp_path: Path) -> None:
    """An attempt that reads another's solution does not run on folds; one that only mounts it does."""
    reads = program(2, 0.5).replace("random.Random(2)", "random.Random(len('input/solutions') - 13)")
    world = _world(tmp_path, [*_ALIKE[:2], reads, reads, *_ALIKE[4:]])
    world.agent = _Mounting()
    state = _run(world)
    assert state.fold_plan is not None
    assert sorted(state.fold_plan.finalists) == ["attempt-000", "attempt-002"]
    why = "it reads files of attempt-000, which were fitted on these rows"
    told = f"attempt-001 has no scores on folds: {why}"
    assert state.fold_plan.left_out == (told,)
    assert all(each.work.inputs == () for each in state.works.codes(Operator.FOLD))
    assert state.picked is not None
    assert told in state.picked.notes
    assert all(each.expected is not None for each in state.picked.leaderboard)


def test_a_submission_that_was_graded_before_runs_on_no_fold(tmp_path: Path) -> None:
    """Attempts with the submission of an earlier one are named in one line."""
    first, second, third = _ALIKE[:3]
    state = _run(_world(tmp_path, [first, second, first, third, second, first]))
    assert state.fold_plan is not None
    [line] = state.fold_plan.left_out
    known, _, named = line.partition(": ")
    repeated = {each.id for each in state.works.attempts()} - set(state.fold_plan.finalists)
    assert known == "the same submission as an earlier attempt"
    assert set(named.split(", ")) == repeated != set()


def test_time_decides_how_many_folds_run(tmp_path: Path) -> None:
    """If a fold does not fit beside the refit, none runs, and the log has the reason."""
    world = _world(tmp_path)
    world.budget = Budget(seconds=30)
    state = _run(world, refit=True)
    assert state.fold_plan is not None
    assert state.fold_plan.finalists == ()
    assert "s are left for folds" in state.fold_plan.reason


def test_a_campaign_resumed_with_more_time_runs_folds(tmp_path: Path) -> None:
    """Resumed after its end, a campaign plans folds and picks again."""
    world = _world(tmp_path)
    world.budget = Budget(seconds=30)
    assert _run(world, refit=True).works.codes(Operator.FOLD) == []
    campaign = world.campaign()
    campaign.resume(Budget(seconds=3600))
    state = world.run(campaign)
    assert len(state.works.codes(Operator.FOLD)) > 1
    assert state.picked is not None
    assert state.picked.folds == 2


def test_a_campaign_killed_at_any_event_of_the_end_picks_the_same(
    tmp_path: Path, root: Path, state: CampaignState
) -> None:
    """Killed after any event, the campaign resumes to the same runs, blend and pick."""
    log = BlendingWorld.of(root, []).folder.log
    lines = log.read_bytes().splitlines(keepends=True)
    closing = next(n for n, line in enumerate(lines) if b'"folds-planned"' in line)
    for cut in range(closing, len(lines), 4):
        world = _world(tmp_path / f"cut-{cut}")
        shutil.copytree(root / "runs", world.root / "runs")
        world.folder.log.write_bytes(b"".join(lines[:cut]))
        campaign = world.campaign()
        campaign.resume()
        again = world.run(campaign)
        assert again.works == state.works
        assert again.fold_plan == state.fold_plan
        assert again.judged == state.judged
        assert again.picked == state.picked
        assert isinstance(world.grader, TableGrader)
