"""Data against the hashes that DVC keeps of it, to the last byte and without trusting any time stamp."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from tasks.versioning import cached_objects

__all__ = ["damaged", "damaged_cache"]

_CHUNK = 1 << 20


def damaged(project: Path, data: Path, pointer: bytes) -> Iterator[str]:
    """Yield what is wrong with a versioned file or folder, a line each.

    Args:
        project: the DVC repository whose cache lists the folder's files.
        data: where it lies.
        pointer: content of its `.dvc` file.
    """
    try:
        [out] = yaml.safe_load(pointer)["outs"]
        expected = str(out["md5"])
    except (yaml.YAMLError, KeyError, ValueError, TypeError):
        yield "its pointer is damaged"
        return
    if not expected.endswith(".dir"):
        yield from _differs(data, expected, data.name)
        return
    [listing] = cached_objects(project, [expected])
    if not listing.is_file() or _md5(listing) + ".dir" != expected:
        yield "its list of files is missing from the cache or damaged"
        return
    entries = {each["relpath"]: each["md5"] for each in json.loads(listing.read_bytes())}
    for name, md5 in sorted(entries.items()):
        yield from _differs(data / name, md5, name)
    extra = {p.relative_to(data).as_posix() for p in data.rglob("*") if p.is_file()} - entries.keys()
    yield from (f"{name} was not versioned with it" for name in sorted(extra))


def _differs(path: Path, md5: str, name: str) -> Iterator[str]:
    if not path.is_file():
        yield f"{name} is missing"
        return
    if _md5(path) != md5:
        yield f"{name} is not what was versioned"


def damaged_cache(project: Path, pointer: bytes) -> Iterator[str]:
    """Yield what is wrong with DVC's own copy of what a `.dvc` file stands for, a line each."""
    try:
        [out] = yaml.safe_load(pointer)["outs"]
        expected = str(out["md5"])
    except (yaml.YAMLError, KeyError, ValueError, TypeError):
        return  # `damaged` says so
    names = {expected: ""}
    if expected.endswith(".dir"):
        [listing] = cached_objects(project, [expected])
        if not listing.is_file() or _md5(listing) + ".dir" != expected:
            yield "its list of files is missing or damaged"
            return
        names = {each["md5"]: each["relpath"] for each in json.loads(listing.read_bytes())}
    for md5, path in zip(names, cached_objects(project, list(names)), strict=True):
        if not path.is_file():
            yield f"{names[md5] or 'it'} is missing"
        elif _md5(path) != md5:
            yield f"{names[md5] or 'it'} is damaged"


def _md5(path: Path) -> str:
    digest = hashlib.md5()  # noqa: S324 - DVC's
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
