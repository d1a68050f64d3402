"""Create private temporary folders that are removed even when the process is killed.

Scratch folders are below one folder of this process in the system's temporary folder; a supervisor
removes it when the process has exited. Their paths are short enough for Unix sockets (107 bytes): where
`TMPDIR` is longer than 70 bytes, they are in /tmp.

Temporary folders beside data are removed at the next start. Each holder has a shared lock on a file
beside them; a process that gets the exclusive lock knows that all of them are stale.
"""

import atexit
import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from comind.system.locks import flock_within, lock_is_held
from comind.system.supervised import SupervisedProcess, start_supervised
from comind.system.supervisor import remove_tree

STAGED = ".new"
"""Prefix of folders that are renamed when they are complete."""

_LOCK_SECONDS = 60.0  # that another process may take to remove stale folders
_LONGEST = 70  # of the system's temporary folder, in bytes
_lock = threading.Lock()
_bases: dict[int, tuple[Path, SupervisedProcess]] = {}  # by process id: a fork has its own


def make_scratch_folder(prefix: str) -> Path:
    """Return a new scratch folder, which is removed at the latest when this process has exited."""
    with _lock:
        base, supervisor = _bases.get(os.getpid(), (None, None))
        if base is None or supervisor is None or not supervisor.alive():
            # Killed before the supervisor starts, we leave an empty folder.
            usual = tempfile.gettempdir()
            short = usual if len(os.fsencode(usual)) <= _LONGEST else "/tmp"  # noqa: S108
            base = Path(tempfile.mkdtemp(prefix="comind-", dir=short))
            supervisor = start_supervised(
                ["/bin/sleep", "infinity"], env={}, cwd=Path("/"), scratch=base, grace=0.0
            )
            _bases[os.getpid()] = (base, supervisor)
        return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=base))


@atexit.register
def _remove_scratch_folders() -> None:
    """Remove this process's scratch folders at its normal exit; after a kill the supervisor does."""
    with _lock:
        _, supervisor = _bases.pop(os.getpid(), (None, None))
    if supervisor is not None:
        supervisor.stop()


@contextlib.contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yield a new scratch folder; remove it at the end of the block."""
    path = make_scratch_folder(prefix)
    try:
        yield path
    finally:
        remove_tree(str(path))


@contextlib.contextmanager
def temporary_folder(home: Path, prefix: str) -> Iterator[Path]:
    """Remove stale folders with `prefix` in `home`, then yield a new one for the length of the block."""
    home.mkdir(parents=True, exist_ok=True)
    with _lock_file(home, prefix) as descriptor:
        _remove_stale(home, prefix, descriptor)
        if not flock_within(descriptor, fcntl.LOCK_SH, _LOCK_SECONDS):  # while stale ones are removed
            raise lock_is_held(home / f"{prefix}.lock", _LOCK_SECONDS)
        place = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=home))
        try:
            yield place
        finally:
            remove_tree(str(place))


@contextlib.contextmanager
def staging_folder(home: Path, prefix: str) -> Iterator[Path]:
    """Remove stale folders with `prefix` in `home`, then yield a new one, which may be renamed.

    Unlike `temporary_folder` it leaves no file beside: the lock is that of the folder itself.
    """
    remove_stale_staging(home, prefix)
    while True:
        place = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=home))
        with _locked(place, fcntl.LOCK_SH, _LOCK_SECONDS) as kept:
            if not kept:
                continue  # another process has taken it for a stale one
            try:
                yield place
            finally:
                remove_tree(str(place))
            return


def remove_stale_staging(home: Path, prefix: str = STAGED) -> list[Path]:
    """Remove what killed processes left of `staging_folder` in `home`; return the paths."""
    removed = []
    for former in sorted(home.glob(f"{prefix}-*")):
        with _locked(former, fcntl.LOCK_EX) as stale:
            if stale:
                remove_tree(str(former))
                removed.append(former)
    return removed


@contextlib.contextmanager
def staged_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder that is renamed to `target` if the block succeeds, else removed.

    If another process has made `target` meanwhile, that one stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with staging_folder(target.parent, STAGED) as staged:
        yield staged
        staged.chmod(0o755)
        try:
            staged.rename(target)
        except OSError:
            if not target.is_dir():
                raise


@contextlib.contextmanager
def _locked(folder: Path, operation: int, seconds: float = 0.0) -> Iterator[bool]:
    """Lock a folder, within `seconds`; yield whether it is locked, and there."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield False
        return
    try:
        yield flock_within(descriptor, operation, seconds) and folder.is_dir()
    finally:
        os.close(descriptor)


def remove_stale_folders(home: Path, prefix: str) -> list[Path]:
    """Remove the folders that killed processes left in `home`; return their paths."""
    if not any(home.glob(f"{prefix}-*")):
        return []
    with _lock_file(home, prefix) as descriptor:
        return _remove_stale(home, prefix, descriptor)


def _remove_stale(home: Path, prefix: str, descriptor: int) -> list[Path]:
    if not flock_within(descriptor, fcntl.LOCK_EX, 0.0):
        return []  # another process uses a folder; a later call removes the stale ones
    stale = sorted(home.glob(f"{prefix}-*"))
    for place in stale:
        remove_tree(str(place))
    return stale


@contextlib.contextmanager
def _lock_file(home: Path, prefix: str) -> Iterator[int]:
    descriptor = os.open(home / f"{prefix}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
