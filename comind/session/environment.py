"""What a program in a sandbox finds in its environment; nothing of ours is passed on."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["environment"]


def environment(python: str, home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program.

    Args:
        python: the interpreter inside.
        home: a folder that the program may fill and that is removed with it.
        extra: settings for the code, such as threads and seeds.
    """
    return {
        "PATH": f"{Path(python).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "USER": "sandbox",
        "LANG": "C.UTF-8",
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        **extra,
    }
