"""Run the scripts of finalists on further folds, so that the pick rests on more rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from comind.campaign.closing.expected_score import Finalist, eliminate
from comind.campaign.comparison import Comparisons
from comind.campaign.log.campaign_events import FoldFinished, FoldsPlanned
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.solutions_read import solutions_read
from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Attempt
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.loop import Campaign
from comind.campaign.script.cells import cells_of
from comind.campaign.script.derive import Script, derive
from comind.domain.draft import Draft, Operator
from comind.domain.metric import MetricValue
from comind.domain.resources import Resources
from comind.domain.spend import WorkBudget
from comind.grading.blending.selection import MOST_MEMBERS
from comind.session.packages import read_installed
from comind.splits.extra_folds import FoldCount
from comind.system.failpoints import failpoint

_LEAST = 2  # attempts; one alone needs no comparison
_MOST_FINALISTS = 8  # on the first fold, besides members of a blend
_LEAST_SECONDS, _SLACK = 120.0, 5.0  # timeout of a run: at least, and as a multiple of the code's time
_STEPS = 2  # of a run; the second is a retry after the interpreter died
_CANDIDATES = 20  # of the best attempts; later ones could be within noise of the best by chance only


@dataclass(frozen=True, slots=True)
class FoldRuns:
    """Results of the fold runs since the last attempt."""

    folds: tuple[int, ...] = ()
    """The folds completed by all attempts that were still in the race and never failed."""
    runs: dict[str, tuple[Attempt, ...]] = field(default_factory=dict)
    """Scored runs on `folds` by attempt; on the first folds only if it was eliminated."""
    notes: tuple[str, ...] = ()
    """A line for each attempt whose script failed."""

    def values(self, work_id: str) -> list[MetricValue]:
        """Return an attempt's scores on `folds`."""
        return [each.score.value for each in self.runs.get(work_id, ()) if each.score is not None]


def run_folds(
    campaign: Campaign,
    execute: Callable[[], None],
    comparisons: Comparisons,
    count_folds: Callable[[int], FoldCount],
    members: Callable[[Sequence[str]], tuple[str, ...]],
) -> str:
    """Run the finalists on further folds, one after another, within the time beside blend and refit.

    `execute` runs what is planned. After each fold, finalists too far behind the best are eliminated
    (`eliminate`), except members of a blend; the race ends with one left. Plan and eliminations are
    recorded before they take effect, so a resumed campaign makes the same runs. Returns why there are no
    more runs, in one line; empty if all were made or none is wanted.
    """
    if not campaign.state.time.most_folds():
        return ""
    if campaign.state.fold_plan is None:
        campaign.record(_fold_plan(campaign.state, campaign.folder, comparisons, count_folds, members))
        failpoint("folds-planned")
    fold_plan = campaign.state.fold_plan
    assert fold_plan is not None
    execute()
    for number in range(1, fold_plan.folds + 1):
        if len(_runners(campaign.state, number)) < _LEAST:
            return "too few scripts of finalists run on other rows"
        if number - 1 > max((each.fold for each in campaign.state.finished_folds), default=0):
            campaign.record(_race_after(campaign.state, campaign.folder, comparisons, number - 1))
            failpoint("fold-finished")
        runners = _runners(campaign.state, number)
        if len(runners) < _LEAST:
            return f"after fold {number - 1} {', '.join(runners)} alone is left"
        waiting = [each for each in runners if number not in _runs_of(campaign.state, each)]
        seconds = _seconds_left(campaign.state) if waiting else math.inf
        needed = campaign.state.time.fold_seconds(_took(campaign.state, waiting), len(waiting))
        if seconds < needed:
            return f"fold {number} would take {needed:.0f} s, and {seconds:.0f} s are left for folds"
        while waiting:
            slots = max(1, campaign.state.free_slots())
            for work_id in waiting[:slots]:
                _plan(campaign, work_id, number)
            execute()
            waiting = waiting[slots:]
    return fold_plan.reason


