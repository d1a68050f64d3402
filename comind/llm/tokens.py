"""Estimate token counts without a tokenizer, and truncate text by them.

Tokenizers differ and need files to download. Most split text in the same way first, into words, short
runs of digits, punctuation and blanks (the pattern of GPT-2); counted are these pieces, long words as
several.
"""

import re
from collections.abc import Mapping
from itertools import accumulate

_PIECE = re.compile(r" ?[A-Za-z]{1,70}| ?\d{1,3}|\n+ *| +|[^\sA-Za-z\d]{1,2}|\s")
_LETTERS = 7  # of a word in one token, on average over English and code
_CUT = "\n... (cut) ...\n"
_LEAST_CONTEXT = 8_192


def count_tokens(text: str) -> int:
    """Estimate how many tokens `text` has."""
    return sum(map(_cost, _PIECE.findall(text)))


def shorten(text: str, tokens: int, end: float = 0.75) -> str:
    """Truncate the middle of `text` to about `tokens`; the share `end` of what stays is its end.

    Lines stay whole unless one is longer than what stays.
    """
    pieces = _PIECE.findall(text)
    reached = list(accumulate(map(_cost, pieces)))
    if not reached or reached[-1] <= tokens:
        return text
    tail = int(tokens * end)
    head = sum(cost <= tokens - tail for cost in reached)
    last = sum(cost <= reached[-1] - tail for cost in reached)
    begins, ends = "".join(pieces[:head]), "".join(pieces[last:])
    return (begins.rpartition("\n")[0] or begins) + _CUT + (ends.partition("\n")[2] or ends)


def token_shares(shares: Mapping[str, tuple[float, int]], context_tokens: int) -> dict[str, int]:
    """Return the limit of each part of a prompt in tokens: a share of the context, up to a maximum.

    A context window of less than 8,192 tokens counts as one.
    """
    context = max(_LEAST_CONTEXT, context_tokens)
    return {part: min(most, int(share * context)) for part, (share, most) in shares.items()}


def _cost(piece: str) -> int:
    bare = piece.strip()
    if not bare.isascii():
        return len(bare.encode()) // 2 + 1
    return -(-len(bare) // _LETTERS) or 1
