"""List and resolve regular files below a folder without following links."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Self


class PlainFiles:
    """The regular files below a folder, or one regular file; links and special files are excluded."""

    def __init__(self, root: Path, hidden: Path | None = None) -> None:
        """Set the root, without reading it.

        Args:
            root: a folder, or a file.
            hidden: a file to exclude under every name, hard links included.
        """
        self.root = root
        self._hidden = hidden

    @classmethod
    def below(cls, folder: Path, name: str) -> Self | None:
        """Return the files at `folder/name`; None if it does not exist or its path contains a link."""
        path = _resolve(folder, name)
        return None if path is None else cls(path)

    def names(self) -> list[str]:
        """Return the names of all files relative to the root, sorted, with `/` as separator."""
        if not self.root.is_dir():
            return [self.root.name] if self._is_regular(self.root) else []
        return sorted(self._names(self.root, ""))

    def items(self) -> Iterator[tuple[str, Path]]:
        """Yield the name and path of each file."""
        for name in self.names():
            path = self.find(name)
            if path is not None:
                yield name, path

    def find(self, name: str) -> Path | None:
        """Return the path of a file; None if no regular file has this name."""
        if not self.root.is_dir():
            return self.root if name == self.root.name and self._is_regular(self.root) else None
        path = _resolve(self.root, name)
        return path if path is not None and self._is_regular(path) else None

    def _names(self, folder: Path, prefix: str) -> Iterator[str]:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from self._names(Path(entry.path), f"{prefix}{entry.name}/")
                elif self._is_regular(Path(entry.path)):
                    yield prefix + entry.name

    def _is_regular(self, path: Path) -> bool:
        try:
            status = path.lstat()
        except (OSError, ValueError):
            return False
        if not stat.S_ISREG(status.st_mode):
            return False
        return self._hidden is None or not self._hidden.is_file() or not path.samefile(self._hidden)


def _resolve(root: Path, name: str) -> Path | None:
    """Return `root/name` if every part of the name exists and none is a link."""
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") for part in parts):
        return None
    path = root
    try:
        for part in parts:
            path /= part
            mode = path.lstat().st_mode
            if not stat.S_ISDIR(mode) and not (stat.S_ISREG(mode) and part is parts[-1]):
                return None
    except (OSError, ValueError):  # it does not exist, or no file can have this name
        return None
    return path
