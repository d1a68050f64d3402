"""The final pick's own code, run once more on all labelled rows."""

from comind.campaign.outcome import Finish
from comind.campaign.plan import Code, Decision, Done, Wait
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Workbench
from comind.domain.draft import Draft, Operator
from comind.domain.resources import Resources
from comind.session.base import CellStatus

__all__ = ["REFIT_ROLE", "Refit", "refit"]

REFIT_ROLE = "refit"


class Refit:
    """Plans one refit of the final pick, then nothing more."""

    def plan(self, state: CampaignState) -> Decision:
        """Plan the refit once; wait for it; be done whatever came of it."""
        assert state.picked is not None
        picked = state.picked.work_id
        mine = [each for each in state.works.refits() if each.work.parents == (picked,)]
        if mine:
            return Wait() if any(each.outcome is None for each in mine) else Done(reason="refitted")
        attempt = state.works.attempt(picked)
        assert attempt.outcome is not None
        blend = attempt.work.blend
        took = max(attempt.outcome.code_seconds, blend.seconds if blend else 0.0)
        left = state.seconds_left()
        if left < took:
            return Done(reason=f"the code takes {took:.0f} s, and {left:.0f} s are left")
        draft = Draft(
            title=f"refit of {picked}",
            method="The same code on all labelled rows.",
            codebase=attempt.outcome.code,
        )
        budget = state.work_budget(whole=True)
        return [
            Code(
                operator=Operator.REFIT,
                draft=draft,
                role=REFIT_ROLE,
                parents=(picked,),
                inputs=attempt.work.inputs,
                session="script",
                budget=budget,
                # It runs in what the attempt ran in; before there was a toolbox, in our own environment.
                resources=attempt.work.resources or Resources(),
                blend=blend,
            )
        ]


def refit(work: Code, bench: Workbench) -> Finish:
    """Run the code of the final pick once more, where train.csv holds all labelled rows.

    An interpreter that died was perhaps killed from outside: its code ran before, so it is tried again.
    """
    step = bench.step("Fit on all labelled rows.", work.draft.codebase)
    if step.result.status is CellStatus.DIED and bench.steps_left:
        step = bench.step("Fit once more.", work.draft.codebase)
    said = step.refused or step.result.error.strip().rpartition("\n")[2]
    return Finish(report=said or "The same code, fitted on all labelled rows.")
