"""The final pick's own code, run once more on all labelled rows."""

from comind.campaign.outcome import Finish
from comind.campaign.plan import Code, Decision, Done, Wait
from comind.campaign.state import CampaignState
from comind.campaign.workbench import Workbench
from comind.domain.draft import Draft, Operator
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
        draft = Draft(
            title=f"refit of {picked}",
            method="The same code on all labelled rows.",
            codebase=attempt.outcome.code,
        )
        budget = state.work_budget()
        return [
            Code(
                operator=Operator.REFIT,
                draft=draft,
                role=REFIT_ROLE,
                parents=(picked,),
                inputs=attempt.work.inputs,
                session="script",
                budget=budget,
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
