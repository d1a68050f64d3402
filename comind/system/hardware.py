"""Describe the machine, and lease its cores and GPUs to the attempts that run at the same time.

Cores are shared within one process, GPUs among all processes. The lease of a GPU is a file lock, so it
ends with the process that holds it.
"""

import contextlib
import fcntl
import os
import platform
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Cores", "Gpus", "describe_machine", "usable_cores"]

_GPU_LINE = re.compile(r"^(\s*)\S.*\(UUID: ([\w-]+)\)\s*$")
_QUERY_SECONDS = 30


@cache
def describe_machine() -> dict[str, Any]:
    """Return system, processor, usable cores, memory in bytes and NVIDIA GPUs by field name."""
    gpus = _nvidia_smi("--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu_name(),
        "cores": usable_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpus": tuple(line.strip() for line in gpus if line.strip()),
    }


def _cpu_name() -> str:
    """Return the processor's model name, or its architecture where the system does not state one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _nvidia_smi(*arguments: str) -> str:
    """Return what `nvidia-smi` prints; empty without a driver or when it fails or times out."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        return subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=_QUERY_SECONDS, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


class Cores:
    """Shares the cores of one process among the holders that are present.

    A holder counts from the start of its `holding` block, before its first lease, so holders that start
    together get equal shares. Each gets at least one core: more holders than cores overcommit.
    """

    def __init__(self, count: int) -> None:
        self._count = max(1, count)
        self._held: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Count `name` as a holder for the length of the block, then release its lease."""
        with self._lock:
            self._held[name] = 0
        try:
            yield
        finally:
            with self._lock:
                del self._held[name]

    def lease(self, name: str, wanted: int = 0) -> int:
        """Return the number of cores that `name` may use until its `holding` block ends.

        Without a `holding` block it gets all cores. `wanted`, as before an interruption, is given up to
        the cores of the machine; 0 is a fair share.
        """
        with self._lock:
            if name not in self._held:
                return min(wanted, self._count) or self._count
            if self._held[name] == 0:
                free = self._count - sum(self._held.values())
                share = min(self._count // len(self._held), free)
                self._held[name] = max(1, min(wanted, self._count) if wanted else share)
            return self._held[name]


def _list_gpus() -> tuple[str, ...]:
    """Return the UUIDs of usable GPUs, of a partitioned one (MIG) those of its parts.

    `CUDA_VISIBLE_DEVICES` of our own environment restricts them.
    """
    return _allowed(_parsed(_nvidia_smi("-L")), os.environ)


def _parsed(text: str) -> list[str]:
    names: list[str] = []
    whole = False  # whether the last name is a GPU that has listed no parts yet
    for line in text.splitlines():
        found = _GPU_LINE.match(line)
        if found is None:
            continue
        part = bool(found[1])
        if part and whole:
            names.pop()
        names.append(found[2])
        whole = not part
    return names


def _allowed(names: list[str], env: Mapping[str, str]) -> tuple[str, ...]:
    wanted = env.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return tuple(names)
    chosen: list[str] = []
    for word in filter(None, (word.strip() for word in wanted.split(","))):
        if word.isdigit():
            chosen += names[int(word) : int(word) + 1]
        else:
            chosen += [name for name in names if name.startswith(word)]
    return tuple(dict.fromkeys(chosen))


class Gpus:
    """Leases each GPU of the machine to one holder at a time, across processes."""

    def __init__(
        self, devices: Callable[[], tuple[str, ...]] = _list_gpus, folder: Path | None = None
    ) -> None:
        """Prepare to lease; `devices` is called at each holder's first lease.

        The lock files are in `folder`, which must be the same for all processes.
        """
        self._devices = devices
        self._folder = folder or Path(tempfile.gettempdir()) / "comind-gpus"
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
                    if len(held) < share and (descriptor := self._acquire(device)) is not None:
                        held[device] = descriptor
            return tuple(self._held[name])

    def _acquire(self, device: str) -> int | None:
        """Lock a device without blocking; None if another holder has the lock."""
        # Writable for all, like the temporary folder: holders may be different users.
        if not self._folder.is_dir():
            with contextlib.suppress(FileExistsError):
                self._folder.mkdir()
                self._folder.chmod(0o1777)
        path = self._folder / device
        # Linux refuses to open another user's file with O_CREAT in such a folder.
        if not path.exists():
            with contextlib.suppress(FileExistsError):
                path.touch(0o644, exist_ok=False)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor
