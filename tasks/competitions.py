"""Competitions: fetch them from Kaggle, hold labels back."""

from pathlib import Path
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.events import SplitMade
from comind.campaign.folder import ProjectFolder
from comind.errors import KaggleBusyError
from comind.evaluation.splits.fold_vector import FOLDS
from comind.evaluation.splits.split_folder import Split
from comind.kaggle.clock import ServerClock
from comind.kaggle.fetch import Fetched, fetch_competition
from comind.kaggle.settings import KaggleSettings
from comind.wiring.kaggle import open_kaggle
from comind.wiring.splitting import split_for

__all__ = ["fetch_from_kaggle", "split_competition"]


def _may_answer_later(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.result(raise_on_failure=False), KaggleBusyError)


# What has come stays, and only news is asked for; each request was made again politely before.
@task(cache_policy=NO_CACHE, retries=1, retry_delay_seconds=60, retry_condition_fn=_may_answer_later)
def fetch_from_kaggle(project: Path, slug: str, settings: KaggleSettings) -> Fetched:
    """Bring a competition's folder up to date with Kaggle; times are those of the place asked."""
    time = ServerClock()
    kaggle, place = open_kaggle(settings, time), ProjectFolder(project).kaggle
    return fetch_competition(kaggle, slug, place, wanted=settings.wanted, clock=time)


@task(cache_policy=NO_CACHE, retries=0)  # a bad folder stays bad; a crash is repaired by resuming
def split_competition(project: Path, campaign: str) -> SplitMade:
    """Split a campaign's competition; a split with this content is used as it is."""
    folder = ProjectFolder(project)
    split = split_for(folder, folder.campaign(campaign)).read()
    facts = split.model_dump(include=set(SplitMade.model_fields) - {"rule", "folds"})
    rule = f"{split.rule.kind}: {split.rule_reason}{_told(split)}"
    return SplitMade(**facts, rule=rule, folds=FOLDS)


def _told(split: Split) -> str:
    """Return how sure the rule is, and what share of rows is tied to train in the way that it cuts."""
    if split.sure is None:
        return ""
    shares = [
        f"; {tie.test:.0%} of test and {tie.validation:.0%} of validation rows are {tie.rows}"
        for tie in split.ties
        if tie.own
    ]
    return f" ({split.sure:.0%} sure that it imitates the test set{''.join(shares[:1])})"
