"""Strangers' text made harmless to store and show: no control characters, bounded, marked where cut."""

import re

from pydantic import ValidationError

from comind.community.noise import strip_noise
from comind.domain.value import Value

__all__ = [
    "BODY_LENGTH",
    "COMMENT_LENGTH",
    "NAME_LENGTH",
    "SOURCE_LENGTH",
    "TITLE_LENGTH",
    "decode_text",
    "is_reference",
    "notebook_to_script",
    "sanitize",
    "sanitize_line",
    "sanitize_program",
    "sanitize_prose",
]

TITLE_LENGTH = 300
NAME_LENGTH = 100
BODY_LENGTH = 50_000
COMMENT_LENGTH = 10_000
SOURCE_LENGTH = 200_000
"""Characters of a notebook that are kept; with pictures taken out, hardly any is longer."""

_BINARY_SHARE = 0.1
_GENEROUS = 20
"""So many times the length are looked at: pictures within a text are long."""

# Control characters, and those that turn text around or hide it from people but not from models.
# The joiners U+200C and U+200D stay: scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,99}(?<!\.)"
_REFERENCE = re.compile(f"{_PART}/{_PART}")


def is_reference(text: str) -> bool:
    """Whether `text` is `owner/name`, both safe as names of folders."""
    return _REFERENCE.fullmatch(text) is not None


def sanitize(text: str, length: int) -> str:
    """Return `text` without hidden characters, at most `length` long, with a mark where it is cut."""
    # Cut first, generously: cleaning a huge text takes its time.
    kept = _HIDDEN.sub("", text[: 2 * length].replace("\r\n", "\n").replace("\r", "\n"))
    if len(kept) <= length and len(text) <= 2 * length:
        return kept
    mark = f"\n# [cut: {len(text)} characters, of which {length} at most are kept]\n"
    return kept[: max(0, length - len(mark))] + mark


def sanitize_prose(text: str, length: int) -> str:
    """Return what somebody wrote, cleaned, without pictures, progress bars and long logs."""
    return sanitize(strip_noise(text[: _GENEROUS * length]), length)


def sanitize_program(text: str) -> str:
    """Return a notebook's program, cleaned, without pictures; its comments also lose bars and logs."""
    return sanitize(strip_noise(text[: _GENEROUS * SOURCE_LENGTH], comments_only=True), SOURCE_LENGTH)


def sanitize_line(text: str, length: int) -> str:
    """Return `text` as one line of at most `length` characters."""
    line = " ".join(_HIDDEN.sub(" ", text[: 2 * length]).split())
    return line if len(line) <= length else line[: length - 3] + "..."


def decode_text(data: bytes) -> str:
    """Return bytes as text; what is not text is a line that says so."""
    text = data.decode("utf-8-sig", errors="replace")
    looked_at = text[:SOURCE_LENGTH]
    strange = looked_at.count("\ufffd") + sum(
        not c.isprintable() and c not in "\n\r\t" for c in looked_at
    )
    if strange > _BINARY_SHARE * len(looked_at):
        return f"# [{len(data)} bytes that are not text]\n"
    return text


def notebook_to_script(text: str) -> str:
    """Return a notebook's text as one program, whether it is a program already or Jupyter's JSON.

    Raises:
        ValueError: it looks like Jupyter's JSON and is not.
    """
    if not text.lstrip().startswith("{"):
        return text
    try:
        notebook = _Jupyter.model_validate_json(text)
    except ValidationError:
        raise ValueError("is not a Jupyter notebook") from None
    return "\n\n".join(_part(cell) for cell in notebook.cells) + "\n"


class _Cell(Value, extra="ignore"):
    cell_type: str
    source: str | tuple[str, ...] = ""

    @property
    def text(self) -> str:
        return self.source if isinstance(self.source, str) else "".join(self.source)


class _Jupyter(Value, extra="ignore"):
    cells: tuple[_Cell, ...]


def _part(cell: _Cell) -> str:
    lines = cell.text.splitlines()
    if cell.cell_type != "code":
        return "\n".join(["# %% [markdown]", *(f"# {line}".rstrip() for line in lines)])
    # Jupyter's own commands are no Python; as comments they still tell what was done.
    return "\n".join(
        ["# %%", *(f"# {ln}" if ln.lstrip().startswith(("%", "!")) else ln for ln in lines)]
    )
