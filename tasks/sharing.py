"""The task that pushes a campaign: data to the DVC remote, its ref to the git remote."""

from pathlib import Path

from comind.app import sharing
from comind.app.sharing import Pushed
from tasks import step


# Idempotent; an upload may take hours.
@step(retries=2, delay=2)
def push_campaign(project: Path, campaign: str) -> Pushed:
    """Push the campaign's data, then its ref, so that a pushed ref has its data."""
    return sharing.push_campaign(project, campaign)
