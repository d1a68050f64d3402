"""Unpack downloads below a folder, without path traversal, links, or more than the disk holds."""

import contextlib
import functools
import gzip
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Literal, NamedTuple, cast

from comind.errors import CompetitionError, DiskError
from comind.system.failpoints import failpoint
from comind.system.files import clone_file, is_of_tools
from comind.system.plurals import quantity
from comind.system.progress import counted

DISK_HINT = "free disk space, or name another folder with --out; what was fetched is kept"

_CHUNK = 1 << 20
_CHECK_EVERY = 16  # chunks of a stream, until free space is looked at again
_MOST_READ = 64 << 20  # bytes of a tar's header; data is read in chunks
PART_NAME = ".comind-part"  # name of a file that is being written
_DEEPEST = 4  # archives in archives
_LONGEST = 200  # characters of one part of a name
_SPARE_BYTES = 256 << 20
_SHOWN = 3
_LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db")
_OF_TOOLS = (
    "HEAD",
    "dvc.yaml",
    "dvc.lock",
)  # git takes a folder with HEAD, objects and refs for its own
_ZIPPED = ("", ".zip", ".csv", ".tsv", ".json", ".txt")  # a table may be sent as a zip of itself
_GZIPPED = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".npy", ".zip")
_GZIP_MAGIC = b"\x1f\x8b"
_REFUSED = (".7z", ".rar")
_BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
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


Place = Callable[[Path, Path], None]
"""Makes a file a file of ours: gets its path, and the new one."""


class _Member(NamedTuple):
    """A file of an archive."""

    path: PurePosixPath
    open: Callable[[], IO[bytes]]


def unpack(
    download: Path,
    name: str,
    public: Path,
    *,
    finished: set[Path] | None = None,
    place: Place | None = None,
    left_out: list[str] | None = None,
) -> tuple[str, ...]:
    """Link or unpack a downloaded file below `public`; return the names of the resulting files.

    An archive (`.zip`, `.tar`, `.tar.gz`, `.tgz`, or `.gz` of a table) with one file becomes this file.
    One with many becomes a folder of its name, unless all are in one folder already. Archives in it are
    unpacked too, at most four deep. The download itself stays. `finished` are files below `public` that
    a killed call has left; each is complete, and is removed from the set when it is found again. `place`
    brings a file that is no archive to its place; by default, a hard link does. The names of files that
    git or DVC could act on (`is_of_tools`) are added to `left_out`, and no files are made of them.

    Raises:
        CompetitionError: the archive is corrupt or of another format, holds links or devices, or a name
            would lead out of the folder.
        DiskError: there is not enough disk space.
    """
    found = set() if finished is None else finished
    skipped = [] if left_out is None else left_out
    return tuple(_unpack(download, name, public, found, 1, place or link_or_copy, skipped))


def _unpack(
    download: Path,
    name: str,
    public: Path,
    finished: set[Path],
    depth: int,
    place: Place,
    left_out: list[str],
) -> list[str]:
    target = _free_name(safe_name(name))
    if is_of_tools(target):
        left_out.append(str(target))
        return []
    kind = _archive_kind(download, target)
    if kind is None:
        if public / target not in finished:
            if (public / target).exists():
                raise CompetitionError(f"two data files are called {target.name}")
            place(download, public / target)
        finished.discard(public / target)
        return [str(target)]
    if depth > _DEEPEST:
        raise CompetitionError(f"{name}: archives in archives, deeper than {_DEEPEST}")
    made = []
    with _members(download, name, kind) as members:
        left_out += [f"{name}: {member.path}" for member in members if is_of_tools(member.path)]
        found = [member for member in members if not is_of_tools(member.path)]
        single = len(found) == 1
        folders = {path.parts[0] if len(path.parts) > 1 else "" for path, _ in found}
        own = single or (len(folders) == 1 and "" not in folders)
        base = target.parent if own else target.parent / _stem(target)
        for member in counted(found, f"files of {name} unpacked", len(found), every=1):
            inner = _free_name(base / (PurePosixPath(member.path.name) if single else member.path))
            if not _looks_packed(inner):
                if public / inner not in finished:
                    _write(member, public / inner, name)
                    failpoint("file-unpacked")
                finished.discard(public / inner)
                made.append(str(inner))
                continue
            packed = public / f".packed-{depth}"
            packed.unlink(missing_ok=True)  # of a killed call
            try:
                _write(member, packed, name)
                again = (finished, depth + 1, link_or_copy, left_out)
                made += _unpack(packed, str(inner), public, *again)
            finally:
                packed.unlink(missing_ok=True)
    return made


def describe_left_out(names: Sequence[str]) -> str:
    """Return a line on the files that `unpack` left out."""
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"{quantity(len(names), 'file')} left out, as git, DVC or a shell could act on them: {shown}"


