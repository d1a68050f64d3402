"""Close a campaign: run finalists on folds, blend, pick the final submission, refit it on all rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from comind.campaign.closing.blend_plan import blend, members_on_validation
from comind.campaign.closing.final_pick import leaderboard, pick_expected, pick_simplest
from comind.campaign.closing.flags import flag_before_folds, flag_by_folds
from comind.campaign.closing.fold_runs import run_folds
from comind.campaign.comparison import Comparisons
from comind.campaign.log.campaign_events import FinalPicked, Ranked
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.solutions_read import refit_order
from comind.campaign.log.work import Code
from comind.campaign.log.work_items import Attempt
from comind.campaign.loop import Campaign, Executor, drain
from comind.domain.draft import Draft, Operator
from comind.domain.resources import Resources
from comind.domain.spend import WorkBudget
from comind.grading.grader_port import CampaignGrader
from comind.splits.extra_folds import FoldCount
from comind.system.failpoints import failpoint

_NAMED = 3  # rejected attempts in the reason of a pick, those with the best scores


def _no_folds(_most: int) -> FoldCount:
    return FoldCount(0, "no fold can be made here")


def finish(
    campaign: Campaign,
    executor: Executor,
    grader: CampaignGrader,
    progress: Callable[[CampaignState], None] | None = None,
    count_folds: Callable[[int], FoldCount] = _no_folds,
) -> str:
    """Run finalists on folds, blend, pick the final submission, and refit it, as the spec asks.

    `count_folds` returns how many folds can be made, up to the number it is given. Resumable: what the
    log already holds is not done again. Returns why there is no refit, in one line; empty if there is
    one or none is wanted. Why there is no blend, and no fold, is in the campaign's log.

    Raises:
        ServiceError: something is missing or refuses; resume the campaign to continue.
    """
    execute = partial(drain, campaign, executor, progress)
    if campaign.state.picked is None and campaign.state.best is not None:
        comparisons = Comparisons(grader)
        members = partial(members_on_validation, campaign, grader)
        flag_before_folds(campaign, grader)
        why = run_folds(campaign, execute, comparisons, count_folds, members)
        if flag_by_folds(campaign):  # what has run is not run again
            why = run_folds(campaign, execute, comparisons, count_folds, members)
        blend(campaign, execute, grader)
        listed = leaderboard(campaign.state, campaign.folder, comparisons)
        ranked = tuple(each for each in listed if not each.rejected) or listed
        if campaign.state.spec.pick == "simplest":
            picked = pick_simplest(ranked, campaign.state.works.blend())
        else:
            picked = pick_expected(ranked, campaign.state, campaign.folder, comparisons)
        campaign.record(_with_notes(picked, listed[len(ranked) :], why))
        failpoint("final-picked")
    if not campaign.state.spec.refit or campaign.state.picked is None:
        return ""
    execute()
    while isinstance(planned := plan_refit(campaign.state), Code):
        campaign.plan(planned)
        failpoint("work-planned")
        execute()
    return f"no refit: {planned}" if campaign.state.refit() is None else ""


def _with_notes(picked: FinalPicked, rejected: Sequence[Ranked], why: str) -> FinalPicked:
    """Return the pick with what was rejected in its reason, and with why there are no more folds."""
    own = next(each.rejected for each in picked.leaderboard if each.work_id == picked.work_id)
    reason = picked.reason
    if own:
        reason += f"; every scored attempt was rejected, this one by {own}"
    elif rejected:
        named = [f"{each.work_id} by {each.rejected}" for each in rejected[:_NAMED]]
        others = [f"{len(rejected) - _NAMED} others"] if len(rejected) > _NAMED else []
        reason += f"; not counting what was rejected: {', '.join([*named, *others])}"
    return picked.model_copy(
        update={
            "reason": reason,
            "leaderboard": (*picked.leaderboard, *rejected),
            "notes": tuple(filter(None, (*picked.notes, why))),
        }
    )


def plan_refit(state: CampaignState) -> Code | str:
    """Return the next refit that the final pick needs, or why none is planned, in one line.

    That is the one of the pick, after those of the solutions whose files its program reads. A failed
    refit is not retried, unless the campaign had ended and another pick was made.
    """
    assert state.picked is not None
    picked = state.picked.work_id
    if state.submits_programs:
        return "a program is not fitted on rows"
    mine = state.works.runs_of(picked, Operator.REFIT)
    if any(each.submitted or _is_recent(each, state) for each in mine):
        return mine[-1].result
    needed = refit_order(state.works, picked)
    runs = {each: state.works.runs_of(each, Operator.REFIT) for each in needed}
    done = {
        name: run.id
        for name, each in runs.items()
        for run in each
        if run.submitted and run.work.rows_apart
    }
    following, *others = [each for each in needed if each not in done]
    if failed := [each for each in runs[following] if _is_recent(each, state)]:
        return f"it reads files of {following}, which has no refit: {failed[-1].result}"
    time, took = state.time, math.fsum(map(state.time.code_seconds, others))
    if why := time.no_refit(picked, time.code_seconds(following) + took):
        return why
    budget = state.work_budget(whole=True)
    most = max(1.0, min(budget.seconds, time.left() - time.refit_seconds(took)))
    budget = budget.model_copy(update={"seconds": most, "cell_seconds": min(budget.cell_seconds, most)})
    return _refit_of(state.works.attempt(following), done, budget)


def _is_recent(refit: Attempt, state: CampaignState) -> bool:
    """Whether a refit was planned after the pick."""
    return state.works.number(refit.id) >= state.before_pick


def _refit_of(attempt: Attempt, done: Mapping[str, str], budget: WorkBudget) -> Code:
    """Plan the refit of an attempt or blend; `done` has the refits of what it may read, by attempt."""
    assert attempt.outcome is not None
    inputs = (each if "/" in each else done.get(each, "") for each in attempt.work.inputs)
    return Code(
        operator=Operator.REFIT,
        draft=Draft(
            title=f"refit of {attempt.id}",
            method="The same code on all labelled rows.",
            codebase=attempt.outcome.code,
        ),
        role=Operator.REFIT.value,
        parents=(attempt.id,),
        inputs=tuple(filter(None, inputs)),
        session="script",
        budget=budget,
        # It runs in the attempt's environment; campaigns without a toolbox run in CoMind's own.
        resources=attempt.work.resources or Resources(),
        blend=attempt.work.blend,
        rows_apart=True,
    )
