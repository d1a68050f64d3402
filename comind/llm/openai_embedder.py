"""Embeddings of any server that speaks the OpenAI protocol: one try for one batch of texts."""

import json
import re
import time
from collections.abc import Sequence

from comind.errors import ComindError, ContextError, ModelBusyError, ModelRefusedError
from comind.llm.accounts import honest
from comind.llm.base import Embedded, Usage
from comind.llm.connection import Answered, Connection
from comind.llm.prices import priced
from comind.llm.settings import ModelSettings

__all__ = ["OpenAIEmbedder"]

_CHARACTERS = 8_000  # of a text, from its beginning: about 2,000 tokens
_FEWEST = 250
_TEXT_ALLOWANCE = 16  # tokens that a server adds to a text
_OK, _TOO_LARGE, _NOT_IMPLEMENTED = 200, 413, 501
# Servers say so with any status, 500 among them.
_TOO_LONG = re.compile(
    r"too large to process|maximum (input|context) length|less than \d+ tokens"
    r"|(input|prompt)( is)? too (long|big)|input length exceeds"
)


class OpenAIEmbedder:
    """An embedding model behind an OpenAI-compatible endpoint.

    Of a text the first 8,000 characters are sent. A server that finds them too long is sent half as
    many, from then on; refusals cost nothing.
    """

    def __init__(
        self, name: str, *, base_url: str | None, api_key: str | None, settings: ModelSettings
    ) -> None:
        """Prepare the client, as that of an `OpenAIModel`; nothing is sent yet."""
        self.name = name
        self._price = settings.price
        self._connection = Connection(name, base_url=base_url, api_key=api_key, settings=settings)
        self._characters = _CHARACTERS

    def bound(self, texts: Sequence[str]) -> Usage:
        """Return the most that one try can cost: a token for each byte."""
        tokens = sum(len(text[:_CHARACTERS].encode()) + _TEXT_ALLOWANCE for text in texts)
        return priced(self.name, Usage(prompt_tokens=tokens), self._price)

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text; raises what an `Embedder` does.

        Where a text is too long, however much of it is left out, that is a ContextError.
        """
        begun = time.monotonic()
        while True:
            characters = self._characters
            sent = [text[:characters] for text in texts]
            asked = {"model": self.name, "input": sent, "encoding_format": "float"}
            answer = self._connection.post("embeddings", asked)
            if answer.status == _OK:
                return self._read(answer, sent, begun)
            error = self._error(answer)
            if not isinstance(error, ContextError) or characters <= _FEWEST:
                raise error
            self._characters = characters // 2

    def _read(self, answer: Answered, sent: Sequence[str], begun: float) -> Embedded:
        try:
            body = json.loads(answer.text)
        except (ValueError, RecursionError):
            raise ModelBusyError(f"{self._connection.where} answers with no JSON") from None
        try:
            data = sorted(body["data"], key=lambda each: int(each.get("index", 0)))
            vectors: object = [each["embedding"] for each in data]
            tokens = (body.get("usage") or {}).get("prompt_tokens")
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            vectors = tokens = None
        counts = {"prompt_tokens": tokens} if isinstance(tokens, int) else None
        bound = self.bound(sent)
        usage = honest(counts, bound, sum(len(text.encode()) for text in sent), "")
        return Embedded(
            vectors,
            usage=bound if usage is None else priced(self.name, usage, self._price),
            exact=usage is not None,
            seconds=round(time.monotonic() - begun, 3),
        )

    def _error(self, answer: Answered) -> ComindError:
        where = self._connection.where
        if answer.status == _TOO_LARGE or _TOO_LONG.search(answer.text.lower()):
            return ContextError(f"a text is longer than {where} can read")
        if answer.status == _NOT_IMPLEMENTED:
            return ModelRefusedError(f"{where} has no embeddings")
        return self._connection.error(answer)
