"""What a cell prints, made fit to be read: no colours, no overwritten lines, bounded in size."""

import re

__all__ = ["Output", "plain_text"]

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def plain_text(text: str) -> str:
    """Return `text` without terminal codes; of a line that was overwritten, what was last seen."""
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    lines = (_last_seen(line) for line in text.split("\n"))
    return _CONTROL.sub("", "\n".join(lines))


def _last_seen(line: str) -> str:
    parts = [part for part in line.split("\r") if part]
    return parts[-1] if parts else ""


class Output:
    """Collects text of any length in bounded memory: its beginning and its end."""

    def __init__(self, head: int = 20_000, tail: int = 40_000) -> None:
        """Keep the first `head` and the last `tail` characters."""
        self._head_size = head
        self._tail_size = tail
        self._head = ""
        self._tail = ""
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take in more text."""
        space = self._head_size - len(self._head)
        self._head += text[:space]
        self._tail += text[space:]
        surplus = len(self._tail) - self._tail_size
        if surplus > 0:
            self._dropped += surplus
            self._tail = self._tail[surplus:]

    def text(self) -> str:
        """Return what is kept, as plain text, with a line that says how much is not."""
        if not self._dropped:
            return plain_text(self._head + self._tail)
        gap = f"\n... ({self._dropped} characters left out) ...\n"
        return plain_text(self._head) + gap + plain_text(self._tail)
