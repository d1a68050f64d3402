"""What a program in a sandbox finds in its environment; nothing of ours is passed on."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["environment", "thread_settings"]

_THREADED = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")


def environment(python: str, home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program; it may fill `home`, which is removed with it."""
    return {
        "PATH": f"{Path(python).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "USER": "sandbox",
        "LANG": "C.UTF-8",
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",  # what a program prints is seen at once, by the monitor too
        "PYTHONWARNINGS": "ignore",  # of libraries: they would fill the output that a model reads
        "NUMBA_CACHE_DIR": str(home / "numba"),
        # There is no network: what would ask for one says so at once, instead of after many tries.
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "NO_ALBUMENTATIONS_UPDATE": "1",
        "HF_MODULES_CACHE": str(home / "modules"),  # HF_HOME may be a store, which is read-only
        **extra,
    }


def thread_settings(threads: int) -> dict[str, str]:
    """Return what keeps the libraries of a program to this many threads."""
    names = (*(f"{library}_NUM_THREADS" for library in _THREADED), "LOKY_MAX_CPU_COUNT")
    # Threads that wait for each other sleep: spinning made small fits many times slower.
    return {**dict.fromkeys(names, str(threads)), "OMP_WAIT_POLICY": "PASSIVE"}
