"""Files as Kaggle sends them, laid out as plain files that nothing leads out of."""

import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from comind.errors import DiskError, KaggleError

__all__ = ["ROOM_TO_FETCH", "check_room", "link_or_copy", "members_of", "place", "safe_name"]

ROOM_TO_FETCH = "make room, or name another folder with --out; what was fetched is kept"

_CHUNK = 1 << 20
_LONGEST = 200  # letters of one part of a name
_SPARE_BYTES = 256 << 20
_LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db")
_RESERVED = ("validation.csv", "sample_validation_submission.csv", "description.md")


def safe_name(name: str) -> PurePosixPath:
    """Return a name as a path that stays below the folder it is put in.

    Raises:
        KaggleError: it would lead elsewhere, or is none.
    """
    path = PurePosixPath(name)
    bad = any(
        part in ("..", ".") or not part.isprintable() or len(part) > _LONGEST for part in path.parts
    )
    if not path.parts or path.is_absolute() or bad or "\\" in name:
        raise KaggleError(
            f"the file name {name[:200]!r} leads out of its folder or cannot be one",
            hint="this is not data that can be trusted; tell whoever published it",
        )
    return path


def _free_name(path: PurePosixPath) -> PurePosixPath:
    """Return the path itself, or, where we need this name for a file of our own, another one."""
    return PurePosixPath(f"given_{path}") if str(path) in _RESERVED else path


def place(delivered: Path, name: str, public: Path) -> tuple[str, ...]:
    """Put a file that was delivered below `public`, zips unpacked; return the names of what it became.

    A zip that holds one file becomes this file, in the zip's place. One that holds many becomes a
    folder of its name, unless all lie in one folder already. What was delivered is not changed.

    Raises:
        KaggleError: a zip is broken, or a name would lead out of the folder.
        DiskError: there is no room for what is in it.
    """
    target = _free_name(safe_name(name))
    if not _is_archive(delivered, target):
        _keep(delivered, public / target)
        return (str(target),)
    with _opened(delivered, name) as archive:
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


def members_of(bundle: Path, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of a zip that holds all data files, each with its name, one at a time.

    Raises:
        KaggleError: the zip is broken, or a name would lead out of the folder.
    """
    with _opened(bundle, bundle.name) as archive:
        for entry, path in _entries(archive):
            safe_name(str(path))
            _extract(archive, entry, scratch, bundle.name)
            yield str(path), scratch
            scratch.unlink(missing_ok=True)


def check_room(folder: Path, needed: int, what: str) -> None:
    """Make sure that so many bytes fit on the disk of a folder, with some to spare.

    Raises:
        DiskError: they do not.
    """
    free = shutil.disk_usage(folder).free
    if needed + _SPARE_BYTES > free:
        said = f"{what}: {needed >> 20} MiB to write, and {free >> 20} MiB are free"
        raise DiskError(said, hint=ROOM_TO_FETCH)


def link_or_copy(source: Path, target: Path) -> None:
    """Put the file at another place, too; without a second copy of its content where possible."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _keep(delivered: Path, target: Path) -> None:
    if target.exists():
        raise KaggleError(f"two data files are called {target.name}")
    link_or_copy(delivered, target)


def _is_archive(delivered: Path, name: PurePosixPath) -> bool:
    """Whether a file is a zip to unpack; formats that are zips inside are left as they are."""
    return name.suffix.lower() in ("", ".zip", ".csv", ".tsv", ".json", ".txt") and zipfile.is_zipfile(
        delivered
    )


def _opened(path: Path, name: str) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise KaggleError(f"{name}: is no whole zip ({error})") from None
    try:
        check_room(path.parent, sum(entry.file_size for entry in archive.infolist()), name)
    except DiskError:
        archive.close()
        raise
    return archive


def _entries(archive: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Yield the files of a zip; what systems leave behind is no data."""
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        path = safe_name(entry.filename)
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise KaggleError(f"{entry.filename[:200]!r} is a symbolic link in a zip")
        if not any(part in _LITTER for part in path.parts):
            yield entry, path


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, name: str) -> None:
    """Write one file of a zip; its checksum is looked at on the way."""
    if target.exists():
        raise KaggleError(f"{name}: holds {target.name} twice, or it is there already")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(entry) as source, target.open("wb") as file:
            shutil.copyfileobj(source, file, _CHUNK)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise KaggleError(f"{name}: {entry.filename[:200]} cannot be unpacked ({error})") from None
