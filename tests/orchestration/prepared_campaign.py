"""A campaign that has its split, without work, and projections without an orchestrator."""

from collections.abc import Callable
from pathlib import Path

from comind.adapters.dvc.versioning import version
from comind.adapters.notify.campaign_alerts import CampaignAlerts
from comind.app.projections import Projections, ProjectionSteps
from comind.app.publishing import publish_solutions
from comind.campaign.log.campaign_events import CampaignOpened
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.wiring.competition_data import split_campaign
from comind.wiring.runtime import CampaignRuntime
from tests.unit.campaign.samples import spec


def runtime_with_split(project: Path, competition: Path, campaign: str = "c1") -> CampaignRuntime:
    """Open a campaign on a competition folder, split it, and return its runtime."""
    folder = ProjectFolder(project)
    asked = spec(
        id=campaign,
        competition="small",
        competition_folder=str(competition),
        agent="baseline",
        sandbox="bubblewrap",
    )
    with Campaign(folder.campaign(campaign)) as opened:
        opened.record(CampaignOpened(spec=asked))
        opened.record(split_campaign(folder.root, campaign))
    return CampaignRuntime(folder, folder.campaign(campaign))


def projections_without_tasks(
    project: Path,
    campaign: str,
    alerts: CampaignAlerts,
    track: Callable[[Projections], None] = Projections.track,
) -> Projections:
    """Return projections whose steps are called as functions, without an orchestrator."""
    steps = ProjectionSteps(
        publish=publish_solutions,
        version=version,
        track=track,
        deliver=Projections.deliver,
        commit=Projections.commit,
    )
    return Projections(project, campaign, alerts, steps)
