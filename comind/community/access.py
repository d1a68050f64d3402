"""A community, wherever it is kept: a folder of lines, or a store. Both are asked in the same way."""

from datetime import datetime
from pathlib import Path
from typing import Protocol

from comind.community.items import CommunityItems, NotebookItem
from comind.community.jsonl import read_community_folder
from comind.community.store.manifest import is_community_store

__all__ = ["Community", "open_community"]


class Community(Protocol):
    """Something that knows what others published."""

    @property
    def root(self) -> Path:
        """Folder that paths of datasets lie below."""

    def items(self, competition: str, as_of: datetime | None) -> CommunityItems:
        """Return the items of a competition; what is later than the moment may be among them."""

    def source_of(self, item: NotebookItem) -> str | None:
        """Return a notebook's program; None where it is not at hand."""

    def check(self, competition: str) -> None:
        """Fail, with a CommunityError, where it cannot be read or knows nothing of a competition."""


def open_community(folder: Path) -> Community:
    """Return the community in a folder.

    Raises:
        CommunityError: it is a store that cannot be read.
    """
    if not is_community_store(folder):
        return _Folder(folder)
    from comind.community.store.as_of_store import CommunityStore  # its engine is large

    return CommunityStore.open(folder)


class _Folder:
    """A community folder, which is about one competition."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def items(self, competition: str, as_of: datetime | None) -> CommunityItems:
        """Return all items; the folder does not say which competition it is about.

        Raises:
            CommunityError: the folder, or one of its files as a whole, is not what it should be.
        """
        del competition, as_of
        return read_community_folder(self.root)

    def source_of(self, item: NotebookItem) -> str | None:
        """Return the program that the item holds."""
        return item.source

    def check(self, competition: str) -> None:
        """Read the folder once.

        Raises:
            CommunityError: the folder, or one of its files as a whole, is not what it should be.
        """
        self.items(competition, None)
