"""Tasks that fetch competitions from Kaggle and split them."""

from pathlib import Path
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.campaign.log.campaign_events import SplitMade
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import KaggleBusyError
from comind.evaluation.splits.fold_vector import FOLDS
from comind.evaluation.splits.split_folder import Split
from comind.kaggle.fetch import Fetched, fetch_competition
from comind.kaggle.port import Kaggle
from comind.kaggle.settings import FetchLimits
from comind.system.timing import Clock
from comind.wiring.competition_data import create_split

__all__ = ["fetch_from_kaggle", "is_kaggle_busy", "split_competition"]


def is_kaggle_busy(_task: Any, _run: Any, state: Any) -> bool:
    """Return whether a task run failed as Kaggle was busy: Prefect's condition for a retry."""
    return isinstance(state.result(raise_on_failure=False), KaggleBusyError)


# The client has retried each request with backoff before; a retry here keeps what was fetched.
# No timeout: a download may take hours, and each request has one.
@task(
    cache_policy=NO_CACHE,
    retries=1,
    retry_delay_seconds=60,
    retry_condition_fn=is_kaggle_busy,
    timeout_seconds=None,
)
def fetch_from_kaggle(
    project: Path, slug: str, kaggle: Kaggle, limits: FetchLimits, clock: Clock
) -> Fetched:
    """Update a competition's folder from Kaggle; recorded times are those of `clock`."""
    return fetch_competition(kaggle, slug, ProjectFolder(project).kaggle, limits=limits, clock=clock)


# Errors are permanent; after a crash, resuming repeats it. Its time grows with the tables.
@task(
    cache_policy=NO_CACHE,
    retries=0,
    retry_delay_seconds=0,
    timeout_seconds=None,
)
def split_competition(project: Path, campaign: str) -> SplitMade:
    """Split a campaign's competition; an existing split of the same content is reused."""
    folder = ProjectFolder(project)
    split = create_split(folder, folder.campaign(campaign)).read()
    facts = split.model_dump(include=set(SplitMade.model_fields) - {"rule", "folds"})
    rule = f"{split.rule.kind}: {split.rule_reason}{_confidence(split)}"
    return SplitMade(**facts, rule=rule, folds=FOLDS)


def _confidence(split: Split) -> str:
    """Return the confidence in the rule, and the shares of rows that share a group with train."""
    if split.sure is None:
        return ""
    shares = [
        f"; {tie.test:.0%} of test and {tie.validation:.0%} of validation rows are {tie.rows}"
        for tie in split.ties
        if tie.own
    ]
    return f" ({split.sure:.0%} sure that it imitates the test set{''.join(shares[:1])})"
