"""The one log of a followed competition, with the state it folds to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from comind.eventlog.store import EventStore
from comind.following.events import FollowingEvent
from comind.following.state import FOLLOWING_LOG, Following

__all__ = ["FollowingFolder", "FollowingLog", "read_following"]


@dataclass(frozen=True, slots=True)
class FollowingFolder:
    """`runs/following/<slug>/`."""

    root: Path

    @classmethod
    def of(cls, project: Path, slug: str) -> Self:
        """Return the folder of a competition that is followed in `project`."""
        return cls(project / "runs" / "following" / slug)

    @property
    def name(self) -> str:
        """Under which its ref in git and its run in MLflow are known."""
        return f"following-{self.root.name}"

    @property
    def log(self) -> Path:
        """Everything that happened, in order."""
        return self.root / "log.jsonl"


def read_following(folder: FollowingFolder) -> Following:
    """Return how it stands, though someone else may be following it.

    Raises:
        LogError: the log was changed.
    """
    return FOLLOWING_LOG.read(folder.log)


class FollowingLog(EventStore[Following, FollowingEvent]):
    """The only writer of log and state; to be closed, or used as a block."""

    def __init__(self, folder: FollowingFolder) -> None:
        """Open the log, or an empty one.

        Raises:
            CampaignError: another process follows this competition here.
            LogError: the log was changed.
        """
        super().__init__(folder.log, FOLLOWING_LOG)
