"""The flow that runs a campaign."""

from pathlib import Path

from prefect import flow, runtime
from prefect.task_runners import ThreadPoolTaskRunner

from comind.campaign.events import CAMPAIGN_EVENTS
from comind.campaign.folder import CampaignFolder, ProjectFolder
from comind.campaign.log import read_log
from comind.campaign.loop import Campaign, run
from comind.campaign.state import fold
from comind.wiring.workshop import close_workshops, workshop_of
from flows.executor import PrefectExecutor
from flows.housekeeping import Housekeeping
from tasks.competitions import split_competition

__all__ = ["is_over", "solve_competition"]

_MOST_AT_ONCE = 128  # the campaign's own slots are the limit; idle threads cost nothing


def is_over(folder: CampaignFolder) -> bool:
    """Say whether a campaign has ended and was not resumed since."""
    return fold(read_log(folder.log, CAMPAIGN_EVENTS)).ended is not None


def _run_name() -> str:
    return str(runtime.flow_run.parameters["campaign"])


@flow(
    flow_run_name=_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=_MOST_AT_ONCE),  # type: ignore[arg-type]
    persist_result=False,
    retries=0,  # what can be repeated is repeated from the log, by resuming
)
def solve_competition(project: Path, campaign: str) -> None:
    """Run an opened campaign to its end, from wherever its log stands.

    Raises:
        ComindError: something is missing or refuses; the campaign can be resumed.
    """
    running = Campaign(ProjectFolder(project).campaign(campaign))
    housekeeping = Housekeeping(project, campaign)
    try:
        housekeeping.round(running.state)
        if running.state.split is None:
            spec = running.state.spec
            split = split_competition(project, Path(spec.competition_folder), spec.split_seed)
            housekeeping.version_split(split.key)
            running.record(split)
        agent = workshop_of(project, campaign).agent
        run(running, agent, PrefectExecutor(project, campaign), housekeeping.round)
    finally:
        housekeeping.round(running.state)
        housekeeping.commit(running.state)
        running.close()
        close_workshops()
