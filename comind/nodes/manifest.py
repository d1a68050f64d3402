"""List the files of a folder with size and content hash, so that a node fetches what it lacks."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from comind.domain.value import Value
from comind.errors import SandboxError
from comind.system.files import hash_file

LONGEST_NAME = 1_000
_SHA256 = r"^[0-9a-f]{64}$"


def _check_name(name: str) -> str:
    """Return a path below a folder.

    Raises:
        ValueError: it is absolute, not normalised, or leaves the folder.
    """
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or str(path) != name or ".." in path.parts or "\0" in name:
        raise ValueError(f"{name!r} is no path below a folder")
    return name


RelativeName = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_check_name)]
"""A normalised POSIX path below a folder."""


class FileEntry(Value):
    """A file by its path, size in bytes and SHA-256."""

    name: RelativeName
    size: int = Field(ge=0)
    sha256: str = Field(pattern=_SHA256)


class Manifest(Value):
    """The files of a folder, sorted by path; empty folders are not part of it."""

    files: tuple[FileEntry, ...] = ()

    @cached_property
    def content(self) -> bytes:
        """The manifest as JSON."""
        return self.model_dump_json().encode()

    @cached_property
    def sha256(self) -> str:
        """Hash of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(entry.size for entry in self.files)


class ManifestCache:
    """Manifests of folders; a file is read again only after its size, times or inode changed."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[int, ...], str] = {}

    def read(self, folder: Path, names: Iterable[str] | None = None) -> Manifest:
        """Return the manifest of the files `names` in a folder; by default of all, links followed.

        Raises:
            SandboxError: a file cannot be read.
        """
        try:
            paths = sorted(_files(folder)) if names is None else [folder / name for name in names]
            files = tuple(self._entry(path, folder) for path in paths)
        except (OSError, ValueError) as error:
            raise SandboxError(f"an input cannot be sent to a node: {error}") from None
        return Manifest(files=files)

    def _entry(self, path: Path, folder: Path) -> FileEntry:
        facts = path.stat()
        identity = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        if identity not in self._hashes:
            self._hashes[identity] = hash_file(path)
        name = path.relative_to(folder).as_posix()
        return FileEntry(name=name, size=facts.st_size, sha256=self._hashes[identity])


def _files(folder: Path) -> Iterator[Path]:
    for path in _entries(folder):
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            yield from _files(path)
        elif stat.S_ISREG(mode):
            yield path


def _entries(folder: Path) -> Iterable[Path]:
    with os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries]
