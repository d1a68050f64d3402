"""Read papers and model cards: text files with a title, and perhaps a date."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import NamedTuple

from comind.errors import UsageError

_DATE = re.compile(r"\b(\d{4}-\d{2}-\d{2})\b")
_HEADER = 500  # characters in which a date is looked for, after the file's name
_TITLE_LENGTH = 200


class TextFile(NamedTuple):
    """A text file; its date is unknown if none is valid."""

    title: str
    text: str
    published: date | None


def read_text_file(path: Path) -> TextFile:
    """Read a text file; a date in the name or at the beginning is its date.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    title = next((line.strip("# ") for line in text.splitlines() if line.strip("# ")), path.stem)
    day = next(_dates(f"{path.name}\n{text[:_HEADER]}"), None)
    return TextFile(title[:_TITLE_LENGTH], text, day)


def _dates(text: str) -> Iterator[date]:
    """Yield the valid dates in a text."""
    for found in _DATE.findall(text):
        with suppress(ValueError):
            yield date.fromisoformat(found)
