"""Texts cut at the ends of sentences, of lines and, where there is neither, of words."""

import re
from itertools import accumulate, pairwise

from comind.llm.tokens import count_tokens, shorten

__all__ = ["beginning", "both_ends", "cut_prose", "units_of"]

_MORE = " ..."
_MORE_TOKENS = count_tokens(_MORE)
_MARK_TOKENS = 24  # more than what `shorten` writes between two ends, and overshoots at them
_SENTENCE_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<!\n\d)[.!?][\"')\]*_]*(?=\s)|[\u3002\uff01\uff1f]|\n+"
)
_BLANKS = re.compile(r"\s+")
_LONG = 600  # characters of a sentence
_WORD_END = re.compile(r"\S(?=\s)")


def cut_prose(text: str, tokens: int) -> str:
    """Return the beginning of a text in at most `tokens`, cut at the end of a sentence or a line.

    A sentence that is longer than the room alone is cut at the end of a word. A block of code that was
    opened is closed.
    """
    if count_tokens(text) <= tokens:
        return text
    fence = "\n```"
    kept = beginning(text, tokens - _MORE_TOKENS - count_tokens(fence)).rstrip()
    return beginning(kept + _MORE + (fence if kept.count("```") % 2 else ""), tokens)


def beginning(text: str, tokens: int) -> str:
    """Return the longest beginning of a text in at most `tokens`, cut as well as can be; no mark."""
    if count_tokens(text) <= tokens:
        return text
    for pattern in (_SENTENCE_END, _WORD_END):
        ends = [0, *(found.end() for found in pattern.finditer(text))]
        # A text has no more tokens than its parts have together.
        costs = accumulate(count_tokens(text[a:b]) for a, b in pairwise(ends))
        fitting = sum(cost <= tokens for cost in costs)
        if fitting:
            return text[: ends[fitting]]
    return _hard(text, tokens)


def units_of(text: str) -> tuple[str, ...]:
    """Return a text in its sentences, or lines where these are shorter; together they are the text.

    A sentence without end is parted at blanks.
    """
    ends = {0, len(text), *(found.end() for found in _SENTENCE_END.finditer(text))}
    for a, b in pairwise(sorted(ends)):
        for found in _BLANKS.finditer(text, a, b):
            if found.end() - a >= _LONG:
                ends.add(a := found.end())
    return tuple(text[a:b] for a, b in pairwise(sorted(ends)))


def both_ends(text: str, tokens: int, end: float = 0.75) -> str:
    """Return a text in at most `tokens` without its middle; of what is kept, `end` is its end."""
    if count_tokens(text) <= tokens:
        return text
    if tokens <= 2 * _MARK_TOKENS:  # too little for both
        return _hard(text, tokens) if end < 1 / 2 else _hard(text[::-1], tokens)[::-1]
    kept = shorten(text, tokens - _MARK_TOKENS, end)
    if "\n" not in text:
        kept = " ".join(kept.split("\n"))
    return kept if count_tokens(kept) <= tokens else _hard(kept, tokens)


def _hard(text: str, tokens: int) -> str:
    """Return a beginning of at most `tokens`, wherever that ends."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]