def extract_each(bundle: Path, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Extract the files of a zip to `scratch` one at a time; yield each name with that path.

    Raises:
        CompetitionError: the zip is corrupt, or a name would lead out of the folder.
    """
    with _opened(bundle, bundle.name) as archive:
        for entry, path in _entries(archive):
            safe_name(str(path))
            _write(_zip_member(archive, entry, path), scratch, bundle.name)
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
        copy_file(source, target)


def copy_file(source: Path, target: Path, *, clone: bool = False) -> None:
    """Copy a file and its mode; with `clone`, share its blocks if the file system can."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(PART_NAME)
    if not (clone and clone_file(source, part)):
        shutil.copyfile(source, part)
    shutil.copymode(source, part)
    part.rename(target)


def _archive_kind(download: Path, name: PurePosixPath) -> Literal["zip", "tar", "gz"] | None:
    """Return which archive to unpack a file is; formats based on zip, such as xlsx, are none.

    Raises:
        CompetitionError: it is an archive of another format, or a zip that was truncated.
    """
    suffix = name.suffix.lower()
    if suffix in _REFUSED:
        raise CompetitionError(f"{name}: cannot be unpacked here", hint="unpack it and name the folder")
    if suffix in _ZIPPED and zipfile.is_zipfile(download):
        return "zip"
    if suffix == ".zip":
        raise CompetitionError(f"{name}: the zip is corrupt (it has no end)")
    if _looks_packed(name):
        tar = suffix in (".tar", ".tgz") or name.stem.lower().endswith(".tar")
        return "tar" if tar else "gz"
    return None


def _looks_packed(name: PurePosixPath) -> bool:
    """Return whether a file has the name of an archive; of `.gz`, only of a table or another archive."""
    suffix, inner = name.suffix.lower(), PurePosixPath(name.stem).suffix.lower()
    gzipped = suffix == ".gz" and inner in (*_GZIPPED, ".tar")
    return gzipped or suffix in (".zip", ".tar", ".tgz", *_REFUSED)


def _stem(name: PurePosixPath) -> str:
    """Return an archive's name without its suffixes."""
    stem = name.stem if name.suffix.lower() in (".zip", ".tar", ".tgz", ".gz") else name.name
    return stem[:-4] if stem.lower().endswith(".tar") else stem


@contextlib.contextmanager
def _members(download: Path, name: str, kind: Literal["zip", "tar", "gz"]) -> Iterator[list[_Member]]:
    """Open an archive and yield its files, without metadata of operating systems."""
    if kind == "zip":
        with _opened(download, name) as archive:
            yield [_zip_member(archive, entry, path) for entry, path in _entries(archive)]
    elif kind == "gz":
        stem = PurePosixPath(PurePosixPath(name).stem)
        yield [_Member(stem, functools.partial(_gzip_stream, download))]
    else:
        with _tar_file(download) as file, _opened_tar(file, name) as tar:
            yield _tar_members(tar, name, download.parent)


def _gzip_stream(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.GzipFile(path))


class _HeadersInBounds(gzip.GzipFile):
    """A stream that refuses to read a header of more than 64 MiB into memory."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _MOST_READ:
            raise ValueError("a header is too large")
        return super().read(size)


def _tar_file(download: Path) -> IO[bytes]:
    """Open a tar, compressed or not."""
    with download.open("rb") as file:
        packed = file.read(2) == _GZIP_MAGIC
    return cast("IO[bytes]", _HeadersInBounds(download)) if packed else download.open("rb")


def _opened_tar(file: IO[bytes], name: str) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=file, mode="r:")
    except _BROKEN as error:
        raise CompetitionError(f"{name}: the tar is corrupt ({error})") from None


def _tar_members(tar: tarfile.TarFile, name: str, folder: Path) -> list[_Member]:
    """Return the files of a tar, in its order.

    Raises:
        CompetitionError: it is corrupt, or holds links or devices.
    """
    try:
        entries = tar.getmembers()
    except _BROKEN as error:
        raise CompetitionError(f"{name}: the tar is corrupt ({error})") from None
    check_free_space(folder, sum(entry.size for entry in entries), name)
    found = []
    for entry in entries:
        path = safe_name(entry.name)
        if entry.issym() or entry.islnk():
            raise CompetitionError(f"{name}: {entry.name[:200]!r} is a link in a tar")
        if not (entry.isdir() or entry.isreg()) or entry.issparse():
            raise CompetitionError(f"{name}: {entry.name[:200]!r} is neither a file nor a folder")
        if not entry.isdir() and not is_litter(path):
            found.append(_Member(path, functools.partial(_tar_stream, tar, entry)))
    return found


def _tar_stream(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    stream = tar.extractfile(entry)
    assert stream is not None, "only plain files"
    return stream


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
        if not is_litter(path):
            yield entry, path


def is_litter(path: PurePath) -> bool:
    """Return whether an operating system, not the publisher, put a file into an archive."""
    return path.name.startswith("._") or any(part in _LITTER for part in path.parts)


def _zip_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: PurePosixPath) -> _Member:
    return _Member(path, functools.partial(archive.open, entry))


def _write(member: _Member, target: Path, name: str) -> None:
    """Write one file of an archive, and verify its checksum where it has one.

    Sizes that an archive states are checked before; a stream states none, so free space is looked at
    again and again. Nothing of a file stays that cannot be written to its end.
    """
    if target.exists():
        raise CompetitionError(f"{name}: holds {target.name} twice, or it is there already")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(PART_NAME)  # what has its own name is complete
    try:
        with member.open() as source, part.open("wb") as file:
            for number, chunk in enumerate(iter(lambda: source.read(_CHUNK), b"")):
                if number % _CHECK_EVERY == 0:
                    check_free_space(target.parent, _CHECK_EVERY * _CHUNK, name)
                file.write(chunk)
        part.rename(target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, _BROKEN):
            shown = str(member.path)[:200]
            raise CompetitionError(f"{name}: {shown} cannot be unpacked ({error})") from None
        raise
