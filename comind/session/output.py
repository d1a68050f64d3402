"""Convert terminal output to plain text of limited length, and find the error line in it."""

import re

# A title (OSC) ends at its terminator or at the end of the line, so an open one hides no more.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HEADER = "Traceback (most recent call last)"
_RAISED = re.compile(r"[^\W\d][\w.]*(:( |$)|$)")
"""First line of an exception's message; frames are indented or begin with two words."""
_LINE_LENGTH = 1 << 16  # a longer line is processed before it is complete


def plain_text(text: str) -> str:
    """Return `text` without control codes; of an overwritten line, its last version."""
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    lines = (_last_seen(line) for line in text.split("\n"))
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", "\n".join(lines)))


def _last_seen(line: str) -> str:
    parts = [part for part in line.split("\r") if part]
    return parts[-1] if parts else ""


class OutputBuffer:
    """Collects output of any length in limited memory: its beginning and end, as plain text."""

    def __init__(self, head: int = 20_000, tail: int = 40_000) -> None:
        """Keep the first `head` and the last `tail` characters."""
        self._head_size = head
        self._tail_size = tail
        self._head = ""
        self._tail = ""
        self._line = ""  # the incomplete last line, which may still be overwritten
        self._dropped = 0

    def add(self, text: str) -> None:
        """Append text."""
        lines, newline, rest = text.rpartition("\n")
        if newline:
            self._keep(plain_text(f"{self._line}{lines}\n"))
            self._line = rest
        else:
            self._line += rest
        if len(self._line) > _LINE_LENGTH:
            overwritten, _, last = self._line.rstrip("\r").rpartition("\r")
            self._line = last if overwritten else self._line
        if len(self._line) > _LINE_LENGTH:
            self._keep(plain_text(self._line))
            self._line = ""

    def text(self) -> str:
        """Return the output, with a line that states how many characters were truncated."""
        kept = self._head + self._tail + plain_text(self._line)
        head, tail = kept[: self._head_size], kept[self._head_size :]
        dropped = self._dropped + max(0, len(tail) - self._tail_size)
        tail = tail[-self._tail_size :]
        if not dropped:
            return head + tail
        return f"{head}\n... ({dropped} characters left out) ...\n{tail}"

    def _keep(self, text: str) -> None:
        space = self._head_size - len(self._head)
        self._head += text[:space]
        self._tail += text[space:]
        surplus = len(self._tail) - self._tail_size
        if surplus > 0:
            self._dropped += surplus
            self._tail = self._tail[surplus:]


def truncate_output(text: str) -> str:
    """Return the beginning and end of a text of any length, as plain text."""
    kept = OutputBuffer(head=4_000, tail=12_000)
    kept.add(text)
    return kept.text()


def error_line(error: str) -> str:
    """Return the line that states the error in the output of a cell or program.

    In a traceback it is the first line of the last exception, else the last line.
    """
    lines = [line.rstrip() for line in error.strip().splitlines()]
    begun = [number for number, line in enumerate(lines, start=1) if _HEADER in line]
    raised = (line for line in lines[begun[-1] :] if _RAISED.match(line)) if begun else iter(())
    return next(raised, lines[-1].strip() if lines else "")
