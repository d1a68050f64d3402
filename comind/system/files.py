"""Write files atomically and durably, read and copy untrusted ones, and hash them."""

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader
from pathlib import Path, PurePath
from typing import BinaryIO

from comind.errors import SubmissionError
from comind.system.progress import counted

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a write for which the disk or quota has no space."""

_OF_TOOLS = ("HEAD", "dvc.yaml", "dvc.lock")  # a folder with HEAD, objects and refs is a repository
_CHUNK = 1 << 20
_ONE_TIME = 946_684_800 * 10**9  # the year 2000, in nanoseconds
_CLONE = 0x40049409  # FICLONE of Linux, as on btrfs and XFS


def write_atomically(path: Path, content: bytes | str, *, mode: int = 0o666) -> None:
    """Replace `path` atomically and sync it: after a crash it has the old content or the new.

    The file gets the permissions `mode`, less those of the umask.
    """
    with atomic_file(path, mode) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def atomic_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield a new file that is synced and replaces `path` if the block succeeds, else is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Threads of one process may write the same file at once, such as campaigns of a bench.
    staged = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        with open(staged, "wb", opener=partial(os.open, mode=mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        staged.unlink(missing_ok=True)  # free the space on a full disk
        raise
    staged.replace(path)
    _sync_folder(path.parent)


def append_durably(descriptor: int, data: bytes) -> None:
    """Append `data` to an open file and sync it.

    Raises:
        OSError: the disk is full or failing; a part of `data` may have been written.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_untrusted(root: Path, name: str, *, limit: int) -> bytes:
    """Read the untrusted file `root/name` without following links or blocking on a pipe.

    Raises:
        SubmissionError: `name` leaves `root`, or the file is missing, not a regular file with one link,
            or larger than `limit` bytes.
    """
    with open_untrusted(root, name) as file:
        # A sparse file is refused by its size, one that grows meanwhile after it was read.
        size = os.fstat(file.fileno()).st_size
        content = file.read(limit + 1) if size <= limit else b""
        if size > limit or len(content) > limit:
            raise SubmissionError(f"{name}: larger than {limit // (1 << 20)} MiB")
    return content


def open_untrusted(root: Path, name: str) -> BufferedReader:
    """Open the untrusted file `root/name` for reading, without following links or blocking on a pipe.

    Raises:
        SubmissionError: `name` leaves `root`, or is not a regular file with one link.
    """
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
        raise SubmissionError(f"{name!r} is not the name of a file inside the working directory")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(parts[-1], flags, dir_fd=folder)
    except FileNotFoundError:
        raise SubmissionError(f"{name}: there is no such file in the working directory") from None
    except OSError as error:
        raise SubmissionError(f"{name}: not a plain file ({error.strerror})") from None
    finally:
        os.close(folder)
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
        os.close(descriptor)
        raise SubmissionError(f"{name}: not a plain file with one name")
    return os.fdopen(descriptor, "rb")


def is_of_tools(path: PurePath) -> bool:
    """Return whether git, DVC, an editor or a shell could act on a file.

    It, or a folder, is hidden, or has a name that git or DVC looks for: `git status` runs a program that
    `.git/config` names.
    """
    hidden = any(part.startswith(".") for part in path.parts)
    return hidden or path.name in _OF_TOOLS or path.suffix == ".dvc"


def copy_untrusted_tree(
    source: Path, target: Path, *, limit_bytes: int, limit_files: int = 10_000, depth: int = 20
) -> list[str]:
    """Copy an untrusted folder as independent regular files, without following links.

    Each entry is opened relative to its folder's descriptor, so it cannot be exchanged in between.
    Returns the names of entries that were left out: git or DVC could act on them (`is_of_tools`), or
    they are not UTF-8, which DVC does not store.

    Raises:
        ValueError: an entry is a link, has several links or is special, or the folder exceeds the limits
            of size, entries or depth; a part may have been copied.
        OSError: something cannot be read or written.
    """
    left = [limit_bytes, limit_files]
    left_out: list[str] = []

    def copy(folder: int, to: Path, shown: str, depth_left: int) -> None:
        to.mkdir(parents=True, exist_ok=True)
        if depth_left == 0:
            raise ValueError(f"{source.name} is nested more than {depth} deep")
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            left[1] -= 1
            if left[1] < 0:
                raise ValueError(f"{source.name} holds more than {limit_files} files and folders")
            readable = os.fsencode(name).decode(errors="replace")
            if is_of_tools(PurePath(name)) or readable != name:
                left_out.append(f"{shown}/{readable}")
                continue
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            try:
                descriptor = os.open(name, flags, dir_fd=folder)
            except OSError as error:
                raise ValueError(f"{shown}/{name} is not a plain file ({error.strerror})") from None
            try:
                facts = os.fstat(descriptor)
                if stat.S_ISDIR(facts.st_mode):
                    copy(descriptor, to / name, f"{shown}/{name}", depth_left - 1)
                elif stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1:
                    left[0] -= facts.st_size
                    if left[0] < 0:
                        raise ValueError(f"{source.name} holds more than {limit_bytes // (1 << 20)} MiB")
                    _copy_bytes(descriptor, to / name, facts.st_size)
                else:
                    raise ValueError(f"{shown}/{name} is not a plain file with one name")
            finally:
                os.close(descriptor)

    top = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        copy(top, target, source.name, depth)
    finally:
        os.close(top)
    return left_out


