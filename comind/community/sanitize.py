"""Sanitize untrusted text: strip hidden characters and noise, truncate with a mark."""

import re

from comind.community.noise import strip_noise

_GENEROUS = 20
"""Characters to read, as a multiple of the limit: images embedded in a text are long."""

# Control characters, bidirectional overrides, and those invisible to people but not to models.
# The joiners U+200C and U+200D stay: scripts and emoji need them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def sanitize(text: str, length: int) -> str:
    """Return `text` without hidden characters, truncated to `length` characters with a mark."""
    # Truncate first, generously: sanitizing a huge text is slow.
    kept = text[: 2 * length].replace("\r\n", "\n").replace("\r", "\n")
    if not kept.replace("\n", "").isprintable():
        kept = _HIDDEN.sub("", kept)
    if len(kept) <= length and len(text) <= 2 * length:
        return kept
    mark = f"\n# [cut: {len(text)} characters, of which {length} at most are kept]\n"
    return kept[: max(0, length - len(mark))] + mark


def sanitize_prose(text: str, length: int) -> str:
    """Sanitize a text, and strip images, progress bars and long logs."""
    return sanitize(strip_noise(text[: _GENEROUS * length]), length)


def sanitize_line(text: str, length: int) -> str:
    """Return `text` as one line, truncated to `length` characters."""
    kept = text[: 2 * length]
    line = " ".join((kept if kept.isprintable() else _HIDDEN.sub(" ", kept)).split())
    return line if len(line) <= length else line[: length - 3] + "..."
