"""Sanitize untrusted text: strip hidden characters, truncate with a mark, decode, flatten notebooks."""

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
"""Characters of a notebook's source that are kept; without images, few are longer."""

_BINARY_SHARE = 0.1
_GENEROUS = 20
"""Characters to read, as a multiple of the limit: images embedded in a text are long."""

# Control characters, bidirectional overrides, and those invisible to people but not to models.
# The joiners U+200C and U+200D stay: scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,99}(?<!\.)"
_REFERENCE = re.compile(f"{_PART}/{_PART}")


def is_reference(text: str) -> bool:
    """Whether `text` is `owner/name`, both safe as folder names."""
    return _REFERENCE.fullmatch(text) is not None


def sanitize(text: str, length: int) -> str:
    """Return `text` without hidden characters, truncated to `length` characters with a mark."""
    # Truncate first, generously: sanitizing a huge text is slow.
    kept = _HIDDEN.sub("", text[: 2 * length].replace("\r\n", "\n").replace("\r", "\n"))
    if len(kept) <= length and len(text) <= 2 * length:
        return kept
    mark = f"\n# [cut: {len(text)} characters, of which {length} at most are kept]\n"
    return kept[: max(0, length - len(mark))] + mark


def sanitize_prose(text: str, length: int) -> str:
    """Sanitize a text, and strip images, progress bars and long logs."""
    return sanitize(strip_noise(text[: _GENEROUS * length]), length)


def sanitize_program(text: str) -> str:
    """Sanitize a program, and strip images; its comments also lose progress bars and logs."""
    return sanitize(strip_noise(text[: _GENEROUS * SOURCE_LENGTH], comments_only=True), SOURCE_LENGTH)


def sanitize_line(text: str, length: int) -> str:
    """Return `text` as one line, truncated to `length` characters."""
    line = " ".join(_HIDDEN.sub(" ", text[: 2 * length]).split())
    return line if len(line) <= length else line[: length - 3] + "..."


def decode_text(data: bytes) -> str:
    """Decode UTF-8, with replacement characters; binary data become a one-line placeholder."""
    text = data.decode("utf-8-sig", errors="replace")
    looked_at = text[:SOURCE_LENGTH]
    strange = looked_at.count("\ufffd") + sum(
        not c.isprintable() and c not in "\n\r\t" for c in looked_at
    )
    if strange > _BINARY_SHARE * len(looked_at):
        return f"# [{len(data)} bytes that are not text]\n"
    return text


def notebook_to_script(text: str) -> str:
    """Return a notebook as one script, from Jupyter's JSON or a script.

    Raises:
        ValueError: it looks like Jupyter's JSON and is invalid.
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
    # Magics and shell commands are not Python; as comments they still document the notebook.
    return "\n".join(
        ["# %%", *(f"# {ln}" if ln.lstrip().startswith(("%", "!")) else ln for ln in lines)]
    )
