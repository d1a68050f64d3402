"""Interpreters for agents' code: the toolbox, which `make toolbox` builds, and our own in its place.

The toolbox is a virtual environment beside ours, in `.toolbox` of the checkout. It counts as there
once its lock file is: that is laid in it last. `COMIND_TOOLBOX` names another folder, or `none`.
"""

import hashlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from comind.system.interpreter import OWN_PYTHON

__all__ = ["Interpreter", "interpreter_for_agents", "own_interpreter", "toolbox_at", "toolbox_folder"]

_VARIABLE, _NONE = "COMIND_TOOLBOX", "none"
_LOCK = "lock.txt"
_HOME = re.compile(r"^home\s*=\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python with its packages."""

    python: str
    """Path of the program."""
    prefixes: tuple[Path, ...]
    """The folders that hold it and all that it imports."""
    toolbox: str = ""
    """Hash of the toolbox's lock file; empty for our own environment."""


def own_interpreter() -> Interpreter:
    """Return the interpreter that we run in."""
    return Interpreter(OWN_PYTHON, (Path(sys.base_prefix), Path(sys.prefix)))


def interpreter_for_agents() -> Interpreter:
    """Return the toolbox where there is one, else our own interpreter."""
    folder = toolbox_folder()
    return (toolbox_at(folder) if folder else None) or own_interpreter()


def toolbox_folder() -> Path | None:
    """Return where the toolbox lies or would lie; None where there is to be none."""
    named = os.environ.get(_VARIABLE)
    if named == _NONE:
        return None
    return Path(named).absolute() if named else Path(__file__).parents[2] / ".toolbox"


def toolbox_at(folder: Path) -> Interpreter | None:
    """Return the toolbox in `folder`, or None where none was built to its end."""
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