def fold_runs(state: CampaignState) -> FoldRuns:
    """Return the results of the fold runs since the last attempt was planned."""
    fold_plan = state.fold_plan
    if fold_plan is None:
        return FoldRuns()
    failed = {each: why for each in fold_plan.runners if (why := _failure(state, each))}
    notes = tuple(f"{each} has no scores on folds: {why}" for each, why in failed.items())
    ran = {each: _runs_of(state, each) for each in fold_plan.runners if each not in failed}
    numbers, runs = list[int](), dict[str, tuple[Attempt, ...]]()
    for number in range(1, fold_plan.folds + 1):
        runners = _runners(state, number)
        if len(runners) < _LEAST or not all(number in ran[each] for each in runners):
            break
        numbers.append(number)
        runs |= {each: (*runs.get(each, ()), ran[each][number]) for each in runners}
    return FoldRuns(tuple(numbers), runs, notes)


def _fold_plan(
    state: CampaignState,
    folder: CampaignFolder,
    comparisons: Comparisons,
    count_folds: Callable[[int], FoldCount],
    members: Callable[[Sequence[str]], tuple[str, ...]],
) -> FoldsPlanned:
    """Return the attempts to run, as far as time allows: ties with the best, then members of a blend."""
    first, *others = state.works.best_first()[:_CANDIDATES]
    if not others:
        return FoldsPlanned(reason="one attempt alone has a score")
    best_file = folder.validation_of(first)
    compared = [comparisons.compare(best_file, folder.validation_of(each)) for each in others]
    tied = [first, *(each for each, gap in zip(others, compared, strict=True) if not gap.clear)]
    best, left_out = _runnable(tied, folder)
    plan = FoldsPlanned(left_out=left_out)

    def none(reason: str) -> FoldsPlanned:
        return plan.model_copy(update={"reason": reason})

    few = "fewer than two of the best attempts can run on folds"
    if len(tied) < _LEAST:
        few = f"no attempt is within noise of {first.id}"
    if len(best) < _LEAST and not state.spec.blend:
        return none(few)
    count = count_folds(state.time.most_folds())
    if not count.folds:
        return none(count.reason)
    chosen = members(_runnable(state.works.best_first(), folder)[0])
    best = best[:_MOST_FINALISTS]
    names = list(dict.fromkeys((*best, *chosen)))
    if len(names) < _LEAST:
        return none(few)
    fitting = [
        count
        for count in range(_LEAST, len(names) + 1)
        if state.time.fold_seconds(_took(state, names[:count]), count) <= _seconds_left(state)
    ]
    if not fitting:
        needed = state.time.fold_seconds(_took(state, names[:_LEAST]), _LEAST)
        return none(f"a fold takes {needed:.0f} s, and {_seconds_left(state):.0f} s are left for folds")
    names = names[: fitting[-1]]
    made = {
        "finalists": tuple(each for each in names if each in best),
        "members": tuple(each for each in names if each in chosen),
        "folds": count.folds,
        "reason": count.reason,
    }
    return plan.model_copy(update=made)


def _runnable(attempts: Sequence[Attempt], folder: CampaignFolder) -> tuple[list[str], tuple[str, ...]]:
    """Return the attempts that can run on folds, and lines with the reasons for the others."""
    able, others, repeated, seen = list[str](), list[str](), list[str](), set[str]()
    for attempt in attempts:
        assert attempt.submitted is not None
        if attempt.submitted.validation_sha256 in seen:
            repeated.append(attempt.id)
        elif why := _why_not(attempt, folder):
            others.append(f"{attempt.id} has no scores on folds: {why}")
        else:
            seen.add(attempt.submitted.validation_sha256)
            able.append(attempt.id)
    if repeated:
        others.append(f"the same submission as an earlier attempt: {', '.join(repeated)}")
    return able, tuple(others)


def _race_after(
    state: CampaignState, folder: CampaignFolder, comparisons: Comparisons, number: int
) -> FoldFinished:
    """Return the attempts left after a fold: those not eliminated, and blend members if time allows."""
    assert state.fold_plan is not None
    names = _runners(state, number)
    runners, rows = [], list[int]()
    for each in names:
        ran = _runs_of(state, each)
        parts = [state.works.attempt(each), *(ran[fold] for fold in range(1, number + 1))]
        scores = [part.score for part in parts if part.score is not None]
        rows = [score.rows for score in scores]
        signed = tuple(score.value.signed for score in scores)
        runners.append(Finalist(each, signed, tuple(folder.validation_of(part) for part in parts)))
    behind = eliminate(runners, rows, comparisons.compare)
    near = [each for each in names if each not in behind]
    going = [each for each in names if each in near or each in state.fold_plan.members]
    if state.time.fold_seconds(_took(state, going), len(going)) > _seconds_left(state):
        going = near
    dropped = tuple(line for each, line in behind.items() if each not in going)
    return FoldFinished(fold=number, continuing=tuple(going), dropped=dropped)


