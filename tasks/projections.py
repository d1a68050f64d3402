"""The task that projects a campaign's logs after every round."""

from pathlib import Path

from comind.app.open_campaigns import open_campaign_of
from tasks import step


# Idempotent: git, DVC or the database may be busy.
@step("projections", retries=2)
def write_projections(project: Path, campaign: str) -> None:
    """Publish and version solutions, write MLflow's runs, deliver the submission, commit the logs.

    Raises:
        CampaignError: a graded submission was changed.
        OrchestrationError: git, DVC or the tracking server fails.
        DiskError: the disk is full.
    """
    open_campaign_of(project, campaign).projections.write()
