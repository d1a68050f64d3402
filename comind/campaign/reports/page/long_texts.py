"""Clean untrusted text for display, and truncate the long texts of a page to a common limit."""

import re
from collections.abc import Sequence
from html import escape

from comind.session.output import plain_text

_INVISIBLE = re.compile(
    r"[\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_HEAD = 2 / 3  # of a truncated text; the rest is its end
_MOST_CHARACTERS = 200_000  # of one text


def visible(text: str) -> str:
    """Return text without control codes; characters that reorder or hide others become escapes."""
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode(), plain_text(text))


class LongText:
    """A text of the page, shown whole or without its middle."""

    def __init__(self, text: str) -> None:
        """Keep `text` as it is displayed."""
        self.whole = visible(text[:_MOST_CHARACTERS])
        self.head = self.whole
        self.tail = ""
        self._unread = max(0, len(text) - _MOST_CHARACTERS)
        self.size = _size_of(self.whole)

    @property
    def left_out(self) -> int:
        """Number of characters that are not shown."""
        return self._unread + len(self.whole) - len(self.head) - len(self.tail)

    @property
    def characters(self) -> int:
        """Number of characters of the whole text."""
        return self._unread + len(self.whole)

    def truncate(self, most: int) -> None:
        """Show at most `most` bytes of the escaped text, two thirds of them from its beginning."""
        keep = len(self.whole) * most // max(1, self.size)
        while self.size > most and _size_of(self.head) + _size_of(self.tail) > most:
            first = int(keep * _HEAD)
            self.head, self.tail = self.whole[:first], self.whole[len(self.whole) - (keep - first) :]
            keep = keep * 9 // 10


class LongTexts:
    """All long texts of a page; equal texts are one object."""

    def __init__(self) -> None:
        self._known: dict[str, LongText] = {}

    def add(self, text: str) -> LongText:
        """Return the text's object, to be truncated by `settle`."""
        if text not in self._known:
            self._known[text] = LongText(text)
        return self._known[text]

    def settle(self, most_bytes: int) -> None:
        """Truncate the longest texts, all to the same size, so that all fit into `most_bytes`.

        Sizes are those of escaped UTF-8. It may be repeated with a lower limit.
        """
        limit = fair_limit([each.size for each in self._known.values()], most_bytes)
        for text in self._known.values():
            text.truncate(limit)


def fair_limit(sizes: Sequence[int], total: int) -> int:
    """Return the largest limit of one text by which texts of these sizes fit into `total`."""
    left, waiting = total, len(sizes)
    for size in sorted(sizes):
        if size * waiting > left:
            return left // waiting
        left -= size
        waiting -= 1
    return total


def _size_of(text: str) -> int:
    return len(escape(text).encode())
