"""Tasks that fetch competitions from Kaggle and split them."""

from pathlib import Path

from comind.app.inputs import split_and_version
from comind.app.open_days import open_day_of
from comind.campaign.log.campaign_events import SplitMade
from comind.kaggle.fetch import Fetched
from tasks import is_kaggle_busy, step


# The client has retried each request with backoff before; a retry here keeps what was fetched.
@step(retries=1, delay=60, condition=is_kaggle_busy)
def fetch_from_kaggle(project: Path, slug: str) -> Fetched:
    """Update the folder of a followed competition from Kaggle."""
    return open_day_of(project, slug).fetch(project, slug)


@step("open: split", retries=1)
def split_competition(project: Path, campaign: str) -> SplitMade:
    """Split a campaign's competition and version the split; one of the same content is reused."""
    return split_and_version(project, campaign)