def _copy_bytes(descriptor: int, target: Path, size: int) -> None:
    """Copy the first `size` bytes of an open file, even if it grows meanwhile."""
    with target.open("wb") as file:
        while size > 0 and (chunk := os.read(descriptor, min(size, _CHUNK))):
            file.write(chunk)
            size -= len(chunk)


def copy_plain_tree(
    source: Path,
    target: Path,
    *,
    link: Callable[[Path], bool] = lambda _: False,
    skip: Callable[[PurePath], bool] = lambda _: False,
    known: dict[tuple[int, ...], str] | None = None,
) -> None:
    """Copy files and folders as independent regular files, or where `link` says so as hard links.

    Entries whose name `skip` accepts are left out. Copies of files in `known`, see `hash_tree`, are
    added to it.

    Raises:
        ValueError: `source` contains a symbolic link or a special file.
    """
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        path = Path(entry.path)
        if skip(PurePath(entry.name)):
            continue
        if entry.is_symlink():
            raise ValueError(f"{path} is a symbolic link")
        if entry.is_dir(follow_symlinks=False):
            copy_plain_tree(path, target / entry.name, link=link, skip=skip, known=known)
        elif entry.is_file(follow_symlinks=False):
            before = identity_of(path)
            _copy_file(path, target / entry.name, link=link(path))
            if known is not None and before in known and identity_of(path) == before:
                known[identity_of(target / entry.name)] = known[before]
        else:
            raise ValueError(f"{path} is neither a file nor a folder")


def _copy_file(source: Path, target: Path, *, link: bool) -> None:
    if link:
        target.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            target.hardlink_to(source)
            return
    shutil.copyfile(source, target, follow_symlinks=False)


def level_times(root: Path, known: dict[tuple[int, ...], str] | None = None) -> None:
    """Give all files and folders below `root` one time of change.

    Times may show the order in which files were written. `known` is that of `hash_tree`. A file that
    another user owns is copied.
    """
    for path in [*sorted(root.rglob("*")), root]:
        before = identity_of(path)
        if before[-1] == _ONE_TIME:
            continue
        try:
            os.utime(path, ns=(_ONE_TIME, _ONE_TIME))
        except PermissionError:
            write_atomically(path, path.read_bytes())
            os.utime(path, ns=(_ONE_TIME, _ONE_TIME))
        if known is not None and (digest := known.get(before)) is not None:
            known[identity_of(path)] = digest


def identity_of(path: Path) -> tuple[int, ...]:
    """Return device, inode, size and time of change of a file."""
    facts = path.stat()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def clone_file(source: Path, target: Path) -> bool:
    """Copy a file without its bytes: both share them on disk until one changes.

    False where the file system cannot, as ext4; `target` is an empty file then.
    """
    with source.open("rb") as old, target.open("wb") as new:
        try:
            fcntl.ioctl(new, _CLONE, old.fileno())
        except OSError:
            return False
    return True


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_tree(root: Path, known: dict[tuple[int, ...], str] | None = None) -> str:
    """Return one SHA-256 over the names and contents of all files below `root`.

    `known` has hashes of files of one moment by device, inode, size and time of change: a file in it,
    such as a second link, is not read again, and each that is read is added.
    """
    digest, known = hashlib.sha256(), {} if known is None else known
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    for path in counted(paths, f"files of {root.name} hashed", len(paths)):
        name = os.fsencode(path.relative_to(root).as_posix())
        identity = identity_of(path)
        if identity not in known:
            known[identity] = hash_file(path)
        digest.update(len(name).to_bytes(8, "big") + name + bytes.fromhex(known[identity]))
    return digest.hexdigest()
