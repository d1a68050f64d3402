"""How near texts are to a query: by their words (BM25), or by the angle between embeddings.

The one module that knows the library of BM25.
"""

import logging
from collections.abc import Sequence

from comind.errors import ReplyError

__all__ = ["bm25", "cosines", "nearest"]

_DIGITS = 6  # of a score; what differs by less is a tie


def bm25(query: str, texts: Sequence[str]) -> list[float]:
    """Return how well each text answers a query by BM25; 0 where it shares no word with it.

    Words are runs of at least two letters or digits in lower case, less the commonest English ones. A
    script without blanks gives one word for each run.
    """
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG
    words = bm25s.tokenize(list(texts), show_progress=False)
    asked = bm25s.tokenize([query], return_ids=False, show_progress=False)[0]
    if not words.vocab or not asked:
        return [0.0] * len(texts)
    index = bm25s.BM25(backend="numpy", csc_backend="numpy")
    index.index(words, create_empty_token=False, show_progress=False)
    return [round(float(score), _DIGITS) for score in index.get_scores(asked)]


def cosines(vectors: object, texts: int) -> list[float]:
    """Return the cosine between a query's vector, the first, and those of so many texts.

    Raises:
        ReplyError: they are not that many, not equally long, or not finite numbers.
    """
    import numpy as np

    try:
        found = np.array(vectors, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise ReplyError("the embeddings are not equally long lists of numbers") from None
    if found.ndim != 2 or len(found) != texts + 1 or not found.size:  # noqa: PLR2004 - rows of numbers
        raise ReplyError(f"for {texts + 1} texts came embeddings of the shape {found.shape}")
    with np.errstate(all="ignore"):
        # Scaled, so that no square is too large or too small.
        scaled = found / np.abs(found).max(axis=1, keepdims=True)
        units = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
        near = units[1:] @ units[0]
    if not np.isfinite(near).all():
        raise ReplyError("an embedding is zero, or holds what is no finite number")
    return [round(float(each), _DIGITS) for each in near]


def nearest(scores: Sequence[float]) -> list[int]:
    """Return the indices of scores, the highest first; of equal ones the first goes first."""
    return sorted(range(len(scores)), key=lambda number: -scores[number])
