"""Embed texts with an OpenAI-compatible endpoint."""

import json
import re
import time
from collections.abc import Sequence

from comind.errors import ComindError, ContextError, ModelBusyError, ModelRefusedError
from comind.llm.connection import Connection, HttpResponse
from comind.llm.costs import plausible_usage, with_price
from comind.llm.model_ports import Embedded, Usage
from comind.llm.settings import ModelSettings

_CHARACTERS = 8_000  # of a text, from its beginning: about 2,000 tokens
_FEWEST = 250
_TEXT_ALLOWANCE = 16  # tokens that a server adds to a text
_OK, _TOO_LARGE, _NOT_IMPLEMENTED = 200, 413, 501
# Servers send such messages with any status, 500 among them.
_TOO_LONG = re.compile(
    r"too large to process|maximum (input|context) length|less than \d+ tokens"
    r"|(input|prompt)( is)? too (long|big)|input length exceeds"
)


class OpenAIEmbedder:
    """An embedding model behind an OpenAI-compatible endpoint; requests are not retried.

    Texts are truncated to 8,000 characters; to half as many from each refusal of a text as too long,
    which costs nothing.
    """

    def __init__(
        self, name: str, *, base_url: str | None, api_key: str | None, settings: ModelSettings
    ) -> None:
        """Create the client without sending anything; arguments as of `Connection`."""
        self.name = name
        self._price = settings.price
        self._connection = Connection(name, base_url=base_url, api_key=api_key, settings=settings)
        self._characters = _CHARACTERS

    def bound(self, texts: Sequence[str]) -> Usage:
        """Return an upper bound on the usage of one attempt: a token for each byte."""
        tokens = sum(len(text[:_CHARACTERS].encode()) + _TEXT_ALLOWANCE for text in texts)
        return with_price(self.name, Usage(prompt_tokens=tokens), self._price)

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return a vector for each text.

        Raises:
            ContextError: a text is refused as too long at 250 characters.
            ModelServiceError: as of any `Embedder`.
        """
        begun = time.monotonic()
        while True:
            characters = self._characters
            sent = [text[:characters] for text in texts]
            body = {"model": self.name, "input": sent, "encoding_format": "float"}
            response = self._connection.post("embeddings", body)
            if response.status_code == _OK:
                return self._parse(response, sent, begun)
            error = self._error(response)
            if not isinstance(error, ContextError) or characters <= _FEWEST:
                raise error
            self._characters = characters // 2

    def _parse(self, response: HttpResponse, sent: Sequence[str], begun: float) -> Embedded:
        try:
            body = json.loads(response.text)
        except (ValueError, RecursionError):
            raise ModelBusyError(f"{self._connection.where}: the response is not JSON") from None
        try:
            data = sorted(body["data"], key=lambda each: int(each.get("index", 0)))
            vectors: object = [each["embedding"] for each in data]
            tokens = (body.get("usage") or {}).get("prompt_tokens")
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            vectors = tokens = None
        counts = {"prompt_tokens": tokens} if isinstance(tokens, int) else None
        bound = self.bound(sent)
        usage = plausible_usage(counts, bound, sum(len(text.encode()) for text in sent), "")
        return Embedded(
            vectors,
            usage=bound if usage is None else with_price(self.name, usage, self._price),
            exact=usage is not None,
            seconds=round(time.monotonic() - begun, 3),
        )

    def _error(self, response: HttpResponse) -> ComindError:
        where = self._connection.where
        if response.status_code == _TOO_LARGE or _TOO_LONG.search(response.text.lower()):
            return ContextError(f"a text is longer than the context window of {where}")
        if response.status_code == _NOT_IMPLEMENTED:
            return ModelRefusedError(f"{where} has no embeddings")
        return self._connection.error(response)
