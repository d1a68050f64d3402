"""Runs on folds: the scripts of the finalists once more, on other rows, to choose by more of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from comind.campaign.attempt import WORK_EVENTS, SubmissionNames
from comind.campaign.context import CodeContext
from comind.campaign.events import FoldFinished, FoldsPlanned, WorkPlanned
from comind.campaign.folder import CampaignFolder
from comind.campaign.history import fold
from comind.campaign.loop import Campaign, Executor, finish_begun
from comind.campaign.outcome import CodeResult
from comind.campaign.plan import Code
from comind.campaign.race import Compared, Runner, dropped
from comind.campaign.script import Script, cells_of, derive
from comind.campaign.state import MOST_FINALISTS, CampaignState
from comind.campaign.works import Attempt
from comind.domain.draft import Draft, Operator
from comind.domain.resources import Resources
from comind.domain.spend import WorkBudget
from comind.evaluation.blending.selection import MOST_MEMBERS
from comind.evaluation.splits.extra_folds import FoldCount
from comind.eventlog.log import read_log
from comind.session.base import CellStatus
from comind.session.packages import read_installed
from comind.system.failpoints import failpoint

__all__ = [
    "FOLD_ROLE",
    "FoldRuns",
    "Members",
    "Offer",
    "fold_runs",
    "no_folds",
    "run_folds",
    "run_on_fold",
]

FOLD_ROLE = "fold"

_LEAST = 2  # that run, between whom there is something to choose
_LEAST_SECONDS, _SLACK = 120.0, 5.0  # that a run may always take; times as long as the code took
_STEPS = 2  # of a run, the second where the interpreter died
_LOOKED_AT = 20  # of the best attempts: more cannot be told from the best one only by chance
_OTHERS_FILES = "solutions"  # as in input/solutions/attempt-000

Offer = Callable[[int], FoldCount]
"""Says how many folds there are, up to a number that is asked for."""
Members = Callable[[Sequence[str]], tuple[str, ...]]
"""Says which of some attempts a blend has that the validation rows alone would choose."""


@dataclass(frozen=True, slots=True)
class FoldRuns:
    """What came of the runs on folds since the last attempt."""

    folds: tuple[int, ...] = ()
    """The folds that all ran on who had got there, and whose script did not fail anywhere."""
    runs: dict[str, tuple[Attempt, ...]] = field(default_factory=dict)
    """By attempt, its scored runs on these; on the first ones alone where it was dropped."""
    notes: tuple[str, ...] = ()
    """A line for each whose script failed."""


def no_folds(most: int) -> FoldCount:
    """Offer none, where nobody can make folds."""
    del most
    return FoldCount(0, "nobody can make folds here")


def run_folds(
    campaign: Campaign,
    executor: Executor,
    compared: Compared,
    offer: Offer,
    members: Members,
    progress: Callable[[CampaignState], None] | None = None,
) -> str:
    """Run the finalists on further folds, one fold after another, for as long as the time allows.

    After each fold those are dropped that are too far behind the best (`race.py`), but for members of a
    blend; with one left there are no more. Who runs, and who runs on, is recorded before anything
    follows from it. Returns why there are no more runs, in one line; empty where all were made, or none
    is wanted. The time for blend and refit is left alone.
    """
    if not campaign.state.most_folds():
        return ""
    if campaign.state.fold_plan is None:
        campaign.record(_planned(campaign.state, campaign.folder, compared, offer, members))
        failpoint("folds-planned")
    fold_plan = campaign.state.fold_plan
    assert fold_plan is not None
    finish_begun(campaign, executor, progress)
    for number in range(1, fold_plan.folds + 1):
        if len(_runners(campaign.state, number)) < _LEAST:
            return "too few scripts of finalists run on other rows"
        if number - 1 > max((each.fold for each in campaign.state.finished_folds), default=0):
            campaign.record(_finished(campaign.state, campaign.folder, compared, number - 1))
            failpoint("fold-finished")
        runners = _runners(campaign.state, number)
        if len(runners) < _LEAST:
            return f"after fold {number - 1} {', '.join(runners)} alone is left"
        waiting = [each for each in runners if number not in _runs_of(campaign.state, each)]
        seconds = _seconds_left(campaign.state) if waiting else math.inf
        needed = campaign.state.fold_seconds(_took(campaign.state, waiting), len(waiting))
        if seconds < needed:
            return f"fold {number} would take {needed:.0f} s, and {seconds:.0f} s are left for folds"
        while waiting:
            slots = max(1, campaign.state.free_slots())
            for work_id in waiting[:slots]:
                _plan(campaign, work_id, number)
            finish_begun(campaign, executor, progress)
            waiting = waiting[slots:]
    return fold_plan.reason


def fold_runs(state: CampaignState) -> FoldRuns:
    """Return what came of the runs on folds since the last attempt was planned."""
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


def run_on_fold(work: Code, context: CodeContext) -> CodeResult:
    """Run a finalist's script where train.csv and validation.csv hold the rows of a fold.

    An interpreter that died was perhaps killed from outside, so it is tried again.
    """
    step = context.step("Fit on the rows of a fold.", work.draft.codebase)
    if step.result.status is CellStatus.DIED and context.steps_left:
        step = context.step("Fit once more.", work.draft.codebase)
    said = step.refused or step.result.error.strip().rpartition("\n")[2]
    return CodeResult(report=said or work.draft.method)


def _planned(
    state: CampaignState, folder: CampaignFolder, compared: Compared, offer: Offer, members: Members
) -> FoldsPlanned:
    """Return who runs, as far as time allows: who ties with the best, then members of a blend."""
    first, *others = state.works.best_first()[:_LOOKED_AT]
    if not others:
        return FoldsPlanned(reason="one attempt alone has a score")
    tied = [first, *(each for each in others if not _clear(compared, folder, first, each))]
    best, left_out = _able(tied, folder)
    told = FoldsPlanned(left_out=left_out)

    def none(reason: str) -> FoldsPlanned:
        return told.model_copy(update={"reason": reason})

    few = "fewer than two of the best attempts can run on folds"
    if len(tied) < _LEAST:
        few = f"no attempt is within noise of {first.id}"
    if len(best) < _LEAST and not state.spec.blend:
        return none(few)
    count = offer(state.most_folds())
    if not count.folds:
        return none(count.reason)
    chosen = members(_able(state.works.best_first(), folder)[0])
    best = best[:MOST_FINALISTS]
    names = list(dict.fromkeys((*best, *chosen)))
    if len(names) < _LEAST:
        return none(few)
    fitting = [
        count
        for count in range(_LEAST, len(names) + 1)
        if state.fold_seconds(_took(state, names[:count]), count) <= _seconds_left(state)
    ]
    if not fitting:
        needed = state.fold_seconds(_took(state, names[:_LEAST]), _LEAST)
        return none(f"a fold takes {needed:.0f} s, and {_seconds_left(state):.0f} s are left for folds")
    names = names[: fitting[-1]]
    made = {
        "finalists": tuple(each for each in names if each in best),
        "members": tuple(each for each in names if each in chosen),
        "folds": count.folds,
        "reason": count.reason,
    }
    return told.model_copy(update=made)


def _able(attempts: Sequence[Attempt], folder: CampaignFolder) -> tuple[list[str], tuple[str, ...]]:
    """Return which of some attempts can run on folds, and a line for each of the others."""
    able, others, seen = list[str](), list[str](), set[str]()
    for attempt in attempts:
        assert attempt.submitted is not None
        if attempt.submitted.validation_sha256 in seen:
            others.append(f"{attempt.id} hands in the same as one before it")
        elif why := _why_not(attempt, folder):
            others.append(f"{attempt.id} has no scores on folds: {why}")
        else:
            seen.add(attempt.submitted.validation_sha256)
            able.append(attempt.id)
    return able, tuple(others)


def _finished(
    state: CampaignState, folder: CampaignFolder, compared: Compared, number: int
) -> FoldFinished:
    """Return who runs on after a fold: who is not dropped, and a blend's members where time allows."""
    assert state.fold_plan is not None
    names = _runners(state, number)
    runners, rows = [], list[int]()
    for each in names:
        ran = _runs_of(state, each)
        parts = [state.works.attempt(each), *(ran[fold] for fold in range(1, number + 1))]
        scores = [part.score for part in parts if part.score is not None]
        rows = [score.rows for score in scores]
        values = (score.value for score in scores)
        signed = tuple(value.value if value.maximize else -value.value for value in values)
        runners.append(Runner(each, signed, tuple(folder.validation_of(part) for part in parts)))
    behind = dropped(runners, rows, compared)
    near = [each for each in names if each not in behind]
    going = [each for each in names if each in near or each in state.fold_plan.members]
    if state.fold_seconds(_took(state, going), len(going)) > _seconds_left(state):
        going = near
    told = tuple(line for each, line in behind.items() if each not in going)
    return FoldFinished(fold=number, continuing=tuple(going), dropped=told)


