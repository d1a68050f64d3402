"""Competitions: read the folder, hold labels back."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.events import SplitMade
from comind.campaign.folder import ProjectFolder
from comind.wiring.splitting import split_for

__all__ = ["split_competition"]


@task(cache_policy=NO_CACHE, retries=0)  # a bad folder stays bad; a crash is repaired by resuming
def split_competition(project: Path, campaign: str) -> SplitMade:
    """Split a campaign's competition; a split with this content is used as it is."""
    folder = ProjectFolder(project)
    split = split_for(folder, folder.campaign(campaign)).read()
    facts = split.model_dump(include=set(SplitMade.model_fields) - {"rule"})
    return SplitMade(**facts, rule=f"{split.rule.kind}: {split.rule_reason}")
