"""Read a community folder of untrusted JSON Lines files, rejecting invalid items with a reason."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from comind.community.items import (
    CommentItem,
    CommunityItems,
    DatasetItem,
    DiscussionItem,
    NotebookItem,
    Remark,
)
from comind.community.lines import (
    CommentLine,
    DatasetLine,
    DiscussionLine,
    Line,
    NotebookLine,
    parse_time,
)
from comind.community.notebook_source import load_source, sanitize_source
from comind.community.sanitize import sanitize_line
from comind.domain.community import is_reference
from comind.errors import CommunityError

_NOTEBOOKS, _DISCUSSIONS, _DATASETS = "notebooks.jsonl", "discussions.jsonl", "datasets.jsonl"
_FILES = (_NOTEBOOKS, _DISCUSSIONS, _DATASETS)
_LINES: dict[str, type[Line]] = {
    _NOTEBOOKS: NotebookLine,
    _DISCUSSIONS: DiscussionLine,
    _DATASETS: DatasetLine,
}
_TIMES = ("created_at", "posted_at", "published_at", "updated_at", "observed_at")

_MESSAGES = {
    "missing": "is missing",
    "string_type": "is no text",
    "int_type": "is no whole number",
    "model_type": "is no JSON object",
}

_LINE_BYTES = 32 << 20

T = TypeVar("T")


def is_community_folder(folder: Path) -> bool:
    """Whether a folder has at least one of a community's files."""
    return any(_exists(folder / name) for name in _FILES)


def read_community_folder(folder: Path) -> CommunityItems:
    """Return the items of a community folder; its remarks give the reason for every rejected item.

    Raises:
        CommunityError: the folder, or a file as a whole, is invalid.
    """
    if not folder.is_dir():
        raise CommunityError(
            f"{folder}: there is no such folder", hint="name a community folder, or none"
        )
    if not is_community_folder(folder):
        raise CommunityError(f"{folder}: is no community folder", hint=f"it holds {', '.join(_FILES)}")
    remarks: list[Remark] = []
    reader = _Reader(folder, remarks)
    return CommunityItems(
        notebooks=tuple(reader.items(_NOTEBOOKS, reader.notebook)),
        discussions=tuple(reader.items(_DISCUSSIONS, reader.discussion)),
        datasets=tuple(reader.items(_DATASETS, reader.dataset)),
        remarks=tuple(remarks),
    )


class _Reader:
    """Reads the files of one folder, and appends to `remarks`."""

    def __init__(self, folder: Path, remarks: list[Remark]) -> None:
        self._folder = folder
        self._remarks = remarks

    def items(self, name: str, make: Callable[[dict[str, Any]], T]) -> Iterator[T]:
        """Yield the items of one file, which may be missing.

        Raises:
            CommunityError: it is not a regular file, or contains no JSON objects.
        """
        path = self._folder / name
        if not _exists(path):
            return
        objects = blank = 0
        number = 0
        with _open(path) as file:
            for number, line in enumerate(_lines(file), start=1):
                values = _parse(line)
                blank += not line.strip()
                if isinstance(values, dict):
                    objects += 1
                    yield from self._item(name, number, values, make)
                elif line.strip():
                    self._remarks.append(Remark(file=name, line=number, reason="is no JSON object"))
        if number > blank and not objects:
            raise CommunityError(f"{path}: is no JSON lines", hint="write one JSON object a line")

    def _item(
        self, name: str, number: int, values: dict[str, Any], make: Callable[[dict[str, Any]], T]
    ) -> Iterator[T]:
        at = _latest_time(values)

        def remark(reason: str) -> None:
            known = _name_of(values)
            self._remarks.append(Remark(file=name, name=known, line=number, reason=reason, at=at))

        try:
            yield make(values)
        except ValidationError as error:
            remark(_reason(error))
        except ValueError as error:
            remark(str(error))
        else:
            kind = _LINES[name]
            for key in kind.unknown_keys(values)[:3]:
                reason = f"the unknown key {sanitize_line(key, 40)!r} is ignored"
                self._remarks.append(Remark(file=name, reason=reason, at=at))

    def notebook(self, values: dict[str, Any]) -> NotebookItem:
        line = NotebookLine.model_validate(values)
        if line.source is not None:
            return line.item(sanitize_source(line.source))
        if line.path is None:
            raise ValueError("has neither source nor path")
        if PurePosixPath(line.path).suffix.lower() not in (".py", ".ipynb"):
            raise ValueError("path: is neither .py nor .ipynb")
        try:
            return line.item(load_source(self._folder, line.path))
        except OSError as error:
            raise ValueError(f"path: {error}") from None

    def discussion(self, values: dict[str, Any]) -> DiscussionItem:
        line = DiscussionLine.model_validate(values)
        comments: list[CommentItem] = []
        for given in line.comments:
            try:
                comment = CommentLine.model_validate(given)
                if comment.observed_at is None:
                    comment = comment.model_copy(update={"observed_at": line.observed_at})
                comments.append(comment.item())
            except ValidationError as error:
                times = [time for part in (values, given) if (time := _latest_time(part))]
                known = _name_of(given) if isinstance(given, dict) else ""
                reason = f"comment {known}: {_reason(error)}" if known else f"a comment {_reason(error)}"
                at = max(times, default=None)
                self._remarks.append(Remark(file=_DISCUSSIONS, name=line.id, reason=reason, at=at))
        return line.item(tuple(comments))

    def dataset(self, values: dict[str, Any]) -> DatasetItem:
        return DatasetLine.model_validate(values).item()


def _exists(path: Path) -> bool:
    """Whether the path exists, also as a broken link."""
    return path.exists() or path.is_symlink()


def _open(path: Path) -> BinaryIO:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        reason = (
            "is a symbolic link" if path.is_symlink() else (error.strerror or "cannot be read").lower()
        )
        raise CommunityError(f"{path}: {reason}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CommunityError(f"{path}: is no plain file")
    return os.fdopen(descriptor, "rb")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines; one beyond the limit is replaced by text that is not JSON."""
    first = True
    while line := file.readline(_LINE_BYTES):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(_LINE_BYTES)
            line = b"(too long)" if rest else line
        yield line.removeprefix(b"\xef\xbb\xbf") if first else line
        first = False


def _parse(line: bytes) -> object:
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        return None


def _name_of(values: dict[str, Any]) -> str:
    """Return an item's `ref` or `id` if it is safe to show, else ""."""
    given = values.get("ref", values.get("id"))
    if isinstance(given, str) and (is_reference(given) or given.isalnum()) and given.isascii():
        return given[:100]
    return str(given) if isinstance(given, int) and abs(given) < 1 << 64 else ""


def _latest_time(values: object) -> datetime | None:
    """Return the latest valid time in a line, however invalid the rest of it is."""
    found = []
    if isinstance(values, dict):
        for key in _TIMES:
            with suppress(ValueError):
                found.append(parse_time(values.get(key)))
    return max(found, default=None)


def _reason(error: ValidationError) -> str:
    """Return the first validation error in one line, without the value itself."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"] if isinstance(part, str) and part.isidentifier())
    message = _MESSAGES.get(first["type"], first["msg"].removeprefix("Value error, "))
    return f"{place}: {message}" if place else message
