"""An embedder whose vectors count words, so that texts with the same words are near."""

import zlib
from collections.abc import Callable, Sequence

from comind.llm.base import Embedded, Usage

__all__ = ["ScriptedEmbedder", "counted_words"]

_DIMENSIONS = 256


def counted_words(text: str) -> list[float]:
    """Return how often each word stands in a text, by the word's hash; the first number is 1."""
    vector = [1.0] + [0.0] * _DIMENSIONS
    for word in text.casefold().split():
        vector[1 + zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
    return vector


class ScriptedEmbedder:
    """Embeds each text as a function says; `requests` holds what was asked, in order."""

    def __init__(
        self,
        vector: Callable[[str], object] = counted_words,
        *,
        name: str = "scripted-embedder",
        usage: Usage = Usage(prompt_tokens=10),  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self.requests: list[list[str]] = []
        self._vector = vector
        self._usage = usage

    def bound(self, texts: Sequence[str]) -> Usage:
        """Return the usage that every call reports."""
        del texts
        return self._usage

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text."""
        self.requests.append(list(texts))
        return Embedded([self._vector(text) for text in texts], self._usage)
