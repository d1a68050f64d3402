"""Competitions: read the folder, hold labels back."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.events import SplitMade
from comind.campaign.folder import ProjectFolder
from comind.evaluation.folder import load_competition
from comind.evaluation.splitting import make_split

__all__ = ["split_competition"]


@task(cache_policy=NO_CACHE, retries=0)  # a bad folder stays bad; a crash is repaired by resuming
def split_competition(project: Path, competition: Path, seed: int) -> SplitMade:
    """Split a competition; the split is named by its content, so an existing one is used as it is."""
    folder = make_split(load_competition(competition), ProjectFolder(project).splits, seed=seed)
    split = folder.read()
    return SplitMade(
        key=split.key,
        public_sha256=split.public_sha256,
        sealed_sha256=split.sealed_sha256,
        metric=split.metric,
        maximize=split.maximize,
        validation_rows=split.validation_rows,
    )
