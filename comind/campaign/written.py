"""Which files a cell wrote, as a listing from outside: names and sizes, nothing is opened."""

import os
from collections.abc import Iterator
from pathlib import Path

from comind.campaign.attempt import WrittenFile

__all__ = ["files_in", "written_since"]

Marks = dict[str, tuple[int, int, int]]
"""By name: when it was changed last (ns), its inode, its size (bytes)."""

_LOOKED_AT = 2_000  # a cell that writes more is told of those that were found first
_DEPTH = 4
_TOLD = 12
_NAME_LENGTH = 120


def files_in(workspace: Path) -> Marks:
    """Return what changes when a file is written again, for the files in a working directory.

    Links and inputs are not followed, hidden files and folders are left out.
    """
    marks: Marks = {}
    for name, facts in _walk(workspace, "", _DEPTH):
        marks[name] = (facts.st_mtime_ns, facts.st_ino, facts.st_size)
        if len(marks) == _LOOKED_AT:
            break
    return marks


def written_since(before: Marks, after: Marks) -> tuple[WrittenFile, ...]:
    """Return what is new or changed, the newest last."""
    changed = sorted((marks, name) for name, marks in after.items() if before.get(name) != marks)
    return tuple(WrittenFile(name=_printable(name), size=marks[2]) for marks, name in changed[-_TOLD:])


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # taken away, or made unreadable, by whoever works there
    for entry in entries:
        if entry.name.startswith(".") or (not prefix and entry.name == "input"):
            continue
        try:
            if entry.is_file(follow_symlinks=False):
                yield prefix + entry.name, entry.stat(follow_symlinks=False)
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{prefix}{entry.name}/", depth - 1)
        except OSError:
            continue


def _printable(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)[:_NAME_LENGTH]
