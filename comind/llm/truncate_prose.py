"""Truncate prose at the end of a sentence, a line or a word."""

import re
from itertools import accumulate, pairwise

from comind.llm.tokens import count_tokens, shorten

_MORE = " ..."
_MORE_TOKENS = count_tokens(_MORE)
_MARK_TOKENS = 24  # at least the mark of `shorten` and its overshoot
_SENTENCE_END = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<!\n\d)[.!?][\"')\]*_]*(?=\s)|[\u3002\uff01\uff1f]|\n+"
)
_BLANKS = re.compile(r"\s+")
_LONG = 600  # characters of a sentence, which longer runs are split into
_WORD_END = re.compile(r"\S(?=\s)")


def truncate_prose(text: str, tokens: int) -> str:
    """Truncate a text to at most `tokens` at the end of a sentence or a line, with a mark.

    A first sentence that is longer is truncated at the end of a word. An open code fence is closed.
    """
    if count_tokens(text) <= tokens:
        return text
    fence = "\n```"
    kept = truncate_end(text, tokens - _MORE_TOKENS - count_tokens(fence)).rstrip()
    return truncate_end(kept + _MORE + (fence if kept.count("```") % 2 else ""), tokens)


def truncate_end(text: str, tokens: int) -> str:
    """Truncate a text to at most `tokens` at the end of a sentence, a line or a word, without a mark."""
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


def split_sentences(text: str) -> tuple[str, ...]:
    """Split a text into sentences or lines, whichever are shorter; joined, they are the text.

    A sentence of more than 600 characters is split at blanks.
    """
    ends = {0, len(text), *(found.end() for found in _SENTENCE_END.finditer(text))}
    for a, b in pairwise(sorted(ends)):
        for found in _BLANKS.finditer(text, a, b):
            if found.end() - a >= _LONG:
                ends.add(a := found.end())
    return tuple(text[a:b] for a, b in pairwise(sorted(ends)))


def truncate_middle(text: str, tokens: int, end: float = 0.75) -> str:
    """Truncate the middle of a text to at most `tokens`; the share `end` of what stays is its end."""
    if count_tokens(text) <= tokens:
        return text
    if tokens <= 2 * _MARK_TOKENS:  # too little for both
        return _hard(text, tokens) if end < 1 / 2 else _hard(text[::-1], tokens)[::-1]
    kept = shorten(text, tokens - _MARK_TOKENS, end)
    if "\n" not in text:
        kept = " ".join(kept.split("\n"))
    return kept if count_tokens(kept) <= tokens else _hard(kept, tokens)


def _hard(text: str, tokens: int) -> str:
    """Truncate a text to at most `tokens` at any character."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]
