"""Find the Python interpreters that run agents' code, and list their packages.

The toolbox is a virtual environment in `.toolbox` beside our own one; `make toolbox` builds it in a
clone. Its lock file is written last, so a toolbox without one is incomplete. `COMIND_TOOLBOX` names
another folder, or `none`.

This module is also a program, of the standard library alone: it prints version and packages of the
interpreter that runs it as JSON, and needs no CoMind there.
"""

import hashlib
import json
import os
import platform
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROGRAM = "" if __name__ == "__main__" else Path(__file__).read_text(encoding="utf-8")
"""The source of this module, to be run with `python -c`."""

_PACKAGE = Path(__file__).parent.parent if __name__ != "__main__" else Path()
_VARIABLE, _NONE = "COMIND_TOOLBOX", "none"
_LOCK = "lock.txt"
_HOME = re.compile(r"^home\s*=\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter and its packages."""

    python: str
    """Path of the executable."""
    prefixes: tuple[Path, ...]
    """Folders of the interpreter and of everything that it imports."""
    toolbox: str = ""
    """Hash of the toolbox's lock file; empty for our own environment."""

    def mounts(self) -> list[Path]:
        """Return the folders outside of /usr that a sandbox has to mount, without nested ones."""
        usr = Path("/usr")
        resolved = {path.resolve() for path in self.prefixes}
        outside = {path for path in resolved if path != usr and usr not in path.parents}
        return sorted(path for path in outside if not any(other in path.parents for other in outside))

    def hidden(self, package: Path = _PACKAGE) -> list[Path]:
        """Return folders below /usr or a mount whose content a sandbox has to hide: our own package.

        It makes the instances of the problems that ship, and the labels of the demos.
        """
        folder = package.resolve()
        return [folder] if any(each in folder.parents for each in (Path("/usr"), *self.mounts())) else []


def own_interpreter() -> Interpreter:
    """Return the interpreter of this process."""
    return Interpreter(sys.executable, (Path(sys.base_prefix), Path(sys.prefix)))


def interpreter_for_agents() -> Interpreter:
    """Return the toolbox if it is built, else our own interpreter."""
    folder = toolbox_folder()
    return (_toolbox_at(folder) if folder else None) or own_interpreter()


def toolbox_folder() -> Path | None:
    """Return the folder of the toolbox, built or not; None if it is disabled."""
    named = os.environ.get(_VARIABLE)
    if named == _NONE:
        return None
    return Path(named).absolute() if named else Path(sys.prefix).parent / ".toolbox"


def _toolbox_at(folder: Path) -> Interpreter | None:
    """Return the toolbox in `folder`; None if it is incomplete."""
    python = folder / "bin" / "python"
    try:
        lock = (folder / _LOCK).read_bytes()
        home = _HOME.search((folder / "pyvenv.cfg").read_text(encoding="utf-8"))
    except OSError:
        return None
    if home is None or not python.exists():
        return None
    prefixes = (Path(home[1]).resolve().parent, folder)
    return Interpreter(str(python), prefixes, hashlib.sha256(lock).hexdigest())


@cache
def python_and_packages() -> tuple[str, tuple[str, ...]]:
    """Return the version of this interpreter and `name==version` of each package, sorted by name."""
    found: dict[str, str] = {}
    for folder in reversed(sys.path):  # the first folder wins, as in an import
        for entry in Path(folder or ".").glob("*.dist-info"):
            name, _, version = entry.stem.rpartition("-")
            found[re.sub(r"[-_.]+", "-", name).lower()] = version
    packages = tuple(f"{name}=={version}" for name, version in sorted(found.items()))
    return platform.python_version(), packages


if __name__ == "__main__":
    print(json.dumps(python_and_packages()))  # noqa: T201 - the program's output
