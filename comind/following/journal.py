"""The one log of a followed competition, with the state it folds to."""

from pathlib import Path

from comind.eventlog.store import EventStore
from comind.following.events import FollowingEvent
from comind.following.state import FOLLOWING_LOG, Following

__all__ = ["FollowingLog", "following_log", "read_following"]


def following_log(project: Path, slug: str) -> Path:
    """Return the one log of a competition that is followed in `project`."""
    return project / "runs" / "following" / slug / "log.jsonl"


def read_following(project: Path, slug: str) -> Following:
    """Return how it stands, though someone else may be following it.

    Raises:
        LogError: the log was changed.
    """
    return FOLLOWING_LOG.read(following_log(project, slug))


class FollowingLog(EventStore[Following, FollowingEvent]):
    """The only writer of log and state; to be closed, or used as a block."""

    def __init__(self, project: Path, slug: str) -> None:
        """Open the log, or an empty one.

        Raises:
            CampaignError: another process follows this competition here.
            LogError: the log was changed.
        """
        super().__init__(following_log(project, slug), FOLLOWING_LOG)
