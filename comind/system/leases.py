"""Lease cores, GPUs and user ids of the machine to what runs at the same time, in all processes.

A lease is a lock on a file, so it ends with the process that holds it, however that ends. The files are
in the system's temporary folder, or in that of the variable `COMIND_LEASES`.
"""

import contextlib
import fcntl
import os
import pwd
import random
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from comind.system.hardware import list_gpus
from comind.system.locks import flock_within, lock_is_held

_REGISTRY = "registry"
_REGISTRY_SECONDS = 60.0  # it is held for moments
_USERS = range(10_001, 11_025)  # also mapped where root has the first 65,536 ids alone, in a container


@dataclass(frozen=True, slots=True)
class _LockFolder:
    """Lock files in a folder that all processes and users of the machine share."""

    name: str
    given: Path | None = None
    patience: float = _REGISTRY_SECONDS
    """Seconds of waiting for the registry."""

    @property
    def path(self) -> Path:
        """The folder, created on first use; writable for all, as holders may be different users."""
        shared = Path(os.environ.get("COMIND_LEASES") or tempfile.gettempdir())
        folder = self.given or shared / self.name
        if not folder.is_dir():
            with contextlib.suppress(FileExistsError):
                folder.mkdir(parents=True)
                folder.chmod(0o1777)
        return folder

    def acquire(self, name: str, *, seconds: float = 0.0) -> int | None:
        """Lock a file; return its descriptor, or None if another holder has the lock for `seconds`."""
        path = self.path / name
        # Linux refuses to open another user's file with O_CREAT in such a folder.
        if not path.exists():
            with contextlib.suppress(FileExistsError):
                path.touch(0o644, exist_ok=False)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        if not flock_within(descriptor, fcntl.LOCK_EX, seconds):
            os.close(descriptor)
            return None
        return descriptor

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let one process at a time, and one thread of it, run the block.

        Raises:
            ServiceError: another one holds the lock for longer than `patience`.
        """
        descriptor = self.acquire(_REGISTRY, seconds=self.patience)
        if descriptor is None:
            raise lock_is_held(self.path / _REGISTRY, self.patience)
        try:
            yield
        finally:
            os.close(descriptor)

    def locked(self) -> Iterator[Path]:
        """Yield the files that a holder has locked, and delete those of holders that have exited."""
        for path in self.path.iterdir():
            if path.name == _REGISTRY:
                continue
            descriptor = self.acquire(path.name)
            if descriptor is None:
                yield path
                continue
            os.close(descriptor)
            with contextlib.suppress(OSError):  # another user's
                path.unlink()


class Cores:
    """Shares the cores of the machine among the holders that are present, in all processes.

    A holder counts from the start of its `holding` block, before its first lease, so holders that start
    together get equal shares. Each gets at least one core: more holders than cores overcommit.
    """

    def __init__(
        self, count: int, folder: Path | None = None, patience: float = _REGISTRY_SECONDS
    ) -> None:
        """Prepare to lease `count` cores; `folder` of lock files must be the same for all holders."""
        self._count = max(1, count)
        self._locks = _LockFolder("comind-cores", folder, patience)
        self._files: dict[str, Path] = {}

    @contextlib.contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Count `name` as a holder for the length of the block, then release its lease."""
        with self._locks.exclusive():  # a file that is not locked yet would count as left behind
            path = self._locks.path / f"{os.getpid()}-{uuid.uuid4().hex}"
            descriptor = self._locks.acquire(path.name)
        assert descriptor is not None
        self._files[name] = path
        try:
            yield
        finally:
            del self._files[name]
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(descriptor)

    def lease(self, name: str, wanted: int = 0) -> int:
        """Return the number of cores that `name` may use until its `holding` block ends; idempotent.

        Without a `holding` block it gets all cores. `wanted`, as before an interruption, is given up to
        the cores of the machine; 0 is a fair share.
        """
        own = self._files.get(name)
        if own is None:
            return min(wanted, self._count) or self._count
        with self._locks.exclusive():
            leased = {path: _leased(path) for path in self._locks.locked()}
            if not leased[own]:
                share = min(self._count // len(leased), self._count - sum(leased.values()))
                leased[own] = max(1, min(wanted, self._count) if wanted else share)
                own.write_text(str(leased[own]))
            return leased[own]


def _leased(path: Path) -> int:
    """Return the number of cores of a holder; 0 before its first lease."""
    try:
        return int(path.read_text() or 0)
    except (OSError, ValueError):
        return 0


class Gpus:
    """Leases each GPU of the machine to one holder at a time, across processes."""

    def __init__(
        self, devices: Callable[[], tuple[str, ...]] = list_gpus, folder: Path | None = None
    ) -> None:
        """Prepare to lease; `devices` is called at each holder's first lease."""
        self._devices = devices
        self._locks = _LockFolder("comind-gpus", folder)
        self._held: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Let `name` lease for the length of the block, then release its leases."""
        try:
            yield
        finally:
            with self._lock:
                for descriptor in self._held.pop(name, {}).values():
                    os.close(descriptor)

    def lease(self, name: str, holders: int = 1) -> tuple[str, ...]:
        """Return the devices that `name` may use until its `holding` block ends; idempotent.

        It gets the share of one of `holders`, and at least one device if one is free.
        """
        with self._lock:
            if name not in self._held:
                devices = self._devices()
                share = max(1, len(devices) // max(1, holders))
                held: dict[str, int] = {}
                self._held[name] = held
                for device in devices:
                    if len(held) < share and (descriptor := self._locks.acquire(device)) is not None:
                        held[device] = descriptor
            return tuple(self._held[name])


class Users:
    """Leases user ids that are no account's, each to one holder at a time, across processes.

    The kernel counts inotify instances, keys, pending signals and pages of pipes by user id, also for
    processes in different namespaces.
    """

    def __init__(self, folder: Path | None = None, ids: Sequence[int] = _USERS) -> None:
        """Prepare to lease one of `ids`; `folder` of lock files must be the same for all holders."""
        self._locks = _LockFolder("comind-users", folder)
        self._ids = ids

    def lease(self, preferred: int = 0) -> tuple[int, int] | None:
        """Return an id and the descriptor of its lock; None if all are leased.

        The lease ends when all copies of the descriptor are closed. `preferred` is leased if it is free
        and one of the ids.
        """
        others = random.sample(self._ids, len(self._ids))  # where lock files are not shared, few meet
        for uid in ([preferred] if preferred in self._ids else []) + others:
            if not _has_account(uid) and (descriptor := self._locks.acquire(str(uid))) is not None:
                return uid, descriptor
        return None


def _has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
