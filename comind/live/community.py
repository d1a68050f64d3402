"""The port through which a world sees its community, and the folder behind it."""

from datetime import datetime
from pathlib import Path
from typing import Protocol

from comind.community.asof import as_of
from comind.community.folder import holds_community, read_community
from comind.community.items import CommunityItems
from comind.domain.community import CommunityView, Notebook
from comind.live.files import PlainFiles

__all__ = ["Community", "FolderCommunity"]


class Community(Protocol):
    """What people published on a competition; a moment of None shows everything."""

    def view(self, moment: datetime | None) -> CommunityView:
        """Return everything that was there, each item in the version that was current."""
        ...

    def version(self, ref: str, version: int, moment: datetime | None) -> Notebook | None:
        """Return a certain version of a notebook; None where it was not there yet."""
        ...

    def dataset_files(self, ref: str, moment: datetime | None) -> PlainFiles | None:
        """Return the files of a dataset in the version that was current; None without files."""
        ...

    def output_files(self, ref: str, version: int) -> PlainFiles | None:
        """Return what a version of a notebook left behind; None where nobody kept it."""
        ...


class FolderCommunity:
    """A community folder; one that is not there is a community in which nobody wrote anything.

    Beside the community's own files it may hold `outputs/<owner>/<name>/<version>/`, what a version of
    a notebook left behind.
    """

    def __init__(self, folder: Path) -> None:
        """Read the folder.

        Raises:
            CommunityError: one of its files as a whole is not what it should be.
        """
        self._folder = folder
        there = folder.is_dir() and holds_community(folder)
        self._items = read_community(folder) if there else CommunityItems()
        self._last: tuple[datetime | None, CommunityView] | None = None

    def view(self, moment: datetime | None) -> CommunityView:
        """Return everything that was there; a moment asked for twice in a row is looked at once."""
        last = self._last
        if last is None or last[0] != moment:
            last = self._last = (moment, as_of(self._items, moment))
        return last[1]

    def version(self, ref: str, version: int, moment: datetime | None) -> Notebook | None:
        """Return a certain version of a notebook; None where it was not there yet."""
        versions = (n for n in self._items.notebooks if n.ref == ref and n.version == version)
        found = as_of(CommunityItems(notebooks=tuple(versions)), moment).notebooks
        return found[0] if found else None

    def dataset_files(self, ref: str, moment: datetime | None) -> PlainFiles | None:
        """Return the files of a dataset in the version that was current; None without files."""
        current = next((d for d in self.view(moment).datasets if d.ref == ref and d.files), None)
        if current is None:
            return None
        item = next(
            item
            for item in self._items.datasets
            if (item.ref, item.version, item.created_at)
            == (current.ref, current.version, current.published_at)
        )
        return PlainFiles.below(self._folder, str(item.path))

    def output_files(self, ref: str, version: int) -> PlainFiles | None:
        """Return what a version of a notebook left behind; None where nobody kept it."""
        return PlainFiles.below(self._folder, f"outputs/{ref}/{version}")
