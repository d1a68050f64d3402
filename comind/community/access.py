"""Read a community from a folder or an as-of store through one interface."""

from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Protocol

from comind.community.items import CommunityItems, NotebookItem
from comind.community.jsonl import is_community_folder, read_community_folder
from comind.community.store.manifest import is_community_store


class Community(Protocol):
    """Source of what others published; used by campaigns and by MLE-Live."""

    @property
    def root(self) -> Path:
        """Folder that paths of datasets are relative to."""

    @property
    def resolution(self) -> timedelta:
        """Interval for which a caller should cache an answer, as queries are slow; 0 for none."""

    def items(self, competition: str, as_of: datetime | None) -> CommunityItems:
        """Return the items of a competition; it may include items later than `as_of`."""

    def source_of(self, item: NotebookItem) -> str | None:
        """Return a notebook's source code; None if it is not available."""

    def check(self, competition: str) -> None:
        """Raise `CommunityError` if it cannot be read, or contains nothing of a competition."""


def open_community(folder: Path) -> Community:
    """Open the community folder or store in `folder`.

    Raises:
        CommunityError: it is a store that cannot be read.
    """
    if not is_community_store(folder):
        return FolderCommunity(folder)
    from comind.community.store.as_of_store import CommunityStore  # deferred: it imports DuckDB

    return CommunityStore.open(folder)


class FolderCommunity:
    """A community folder, which belongs to one competition; read once."""

    resolution = timedelta(0)

    def __init__(self, root: Path, *, missing_ok: bool = False) -> None:
        """Set the folder; if `missing_ok`, one without any community file is an empty community."""
        self.root = root
        self._missing_ok = missing_ok

    def items(self, competition: str, as_of: datetime | None) -> CommunityItems:
        """Return all items; the folder does not name its competition."""
        del competition, as_of
        return self._items

    def source_of(self, item: NotebookItem) -> str | None:
        """Return the item's own source code."""
        return item.source

    def check(self, competition: str) -> None:
        """Read the folder.

        Raises:
            CommunityError: the folder, or a file as a whole, is invalid.
        """
        self.items(competition, None)

    @cached_property
    def _items(self) -> CommunityItems:
        if self._missing_ok and not is_community_folder(self.root):
            return CommunityItems()
        return read_community_folder(self.root)