def _clear(compared: Compared, folder: CampaignFolder, first: Attempt, other: Attempt) -> bool:
    """Whether one attempt is worse than the first one beyond doubt."""
    return compared.compare(folder.validation_of(first), folder.validation_of(other)).clear


def _why_not(attempt: Attempt, folder: CampaignFolder) -> str:
    """Return why an attempt's script cannot run on a fold; empty where it can."""
    if read_installed(folder.work(attempt.id).installed):
        return "it had packages installed"
    others = [given for given in attempt.work.inputs if "/" not in given]
    if others and _OTHERS_FILES in _script(attempt, folder).text:
        return f"it reads files of {', '.join(others)}, which were fitted on these rows"
    return ""


def _script(attempt: Attempt, folder: CampaignFolder) -> Script:
    assert attempt.submitted is not None
    ran = fold(read_log(folder.work(attempt.id).log, WORK_EVENTS))
    return derive(cells_of(ran.cells, attempt.submitted.step))


def _program(script: Script) -> str:
    """Return a script that writes its submissions under the usual names."""
    usual = SubmissionNames()
    moved = [
        f"__import__('shutil').copyfile({name!r}, {target!r})\n"
        for name, target in ((script.validation, usual.validation), (script.test, usual.test))
        if name != target
    ]
    return "".join([script.text.rstrip("\n") + "\n", *moved])


