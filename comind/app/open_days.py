"""Days of followed competitions that are open in this process, for the tasks that run their steps.

The log of a followed competition has one writer, so all steps of a day run in the process of its flow.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.errors import CampaignError
from comind.following.day import Day
from comind.kaggle.fetch import Fetched, fetch_competition
from comind.kaggle.port import Kaggle
from comind.kaggle.settings import FetchLimits
from comind.system.timing import Clock


class OpenDay(NamedTuple):
    """A day that runs, and its connection to Kaggle."""

    day: Day
    kaggle: Kaggle
    limits: FetchLimits
    clock: Clock

    def fetch(self, project: Path, slug: str) -> Fetched:
        """Update the competition's folder from Kaggle; recorded times are those of the day's clock.

        Raises:
            KaggleError: Kaggle cannot be reached, or refuses.
        """
        place = ProjectFolder(project).kaggle
        return fetch_competition(self.kaggle, slug, place, limits=self.limits, clock=self.clock)


_days: dict[tuple[Path, str], OpenDay] = {}


@contextmanager
def day_opened(project: Path, slug: str, opened: OpenDay) -> Iterator[Day]:
    """Let the tasks of this process find a day for the length of the block."""
    key = project.absolute(), slug
    _days[key] = opened
    try:
        yield opened.day
    finally:
        del _days[key]


def open_day_of(project: Path, slug: str) -> OpenDay:
    """Return the day of a competition as it is open in this process.

    Raises:
        CampaignError: it is not open here.
    """
    try:
        return _days[project.absolute(), slug]
    except KeyError:
        raise CampaignError(
            f"{slug}: the steps of a followed day run in the process of its flow",
            hint="choose a task runner of threads",
        ) from None
