"""A campaign that has its split, without work."""

from pathlib import Path

from comind.campaign.log.campaign_events import CampaignOpened
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.loop import Campaign
from comind.wiring.competition_data import split_campaign
from comind.wiring.runtime import CampaignRuntime
from tests.unit.campaign.samples import spec


def runtime_with_split(
    project: Path, competition: Path, campaign: str = "c1", **settings: object
) -> CampaignRuntime:
    """Open a campaign on a competition folder, split it, and return its runtime."""
    folder = ProjectFolder(project)
    asked = spec(
        id=campaign,
        competition="small",
        competition_folder=str(competition),
        agent="baseline",
        sandbox="bubblewrap",
        **settings,
    )
    with Campaign(folder.campaign(campaign)) as opened:
        opened.record(CampaignOpened(spec=asked))
        opened.record(split_campaign(folder.root, campaign))
    return CampaignRuntime(folder, folder.campaign(campaign))
