"""Decompress the body of an HTTP response under a deadline and a size limit."""

import time
from collections.abc import Callable, Iterable, Iterator

import httpx2

MOST_BYTES = 64 << 20  # of a response, decompressed; a stream has some hundred bytes for each token


class BodyError(httpx2.DecodingError):
    """A body is too long, or compressed in a way that cannot be limited."""


class LimitedBody(httpx2.SyncByteStream):
    """A decompressed body; both limits hold within a chunk of the connection, too."""

    def __init__(
        self,
        body: httpx2.SyncByteStream,
        headers: httpx2.Headers,
        until: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap a body as it was sent; `until` is the deadline by the clock `now`."""
        self._body = body
        self._headers = headers
        self._until = until
        self._now = now

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body in pieces, decompressed ones of at most 1 MiB.

        Raises:
            httpx2.ReadTimeout: the deadline passes before its end.
            httpx2.DecodingError: it cannot be decompressed, or is larger than 64 MiB.
        """
        if len(self._headers.get_list("content-encoding", split_commas=True)) > 1:
            raise BodyError("the response is compressed more than once")  # so a piece may take long
        # A response of its own decompresses; an idle stream of compressed nothing yields no piece.
        whole = httpx2.Response(200, headers=self._headers, content=self._limited(self._body))
        yield from self._limited(whole.iter_bytes())

    def _limited(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        size = 0
        for part in parts:
            size += len(part)
            if self._now() > self._until:
                raise httpx2.ReadTimeout("the response has no end")
            if size > MOST_BYTES:
                raise BodyError(f"the response is longer than {MOST_BYTES >> 20} MiB")
            yield part

    def close(self) -> None:
        """Close the connection's body."""
        self._body.close()


def limit_body(response: httpx2.Response, until: float) -> None:
    """Limit the time and size of a response's body; decompress it, and read it as UTF-8."""
    assert isinstance(response.stream, httpx2.SyncByteStream)
    response.stream = LimitedBody(response.stream, httpx2.Headers(response.headers), until)
    response.headers.pop("content-encoding", None)
    response.encoding = "utf-8"  # a header may name any codec of Python, such as `hex`
