"""Facts of this machine and of the interpreter that we run in."""

import os
import platform
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

__all__ = [
    "OWN_PYTHON",
    "cpu_name",
    "gpu_names",
    "installed_packages",
    "memory_bytes",
    "python_version",
    "system_name",
]

OWN_PYTHON = sys.executable
"""The interpreter that we run in."""


def python_version() -> str:
    """Return its version."""
    return platform.python_version()


def system_name() -> str:
    """Return operating system, its version and the processor's architecture."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def cpu_name() -> str:
    """Return the processor's own name, or its architecture where it has none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def memory_bytes() -> int:
    """Return how much memory the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@cache
def gpu_names() -> tuple[str, ...]:
    """Return the names of NVIDIA's GPUs, as their driver tells them; none without a driver."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(line.strip() for line in done.stdout.splitlines() if line.strip())


@cache
def installed_packages() -> tuple[str, ...]:
    """Return `name==version` of every package that this interpreter finds, in order."""
    found: dict[str, str] = {}
    for folder in reversed(sys.path):  # the first folder wins, as in an import
        for entry in Path(folder or ".").glob("*.dist-info"):
            name, _, version = entry.stem.rpartition("-")
            found[re.sub(r"[-_.]+", "-", name).lower()] = version
    return tuple(f"{name}=={version}" for name, version in sorted(found.items()))
