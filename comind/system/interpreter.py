"""What an interpreter of Python finds: its version and its packages.

Also a program, with nothing but the standard library, that tells the same in JSON of whatever
interpreter runs it, even one that does not have CoMind.
"""

import json
import platform
import re
import sys
from functools import cache
from pathlib import Path

__all__ = ["OWN_PYTHON", "PROGRAM", "installed_packages", "python_version"]

OWN_PYTHON = sys.executable
"""The interpreter that we run in."""

PROGRAM = "" if __name__ == "__main__" else Path(__file__).read_text(encoding="utf-8")
"""The text of this module, to be run with `-c`; as a program it has no file to read."""


def python_version() -> str:
    """Return the version of this interpreter."""
    return platform.python_version()


@cache
def installed_packages() -> tuple[str, ...]:
    """Return `name==version` of every package that this interpreter finds, in order."""
    found: dict[str, str] = {}
    for folder in reversed(sys.path):  # the first folder wins, as in an import
        for entry in Path(folder or ".").glob("*.dist-info"):
            name, _, version = entry.stem.rpartition("-")
            found[re.sub(r"[-_.]+", "-", name).lower()] = version
    return tuple(f"{name}=={version}" for name, version in sorted(found.items()))


if __name__ == "__main__":
    print(json.dumps([python_version(), installed_packages()]))  # noqa: T201 - to be read by who ran us
