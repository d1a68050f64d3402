"""Describe the machine: system, processor, usable cores, memory and GPUs; measure its speed."""

import hashlib
import math
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from comind.system.cgroups import own_cpu_quota, own_memory_limit

_GPU_LINE = re.compile(r"^(\s*)\S.*\(UUID: ([\w-]+)\)\s*$")
_QUERY_SECONDS = 30
_REFERENCE_ROUNDS = 400_000  # of a hash: about 0.2 s on one core


@cache
def describe_machine() -> dict[str, Any]:
    """Return system, processor, usable cores, memory in bytes and NVIDIA GPUs by field name."""
    gpus = _nvidia_smi("--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu_name(),
        "cores": usable_cores(),
        "memory_bytes": usable_memory(),
        "gpus": tuple(line.strip() for line in gpus if line.strip()),
    }


def reference_seconds() -> float:
    """Return how long a fixed computation on one core takes here now, beside all else that runs."""
    begun = time.perf_counter()
    hashlib.pbkdf2_hmac("sha256", b"", b"", _REFERENCE_ROUNDS)
    return time.perf_counter() - begun


def _cpu_name() -> str:
    """Return the processor's model name, or its architecture where the system does not state one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def gpu_load(gpus: tuple[str, ...]) -> tuple[float | None, int | None]:
    """Return mean use in percent and bytes of memory of GPUs; None where the driver does not tell.

    Of parts of a partitioned GPU (MIG) the driver does not.
    """
    if not gpus:
        return None, None
    query = ("--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits")
    rows = [
        line.split(",") for line in _nvidia_smi(*query, "-i", ",".join(gpus), seconds=2).splitlines()
    ]
    try:
        percents = [float(percent) for percent, _ in rows]
        return sum(percents) / len(percents), sum(int(mebibytes) for _, mebibytes in rows) << 20
    except (ValueError, ZeroDivisionError):
        return None, None


def _nvidia_smi(*arguments: str, seconds: float = _QUERY_SECONDS) -> str:
    """Return what `nvidia-smi` prints; empty without a driver or when it fails or times out."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        return subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=seconds, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def usable_cores(quota_of: Callable[[], float | None] = own_cpu_quota) -> int:
    """Return the number of cores that this process may use, at least 1; a container's limit counts."""
    cores, quota = len(os.sched_getaffinity(0)), quota_of()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def usable_memory(limit_of: Callable[[], int | None] = own_memory_limit) -> int:
    """Return the bytes of memory that this process may use: the machine's, or a container's limit."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(installed, limit_of() or installed)


def list_gpus() -> tuple[str, ...]:
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
