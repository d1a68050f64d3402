"""Facts of this machine."""

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["cpu_name", "gpu_names", "memory_bytes", "system_name"]


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
