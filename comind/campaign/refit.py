"""The final pick's own code, run once more on all labelled rows."""

from comind.campaign.context import CodeContext
from comind.campaign.outcome import CodeResult
from comind.campaign.plan import Code
from comind.campaign.state import CampaignState
from comind.domain.draft import Draft, Operator
from comind.domain.resources import Resources
from comind.session.base import CellStatus

__all__ = ["REFIT_ROLE", "plan_refit", "refit"]

REFIT_ROLE = "refit"


def plan_refit(state: CampaignState) -> Code | str:
    """Return the refit of the final pick; or, in one line, why none is planned (any more).

    One that failed is not tried again, unless the campaign had ended and was picked for again.
    """
    assert state.picked is not None
    picked = state.picked.work_id
    mine = [each for each in state.works.refits() if each.work.parents == (picked,)]
    tried = [each for each in mine if state.works.number(each.id) >= state.before_pick]
    if tried or any(each.submitted for each in mine):
        return mine[-1].result
    attempt = state.works.attempt(picked)
    assert attempt.outcome is not None
    blend = attempt.work.blend
    took = max(attempt.outcome.code_seconds, blend.seconds if blend else 0.0)
    left = state.seconds_left()
    if left < took:
        return f"the code takes {took:.0f} s, and {left:.0f} s are left"
    return Code(
        operator=Operator.REFIT,
        draft=Draft(
            title=f"refit of {picked}",
            method="The same code on all labelled rows.",
            codebase=attempt.outcome.code,
        ),
        role=REFIT_ROLE,
        parents=(picked,),
        inputs=attempt.work.inputs,
        session="script",
        budget=state.work_budget(whole=True),
        # It runs in what the attempt ran in; before there was a toolbox, in our own environment.
        resources=attempt.work.resources or Resources(),
        blend=blend,
    )


def refit(work: Code, context: CodeContext) -> CodeResult:
    """Run the code of the final pick once more, where train.csv holds all labelled rows.

    An interpreter that died was perhaps killed from outside: its code ran before, so it is tried again.
    """
    step = context.step("Fit on all labelled rows.", work.draft.codebase)
    if step.result.status is CellStatus.DIED and context.steps_left:
        step = context.step("Fit once more.", work.draft.codebase)
    said = step.refused or step.result.error.strip().rpartition("\n")[2]
    return CodeResult(report=said or "The same code, fitted on all labelled rows.")
