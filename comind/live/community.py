"""What a world sees of its community, in a folder or in a store."""

from abc import ABC, abstractmethod
from datetime import datetime
from pathlib import Path

from comind.community.asof import as_of
from comind.community.items import CommunityItems
from comind.community.jsonl import is_community_folder, read_community_folder
from comind.community.store.as_of_store import CommunityStore
from comind.domain.community import CommunityView, Notebook
from comind.live.files import PlainFiles

__all__ = ["Community", "FolderCommunity", "StoreCommunity"]


class Community(ABC):
    """What people published on a competition; a moment of None shows everything.

    Beside the community's own files its folder may hold `outputs/<owner>/<name>/<version>/`, what a
    version of a notebook left behind.
    """

    def __init__(self, root: Path) -> None:
        """Take the folder that paths of files lie below."""
        self._root = root
        self._last: tuple[datetime | None, CommunityItems, CommunityView] | None = None

    @abstractmethod
    def _items(self, moment: datetime | None) -> CommunityItems:
        """Return the items that may have been there."""

    def view(self, moment: datetime | None) -> CommunityView:
        """Return everything that was there, each item in the version that was current.

        Programs of notebooks may be left out; `version` has them.
        """
        return self._at(moment)[1]

    def version(self, ref: str, version: int, moment: datetime | None) -> Notebook | None:
        """Return a certain version of a notebook with its program; None where it was not there yet."""
        items, _ = self._at(moment)
        versions = (n for n in items.notebooks if n.ref == ref and n.version == version)
        found = as_of(CommunityItems(notebooks=tuple(versions)), moment).notebooks
        return found[0] if found else None

    def dataset_files(self, ref: str, moment: datetime | None) -> PlainFiles | None:
        """Return the files of a dataset in the version that was current; None without files."""
        items, view = self._at(moment)
        current = next((d for d in view.datasets if d.ref == ref and d.files), None)
        if current is None:
            return None
        item = next(
            item
            for item in items.datasets
            if (item.ref, item.version, item.created_at)
            == (current.ref, current.version, current.published_at)
        )
        return PlainFiles.below(self._root, str(item.path))

    def output_files(self, ref: str, version: int) -> PlainFiles | None:
        """Return what a version of a notebook left behind; None where nobody kept it."""
        return PlainFiles.below(self._root, f"outputs/{ref}/{version}")

    def _at(self, moment: datetime | None) -> tuple[CommunityItems, CommunityView]:
        """Return items and view; a moment asked for twice in a row is looked at once."""
        last = self._last
        if last is None or last[0] != moment:
            items = self._items(moment)
            last = self._last = (moment, items, as_of(items, moment))
        return last[1], last[2]


class FolderCommunity(Community):
    """A community folder; one that is not there is a community in which nobody wrote anything."""

    def __init__(self, folder: Path) -> None:
        """Read the folder.

        Raises:
            CommunityError: one of its files as a whole is not what it should be.
        """
        super().__init__(folder)
        there = folder.is_dir() and is_community_folder(folder)
        self._all = read_community_folder(folder) if there else CommunityItems()

    def _items(self, moment: datetime | None) -> CommunityItems:
        del moment
        return self._all


class StoreCommunity(Community):
    """What an as-of store knows of one competition, such as Meta Kaggle's dump of it.

    The store is asked anew for each minute of the world: what it says is at most so much too old, and
    never too new. Of notebooks it shows the versions that were current, and no outputs.
    """

    def __init__(self, store: CommunityStore, competition: str) -> None:
        """Take a store.

        Raises:
            CommunityError: the store knows nothing of this competition.
        """
        store.check(competition)
        super().__init__(store.root)
        self._store = store
        self._competition = competition

    def _items(self, moment: datetime | None) -> CommunityItems:
        return self._store.items(self._competition, moment)

    def _at(self, moment: datetime | None) -> tuple[CommunityItems, CommunityView]:
        return super()._at(None if moment is None else moment.replace(second=0, microsecond=0))

    def version(self, ref: str, version: int, moment: datetime | None) -> Notebook | None:
        """Return the current version of a notebook with its program; None for any other one."""
        found = super().version(ref, version, moment)
        items, _ = self._at(moment)
        item = next((n for n in items.notebooks if (n.ref, n.version) == (ref, version)), None)
        if found is None or item is None:
            return None
        return found.model_copy(update={"source": self._store.source_of(item) or ""})
