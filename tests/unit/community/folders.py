"""Helpers that write community folders."""

import json
from pathlib import Path
from typing import Any

DAY = "2023-03-{:02d}T12:00:00Z"


def notebook(ref: str = "ada/one", day: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "ref": ref,
        "version": 1,
        "title": ref.title(),
        "author": ref.partition("/")[0],
        "created_at": DAY.format(day),
        "votes": 0,
        "vote_times": [],
        "source": f"print({ref!r})\n",
    } | more


def discussion(number: int = 1, day: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "title": f"Thread {number}",
        "author": "ada",
        "posted_at": DAY.format(day),
        "votes": 0,
        "vote_times": [],
        "body": "Scale first.",
        "comments": [],
    } | more


def comment(name: str, day: int = 2, **more: Any) -> dict[str, Any]:
    given = {"id": name, "author": "bob", "posted_at": DAY.format(day), "votes": 0, "body": "Yes."}
    return given | {"vote_times": []} | more


def dataset(ref: str = "ada/data", day: int = 1, **more: Any) -> dict[str, Any]:
    return {"ref": ref, "version": 1, "title": ref, "published_at": DAY.format(day)} | more


def community(folder: Path, **files: list[Any]) -> Path:
    """Write a community folder; a line given as text or bytes is written verbatim."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, lines in files.items():
        given = [line if isinstance(line, str | bytes) else json.dumps(line) for line in lines]
        data = b"".join((ln.encode() if isinstance(ln, str) else ln) + b"\n" for ln in given)
        (folder / f"{kind}.jsonl").write_bytes(data)
    return folder
