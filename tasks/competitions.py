"""Tasks that fetch competitions from Kaggle and split them."""

from pathlib import Path

from comind.campaign.log.campaign_events import SplitMade
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.evaluation.splits.fold_vector import FOLDS
from comind.evaluation.splits.split_folder import Split
from comind.kaggle.fetch import Fetched, fetch_competition
from comind.kaggle.port import Kaggle
from comind.kaggle.settings import FetchLimits
from comind.system.timing import Clock
from comind.wiring.competition_data import create_split
from tasks import is_kaggle_busy, step

__all__ = ["fetch_from_kaggle", "split_competition"]


# The client has retried each request with backoff before; a retry here keeps what was fetched.
@step(retries=1, delay=60, condition=is_kaggle_busy)
def fetch_from_kaggle(
    project: Path, slug: str, kaggle: Kaggle, limits: FetchLimits, clock: Clock
) -> Fetched:
    """Update a competition's folder from Kaggle; recorded times are those of `clock`."""
    return fetch_competition(kaggle, slug, ProjectFolder(project).kaggle, limits=limits, clock=clock)


@step(retries=1)
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