def _why_not(attempt: Attempt, folder: CampaignFolder) -> str:
    """Return why an attempt's script cannot run on a fold; empty if it can."""
    if read_installed(folder.work(attempt.id).installed):
        return "it had packages installed"
    if others := solutions_read(attempt.work, _script(attempt, folder).text):
        return f"it reads files of {', '.join(others)}, which were fitted on these rows"
    return ""


def _script(attempt: Attempt, folder: CampaignFolder) -> Script:
    assert attempt.submitted is not None
    ran = WORK_LOG.read(folder.work(attempt.id).log)
    return derive(cells_of(ran.cells, attempt.submitted.step))


def _program(script: Script) -> str:
    """Return a program that runs the script and renames its submissions to the default names."""
    if script.is_program:
        return script.text
    usual = script.kept
    moved = [
        f"__import__('shutil').copyfile({name!r}, {target!r})\n"
        for name, target in ((script.validation, usual.validation), (script.test, usual.test))
        if name != target
    ]
    return "".join([script.text.rstrip("\n") + "\n", *moved])


def _plan(campaign: Campaign, work_id: str, number: int) -> None:
    """Plan the run of a finalist on a fold."""
    state = campaign.state
    attempt = state.works.attempt(work_id)
    most = max(_LEAST_SECONDS, _SLACK * _took(state, [work_id]))
    left = state.seconds_left() - _ending_seconds(state)  # there was time for the whole fold
    seconds = max(1.0, min(state.spec.attempt_seconds, left, most))
    work = Code(
        operator=Operator.FOLD,
        draft=Draft(
            title=f"{work_id} on fold {number}",
            method="The same script on other rows.",
            codebase=_program(_script(attempt, campaign.folder)),
        ),
        role=Operator.FOLD.value,
        parents=(work_id,),
        # Solutions of other attempts were fitted on the fold's rows.
        inputs=tuple(given for given in attempt.work.inputs if "/" in given),
        session="script",
        budget=WorkBudget(seconds=seconds, steps=_STEPS, cell_seconds=seconds),
        resources=attempt.work.resources or Resources(),
        fold=number,
    )
    campaign.plan(work)
    failpoint("fold-planned")


def _runs_of(state: CampaignState, work_id: str) -> dict[int, Attempt]:
    """Return an attempt's scored runs, by fold."""
    runs = state.works.runs_of(work_id, Operator.FOLD)
    return {each.work.fold: each for each in runs if each.score is not None}


def _runners(state: CampaignState, number: int) -> list[str]:
    """Return the attempts that run on a fold, as recorded, except those that failed on a fold."""
    assert state.fold_plan is not None
    before = [each.continuing for each in state.finished_folds if each.fold < number]
    named = before[-1] if before else state.fold_plan.runners
    return [each for each in named if not _failure(state, each)]


def _failure(state: CampaignState, work_id: str) -> str:
    """Return how an attempt failed on a fold; empty if it did not."""
    ran = state.works.runs_of(work_id, Operator.FOLD)
    failed = (each for each in ran if each.outcome is not None and each.score is None)
    return next((f"fold {each.work.fold}: {each.result}" for each in failed), "")


def _took(state: CampaignState, work_ids: Sequence[str]) -> float:
    """Return the longest running time of these attempts, on the split or on a fold."""
    ran = [state.works.attempt(each) for each in work_ids]
    ran += [run for each in work_ids for run in state.works.runs_of(each, Operator.FOLD)]
    return max((each.outcome.code_seconds for each in ran if each.outcome is not None), default=0.0)


def _seconds_left(state: CampaignState) -> float:
    """Return the seconds for fold runs: what is left beside blend and refit.

    The refit of a blend takes as long as its members; time for two is reserved, and up to half of what
    is left for more.
    """
    left, ending = state.seconds_left(), _ending_seconds(state)
    if state.spec.blend:
        ending = max(ending, min(left / 2, state.time.ending_seconds(MOST_MEMBERS)))
    return left if math.isinf(left) else max(0.0, left - ending)


def _ending_seconds(state: CampaignState) -> float:
    """Return the seconds reserved for blend and refit."""
    return state.time.ending_seconds(_LEAST if state.spec.blend else 1)
