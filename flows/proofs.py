"""At the end of a campaign: show that what was published can be had again from its scripts."""

from pathlib import Path

from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import Campaign
from comind.system.failpoints import failpoint
from tasks.attempts import prove_script

__all__ = ["prove_scripts", "to_prove"]


def to_prove(state: CampaignState) -> list[str]:
    """Return whose scripts are to be run: the final pick, its refit, then the others, best first."""
    if state.picked is None:
        return []
    refit = state.refit()
    ranked = [each.work_id for each in state.picked.leaderboard]
    wanted = [state.picked.work_id, *([refit.id] if refit else []), *ranked]
    return [work_id for work_id in dict.fromkeys(wanted) if work_id not in state.proofs]


def prove_scripts(running: Campaign, project: Path) -> None:
    """Run scripts for as long as the campaign's time lasts; the others stay unproved.

    One at a time: each gets the whole machine, as a script that waits for cores proves nothing.
    """
    for work_id in to_prove(running.state):
        limit = running.state.budget.seconds
        left = float("inf") if limit is None else limit - running.elapsed
        if left <= 0:
            return
        running.record(prove_script(project, running.folder.name, work_id, left))
        failpoint("script-proved")
        running.tick()
