"""Tasks that fetch competitions from Kaggle and split them."""

from pathlib import Path

from comind.app.inputs import split_and_version
from comind.campaign.log.campaign_events import SplitMade
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.kaggle.fetch import Fetched, fetch_competition
from comind.kaggle.port import Kaggle
from comind.kaggle.settings import FetchLimits
from comind.system.timing import Clock
from tasks import is_kaggle_busy, step


# The client has retried each request with backoff before; a retry here keeps what was fetched.
@step(retries=1, delay=60, condition=is_kaggle_busy)
def fetch_from_kaggle(
    project: Path, slug: str, kaggle: Kaggle, limits: FetchLimits, clock: Clock
) -> Fetched:
    """Update a competition's folder from Kaggle; recorded times are those of `clock`."""
    return fetch_competition(kaggle, slug, ProjectFolder(project).kaggle, limits=limits, clock=clock)


@step("open: split", retries=1)
def split_competition(project: Path, campaign: str) -> SplitMade:
    """Split a campaign's competition and version the split; one of the same content is reused."""
    return split_and_version(project, campaign)
