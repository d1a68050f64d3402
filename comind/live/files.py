"""Plain files below one folder, by name: no link is followed, no name leads out of it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Self

__all__ = ["PlainFiles"]


class PlainFiles:
    """The plain files below a folder, or one plain file; links and special files are not there."""

    def __init__(self, root: Path, hidden: Path | None = None) -> None:
        """Look at nothing yet.

        Args:
            root: a folder, or a file.
            hidden: a file that is not there under any name, not even as a hard link.
        """
        self.root = root
        self._hidden = hidden

    @classmethod
    def below(cls, folder: Path, name: str) -> Self | None:
        """Return the files at `folder/name`; None where there are none, or the way leads over a link."""
        place = _walk(folder, name)
        return None if place is None else cls(place)

    def names(self) -> list[str]:
        """Return the names of all files, sorted, with `/` between folders."""
        if not self.root.is_dir():
            return [self.root.name] if self._is_plain(self.root) else []
        return sorted(self._names(self.root, ""))

    def items(self) -> Iterator[tuple[str, Path]]:
        """Yield each file's name, and where it lies."""
        for name in self.names():
            path = self.find(name)
            if path is not None:
                yield name, path

    def find(self, name: str) -> Path | None:
        """Return where a file lies; None where no plain file has this name."""
        if not self.root.is_dir():
            return self.root if name == self.root.name and self._is_plain(self.root) else None
        place = _walk(self.root, name)
        return place if place is not None and self._is_plain(place) else None

    def _names(self, folder: Path, before: str) -> Iterator[str]:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from self._names(Path(entry.path), f"{before}{entry.name}/")
                elif self._is_plain(Path(entry.path)):
                    yield before + entry.name

    def _is_plain(self, path: Path) -> bool:
        try:
            facts = path.lstat()
        except (OSError, ValueError):
            return False
        if not stat.S_ISREG(facts.st_mode):
            return False
        return self._hidden is None or not self._hidden.is_file() or not path.samefile(self._hidden)


def _walk(root: Path, name: str) -> Path | None:
    """Return `root/name` where every part of the name is there and no link."""
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        return None
    place = root
    try:
        for part in parts:
            place /= part
            mode = place.lstat().st_mode
            if not stat.S_ISDIR(mode) and not (stat.S_ISREG(mode) and part is parts[-1]):
                return None
    except (OSError, ValueError):  # not there, or a name that no file can have
        return None
    return place
