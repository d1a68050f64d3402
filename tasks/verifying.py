"""Data against the hashes that DVC keeps of it, to the last byte and without trusting any time stamp."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tasks.versioning import _parse_md5, cached_objects

__all__ = ["find_cache_damage", "find_damage"]


def find_damage(project: Path, data: Path, pointer: bytes) -> Iterator[str]:
    """Yield what is wrong with the versioned file or folder `data`, a line each.

    `pointer` is the content of its `.dvc` file; the project's cache lists a folder's files.
    """
    expected = _parse_md5(pointer)
    if expected is None:
        yield "its pointer is damaged"
        return
    entries = _listed(project, expected)
    if entries is None:
        yield "its list of files is missing from the cache or damaged"
        return
    for name, md5 in sorted(entries.items()):
        if not (data / name).is_file():
            yield f"{name or data.name} is missing"
        elif _md5(data / name) != md5:
            yield f"{name or data.name} is not what was versioned"
    extra = {p.relative_to(data).as_posix() for p in data.rglob("*") if p.is_file()} - entries.keys()
    yield from (f"{name} was not versioned with it" for name in sorted(extra))


def find_cache_damage(project: Path, pointer: bytes) -> Iterator[str]:
    """Yield what is wrong with DVC's own copy of what a `.dvc` file stands for, a line each."""
    expected = _parse_md5(pointer)
    if expected is None:
        return  # `find_damage` says so
    entries = _listed(project, expected)
    if entries is None:
        yield "its list of files is missing or damaged"
        return
    names = {md5: name for name, md5 in entries.items()}
    for md5, path in zip(names, cached_objects(project, list(names)), strict=True):
        if not path.is_file():
            yield f"{names[md5] or 'it'} is missing"
        elif _md5(path) != md5:
            yield f"{names[md5] or 'it'} is damaged"


def _listed(project: Path, expected: str) -> dict[str, str] | None:
    """Return hashes by name, "" for a file by itself; None where the cache's list is damaged."""
    if not expected.endswith(".dir"):
        return {"": expected}
    [listing] = cached_objects(project, [expected])
    if not listing.is_file() or _md5(listing) + ".dir" != expected:
        return None
    return {each["relpath"]: each["md5"] for each in json.loads(listing.read_bytes())}


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()  # DVC's
