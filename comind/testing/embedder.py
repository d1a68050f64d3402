"""Embed texts as word counts, so that texts with the same words are similar."""

import zlib
from collections.abc import Callable, Sequence

from comind.llm.model_ports import Embedded, Usage

__all__ = ["ScriptedEmbedder", "counted_words"]

_DIMENSIONS = 256


def counted_words(text: str) -> list[float]:
    """Return the count of each word in 256 hash buckets, after a constant 1."""
    vector = [1.0] + [0.0] * _DIMENSIONS
    for word in text.casefold().split():
        vector[1 + zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
    return vector


class ScriptedEmbedder:
    """Embeds each text with a function; `requests` holds the texts of each call, in order."""

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
        """Return the usage of every call."""
        del texts
        return self._usage

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text."""
        self.requests.append(list(texts))
        return Embedded([self._vector(text) for text in texts], self._usage)
