"""The port through which a world sees its community, and the folder or the store behind it."""

from datetime import datetime
from pathlib import Path
from typing import Protocol

from comind.community.asof import as_of
from comind.community.folder import holds_community, read_community
from comind.community.items import CommunityItems
from comind.community.store.reading import CommunityStore
from comind.domain.community import CommunityView, Notebook
from comind.live.files import PlainFiles

__all__ = ["Community", "FolderCommunity", "StoreCommunity"]


class Community(Protocol):
    """What people published on a competition; a moment of None shows everything."""

    def view(self, moment: datetime | None) -> CommunityView:
        """Return everything that was there, each item in the version that was current.

        Programs of notebooks may be left out; `version` has them.
        """
        ...

    def version(self, ref: str, version: int, moment: datetime | None) -> Notebook | None:
        """Return a certain version of a notebook with its program; None where it was not there yet."""
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


class StoreCommunity:
    """What an as-of store knows of one competition, such as Meta Kaggle's dump of it.

    The store is asked anew for each minute of the world: what it says is at most so much too old, and
    never too new. Of notebooks it shows the versions that were current, and no outputs.
    """

    def __init__(self, store: CommunityStore, competition: str) -> None:
        """Take a store.

        Args:
            store: where it is kept.
            competition: the competition's slug.

        Raises:
            CommunityError: the store knows nothing of this competition.
        """
        store.check(competition)
        self._store = store
        self._competition = competition
        self._last: tuple[datetime | None, CommunityItems, CommunityView] | None = None

    def view(self, moment: datetime | None) -> CommunityView:
        """Return everything that was there at the beginning of the minute, without programs."""
        return self._at(moment)[1]

    def version(self, ref: str, version: int, moment: datetime | None) -> Notebook | None:
        """Return the current version of a notebook with its program; None for any other one."""
        items, view = self._at(moment)
        found = next((n for n in view.notebooks if (n.ref, n.version) == (ref, version)), None)
        item = next((n for n in items.notebooks if (n.ref, n.version) == (ref, version)), None)
        if found is None or item is None:
            return None
        return found.model_copy(update={"source": self._store.source_of(item) or ""})

    def dataset_files(self, ref: str, moment: datetime | None) -> PlainFiles | None:
        """Return the files of a dataset, where the store kept them."""
        items, view = self._at(moment)
        current = next((d for d in view.datasets if d.ref == ref and d.files), None)
        if current is None:
            return None
        named = (item for item in items.datasets if (item.ref, item.version) == (ref, current.version))
        path = next((item.path for item in named if item.path is not None), None)
        return None if path is None else PlainFiles.below(self._store.root, str(path))

    def output_files(self, ref: str, version: int) -> PlainFiles | None:
        """Return nothing: stores keep no outputs."""
        del ref, version
        return None

    def _at(self, moment: datetime | None) -> tuple[CommunityItems, CommunityView]:
        minute = None if moment is None else moment.replace(second=0, microsecond=0)
        last = self._last
        if last is None or last[0] != minute:
            items = self._store.items(self._competition, minute)
            last = self._last = (minute, items, as_of(items, minute))
        return last[1], last[2]
