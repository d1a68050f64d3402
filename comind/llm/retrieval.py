"""Score texts by their similarity to a query: BM25, or cosine similarity of embeddings.

The one module that imports bm25s.
"""

import logging
from collections.abc import Sequence

from comind.errors import ReplyError

_DIGITS = 6  # of a score; smaller differences are ties


def bm25(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text; 0 where it shares no word with the query.

    Words are runs of at least two letters or digits in lower case, without English stop words. In a
    script without blanks each run is one word.
    """
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets itself to DEBUG
    words = bm25s.tokenize(list(texts), show_progress=False)
    query_words = bm25s.tokenize([query], return_ids=False, show_progress=False)[0]
    if not words.vocab or not query_words:
        return [0.0] * len(texts)
    index = bm25s.BM25(backend="numpy", csc_backend="numpy")
    index.index(words, create_empty_token=False, show_progress=False)
    return [round(float(score), _DIGITS) for score in index.get_scores(query_words)]


def cosines(vectors: object, texts: int) -> list[float]:
    """Return the cosine similarity of the first vector, the query's, with each of the others.

    Args:
        vectors: rows of one length, not validated.
        texts: how many follow the first.

    Raises:
        ReplyError: the vectors have another shape, or values that are zero or not finite.
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
    """Return the indices of scores, highest first, ties in their order."""
    return sorted(range(len(scores)), key=lambda number: -scores[number])
