"""Find the text that describes a competition among the files of a download."""

import re
from pathlib import Path

from comind.system.markup import html_to_text

_SUFFIXES = (".md", ".txt", ".html", ".htm")
_NAMES = ("description", "overview", "evaluation", "competition", "readme", "task", "index")
_LONGEST = 60_000  # characters; pages of competitions have a few thousand


def read_description(folder: Path, given: str = "") -> str:
    """Return the description: `given`, else the pages of the folder in Markdown, text or HTML, else "".

    Longer texts are truncated to 60,000 characters.
    """
    if given.strip():
        return given.strip()
    pages = [
        (next(number for number, name in enumerate(_NAMES) if name in path.stem.lower()), path)
        for path in folder.iterdir()
        if path.suffix.lower() in _SUFFIXES
        and path.is_file()
        and any(name in path.stem.lower() for name in _NAMES)
        and "data_description" not in path.stem.lower()
    ]
    texts = [
        html_to_text(path.read_text(encoding="utf-8", errors="replace")) for _, path in sorted(pages)
    ]
    return "\n\n".join(text.strip() for text in texts if text.strip())[:_LONGEST]


def title_of(description: str) -> str:
    """Return the first heading of a description, or an empty text."""
    heading = re.search(r"^#\s+(\S.{0,150})$", description, re.MULTILINE)
    return heading[1].strip() if heading else ""
