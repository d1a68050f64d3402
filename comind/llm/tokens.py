"""Estimate token counts without a tokenizer, and truncate text by them.

Tokenizers differ and need files to download. Most split text in the same way first, into words, short
runs of digits, punctuation and blanks (the pattern of GPT-2); counted are these pieces, long words as
several.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate

from comind.domain.image import Image

_PIECE = re.compile(r" ?[A-Za-z]{1,70}| ?\d{1,3}|\n+ *| +|[^\sA-Za-z\d]{1,2}|\s")
_LETTERS = 7  # of a word in one token, on average over English and code
_CUT = "\n... (cut) ...\n"
_LEAST_CONTEXT = 8_192
_TILE = 512  # pixels of the side of a square by which images are counted
_MOST_TOKENS = 3_072  # of an image


def count_tokens(text: str) -> int:
    """Estimate how many tokens `text` has."""
    return sum(map(_cost, _PIECE.findall(text)))


def count_image_tokens(images: Iterable[Image]) -> int:
    """Estimate how many tokens images have: 85, and 170 for each tile of 512 x 512 pixels.

    That is OpenAI's rule for GPT-4o; models that count patches of 28 or 32 pixels come to about as much.
    """
    return sum(85 + 170 * _tiles(each) + count_tokens(each.caption) for each in images)


def max_image_tokens(images: Iterable[Image], model: str) -> int:
    """Return an upper bound on the tokens of images: 3,072 each, one for 14 x 14 of 768 x 768 pixels.

    OpenAI's rule for GPT-4o mini counts more: 2,833, and 5,667 for each tile of 512 x 512 pixels.
    """
    mini = "gpt-4o-mini" in model.casefold()
    return sum(
        (2_833 + 5_667 * _tiles(each) if mini else _MOST_TOKENS) + len(each.caption.encode())
        for each in images
    )


def _tiles(image: Image) -> int:
    return -(-image.width // _TILE) * -(-image.height // _TILE)


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
