"""The flow that opens a campaign on a competition and runs it, for deployments and Prefect's page."""

import logging
from pathlib import Path

from prefect import flow

from comind.app.campaign_opening import open_campaign, resume_campaign
from comind.app.paths import find_or_fetch_competition
from comind.campaign.log.campaign_settings import CampaignSettings
from comind.servers.prefect_client import campaign_of_earlier_try
from flows.campaign import solve_competition

_log = logging.getLogger(__name__)


# Tasks have retried what a retry can mend; a person may retry the run on Prefect's page.
@flow(flow_run_name="solve {competition}", persist_result=False, retries=0)
def solve(
    competition: str,
    settings: CampaignSettings = CampaignSettings(),  # noqa: B008 - frozen, safe to share
    profile: str | None = None,
    project: Path | None = None,
) -> str:
    """Open a campaign and run it to its end; returns its name.

    A run that is retried resumes its campaign.

    Args:
        competition: a folder, a zip, a demo or a Kaggle slug.
        settings: what overrides the settings of params.yaml and of the profile.
        profile: a profile of params.yaml.
        project: the project's folder; the working directory of the run.

    Raises:
        ComindError: as `comind solve` fails.
    """
    here = (project or Path.cwd()).absolute()
    if earlier := campaign_of_earlier_try():
        campaign = resume_campaign(here, earlier, _log.info)
    else:
        folder = find_or_fetch_competition(competition, here)
        campaign = open_campaign(here, folder, settings.given(), profile, _log.info)
    solve_competition(here, campaign.name)
    return campaign.name
