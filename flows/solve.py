"""The flow that opens a campaign on a competition and runs it, for deployments and Prefect's page."""

import logging
from pathlib import Path

from prefect import flow

from comind.app.campaign_opening import open_campaign
from comind.app.paths import find_or_fetch_competition
from comind.campaign.log.campaign_settings import CampaignSettings
from flows.campaign import solve_competition

_log = logging.getLogger(__name__)


# A retry would open a second campaign; `comind solve --resume` continues this one.
@flow(flow_run_name="solve {competition}", persist_result=False, retries=0)
def solve(
    competition: str,
    settings: CampaignSettings = CampaignSettings(),  # noqa: B008 - frozen, safe to share
    profile: str | None = None,
    project: Path | None = None,
) -> str:
    """Open a campaign and run it to its end; returns its name.

    Args:
        competition: a folder, a zip, a demo or a Kaggle slug.
        settings: what overrides the settings of params.yaml and of the profile.
        profile: a profile of params.yaml.
        project: the project's folder; the working directory of the run.

    Raises:
        ComindError: as `comind solve` fails.
    """
    here = (project or Path.cwd()).absolute()
    folder = find_or_fetch_competition(competition, here)
    campaign = open_campaign(here, folder, settings.given(), profile, _log.info)
    solve_competition(here, campaign.name)
    return campaign.name