def _plan(campaign: Campaign, work_id: str, number: int) -> None:
    """Record that a finalist runs on a fold; `finish_begun` hands it out."""
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
        role=FOLD_ROLE,
        parents=(work_id,),
        # What other attempts left was fitted on the fold's rows.
        inputs=tuple(given for given in attempt.work.inputs if "/" in given),
        session="script",
        budget=WorkBudget(seconds=seconds, steps=_STEPS, cell_seconds=seconds),
        resources=attempt.work.resources or Resources(),
        fold=number,
    )
    campaign.record(WorkPlanned(id=state.next_id(work), work=work))
    failpoint("fold-planned")


def _runs_of(state: CampaignState, work_id: str) -> dict[int, Attempt]:
    """Return an attempt's scored runs, by fold."""
    runs = (each for each in state.works.fold_runs() if each.work.parents == (work_id,))
    return {each.work.fold: each for each in runs if each.score is not None}


def _runners(state: CampaignState, number: int) -> list[str]:
    """Return who runs on a fold, as is recorded, but for those that failed on a fold."""
    assert state.fold_plan is not None
    before = [each.continuing for each in state.finished_folds if each.fold < number]
    named = before[-1] if before else state.fold_plan.runners
    return [each for each in named if not _failure(state, each)]


def _failure(state: CampaignState, work_id: str) -> str:
    """Return how an attempt's run on a fold failed; empty where none did."""
    ran = (each for each in state.works.fold_runs() if each.work.parents == (work_id,))
    failed = (each for each in ran if each.outcome is not None and each.score is None)
    return next((f"fold {each.work.fold}: {each.result}" for each in failed), "")


def _took(state: CampaignState, work_ids: Sequence[str]) -> float:
    """Return the most seconds that one of these took, as an attempt or on a fold."""
    ran = [state.works.attempt(each) for each in work_ids]
    ran += [each for each in state.works.fold_runs() if each.work.parents[0] in work_ids]
    return max((each.outcome.code_seconds for each in ran if each.outcome is not None), default=0.0)


def _seconds_left(state: CampaignState) -> float:
    """Return the time for runs on folds: what is left beside blend and refit.

    The refit of a blend takes as long as its members do; the time of two is left for that, and up to
    half of all for more.
    """
    left, ending = state.seconds_left(), _ending_seconds(state)
    if state.spec.blend:
        ending = max(ending, min(left / 2, state.ending_seconds(MOST_MEMBERS)))
    return left if math.isinf(left) else max(0.0, left - ending)


def _ending_seconds(state: CampaignState) -> float:
    """Return what no run on a fold may take: the time of blend and refit."""
    return state.ending_seconds(_LEAST if state.spec.blend else 1)
