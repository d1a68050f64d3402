"""Walk a working directory that untrusted code may change meanwhile."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def walk_files(workspace: Path, *, depth: int, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and status of each regular file, sorted by path, without opening any.

    Excludes links, `input/`, hidden files and folders, and folders nested more than `depth` deep.
    """
    try:
        entries = sorted(os.scandir(workspace / prefix), key=lambda entry: entry.name)
    except OSError:
        return  # removed, or made unreadable, by the running code
    for entry in entries:
        name = prefix + entry.name
        if entry.name.startswith(".") or name == "input":
            continue
        try:
            facts = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(facts.st_mode):
            yield name, facts
        elif stat.S_ISDIR(facts.st_mode) and depth:
            yield from walk_files(workspace, depth=depth - 1, prefix=f"{name}/")
