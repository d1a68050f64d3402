"""Unpack downloads below a folder, without path traversal."""

import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from comind.errors import CompetitionError, DiskError

__all__ = ["DISK_HINT", "check_free_space", "extract_each", "link_or_copy", "safe_name", "unpack"]

DISK_HINT = "free disk space, or name another folder with --out; what was fetched is kept"

_CHUNK = 1 << 20
_LONGEST = 200  # characters of one part of a name
_SPARE_BYTES = 256 << 20
_LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db")
_RESERVED = ("validation.csv", "sample_validation_submission.csv", "description.md")


def safe_name(name: str) -> PurePosixPath:
    """Return a name as a relative path without traversal.

    Raises:
        CompetitionError: the name is absolute or empty, has `..`, a backslash or unprintable characters.
    """
    path = PurePosixPath(name)
    bad = any(
        part in ("..", ".") or not part.isprintable() or len(part) > _LONGEST for part in path.parts
    )
    if not path.parts or path.is_absolute() or bad or "\\" in name:
        raise CompetitionError(
            f"the file name {name[:200]!r} leads out of its folder or is invalid",
            hint="do not trust this data; report it to its publisher",
        )
    return path


def _free_name(path: PurePosixPath) -> PurePosixPath:
    """Return the path, prefixed where its name is reserved for a file of ours."""
    return PurePosixPath(f"given_{path}") if str(path) in _RESERVED else path


def unpack(download: Path, name: str, public: Path) -> tuple[str, ...]:
    """Link or unpack a downloaded file below `public`; return the names of the resulting files.

    A zip with one file becomes this file. One with many becomes a folder of its name, unless all are in
    one folder already. The download itself stays.

    Raises:
        CompetitionError: the zip is corrupt, or a name would lead out of the folder.
        DiskError: there is not enough disk space.
    """
    target = _free_name(safe_name(name))
    if not _is_archive(download, target):
        if (public / target).exists():
            raise CompetitionError(f"two data files are called {target.name}")
        link_or_copy(download, public / target)
        return (str(target),)
    with _opened(download, name) as archive:
        found = list(_entries(archive))
        single = len(found) == 1
        folders = {path.parts[0] if len(path.parts) > 1 else "" for _, path in found}
        stem = target.with_suffix("") if target.suffix.lower() == ".zip" else target
        own = single or (len(folders) == 1 and "" not in folders)
        base = target.parent if own else stem
        made = []
        for entry, path in found:
            inner = _free_name(base / (PurePosixPath(path.name) if single else path))
            _extract(archive, entry, public / inner, name)
            made.append(str(inner))
    return tuple(made)


def extract_each(bundle: Path, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Extract the files of a zip to `scratch` one at a time; yield each name with that path.

    Raises:
        CompetitionError: the zip is corrupt, or a name would lead out of the folder.
    """
    with _opened(bundle, bundle.name) as archive:
        for entry, path in _entries(archive):
            safe_name(str(path))
            _extract(archive, entry, scratch, bundle.name)
            yield str(path), scratch
            scratch.unlink(missing_ok=True)


def check_free_space(folder: Path, needed: int, what: str) -> None:
    """Check that the disk of a folder has `needed` bytes free, and 256 MiB more.

    Raises:
        DiskError: it has not.
    """
    free = shutil.disk_usage(folder).free
    if needed + _SPARE_BYTES > free:
        message = f"{what}: {needed >> 20} MiB to write, and {free >> 20} MiB are free"
        raise DiskError(message, hint=DISK_HINT)


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file to `target`, or copy it where links are not possible."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _is_archive(download: Path, name: PurePosixPath) -> bool:
    """Return whether a file is a zip to unpack; formats based on zip, such as xlsx, are not."""
    return name.suffix.lower() in ("", ".zip", ".csv", ".tsv", ".json", ".txt") and zipfile.is_zipfile(
        download
    )


def _opened(path: Path, name: str) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise CompetitionError(f"{name}: the zip is corrupt ({error})") from None
    try:
        check_free_space(path.parent, sum(entry.file_size for entry in archive.infolist()), name)
    except DiskError:
        archive.close()
        raise
    return archive


def _entries(archive: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Yield the files of a zip, without metadata of operating systems."""
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        path = safe_name(entry.filename)
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise CompetitionError(f"{entry.filename[:200]!r} is a symbolic link in a zip")
        if not any(part in _LITTER for part in path.parts):
            yield entry, path


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, name: str) -> None:
    """Extract one file of a zip and verify its checksum."""
    if target.exists():
        raise CompetitionError(f"{name}: holds {target.name} twice, or it is there already")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(entry) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file, _CHUNK)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise CompetitionError(f"{name}: {entry.filename[:200]} cannot be unpacked ({error})") from None
