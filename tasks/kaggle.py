"""Kaggle: fetch a competition, or what is new of it."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.folder import ProjectFolder
from comind.kaggle.fetch import Fetched, fetch_competition
from comind.kaggle.settings import KaggleSettings
from comind.wiring.kaggle import open_kaggle

__all__ = ["fetch_from_kaggle"]


@task(
    cache_policy=NO_CACHE, retries=2, retry_delay_seconds=60
)  # what has come stays; only news is asked for
def fetch_from_kaggle(project: Path, slug: str, settings: KaggleSettings) -> Fetched:
    """Bring a competition's folder up to date with Kaggle."""
    place = ProjectFolder(project).kaggle
    return fetch_competition(open_kaggle(settings), slug, place, wanted=settings.wanted)
