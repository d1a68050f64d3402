"""Refuse HTTP requests that another site's page, or a client with too much data, sends to a server."""

import asyncio
import contextlib
import hmac
from base64 import b64decode
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost"})
"""Names of a server that listens on the loopback."""


class RequestGuard:
    """An ASGI application before `app`: refuses other hosts and origins, and bodies that are too large.

    A page of another site reaches a server on this machine through the user's browser: by its address,
    with an `Origin` of its own, or by a name of its own that resolves to it, with that as `Host`.
    """

    def __init__(
        self,
        app: "ASGIApp",
        *,
        hosts: Collection[str] | None = LOOPBACK,
        pages: bool = False,
        max_bytes: int | None = None,
        password: str | None = None,
    ) -> None:
        """Set what is passed on.

        Args:
            app: the application.
            hosts: names by which clients call the server; None for any.
            pages: whether it serves pages, whose requests have its own name and port as `Origin`;
                without pages no `Origin` is accepted, so no browser's request that changes anything.
            max_bytes: size of the largest body; None where the application limits it.
            password: required of every request but `GET /health`, with any user name, which browsers ask
                for; None where the application authenticates.
        """
        self._app = app
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self._pages = pages
        self._max_bytes = max_bytes
        self._password = password

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, or pass it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif refused := self._refused(Headers(scope=scope), scope["path"]):
            if scope["type"] == "http" and refused is not _TOO_LARGE:
                await _read_to_end(receive)
            await refused(scope, receive, send)
        elif scope["type"] == "websocket" or self._max_bytes is None:
            await self._app(scope, receive, send)
        else:
            await self._pass_limited(self._max_bytes, scope, receive, send)

    def _refused(self, headers: Headers, path: str) -> PlainTextResponse | None:
        """Return the response to a request that is not passed on."""
        host = _name_and_port(f"//{headers.get('host', '')}")
        if host is None or not self._has_name(host[0]):
            return PlainTextResponse("the server has another name\n", 400)
        if (origin := headers.get("origin")) is not None:
            site = _name_and_port(origin) if self._pages else None
            if site is None or not self._has_name(site[0]) or site[1] != host[1]:
                return PlainTextResponse("requests of pages of other sites are refused\n", 403)
        if self._password is not None and path != "/health" and not self._is_known(headers):
            return PlainTextResponse(
                "a password is required\n", 401, {"WWW-Authenticate": 'Basic realm="password"'}
            )
        length = headers.get("content-length", "0")
        if self._max_bytes is not None and length.isdecimal() and int(length) > self._max_bytes:
            return _TOO_LARGE
        return None

    def _is_known(self, headers: Headers) -> bool:
        """Return whether the `Authorization` header has the password."""
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        try:
            _, _, password = b64decode(credentials.strip(), validate=True).partition(b":")
        except ValueError:
            return False
        known = hmac.compare_digest(password, (self._password or "").encode())
        return known and scheme.lower() == "basic"

    def _has_name(self, name: str) -> bool:
        return self._hosts is None or name in self._hosts

    async def _pass_limited(self, limit: int, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass a request on, whose body may come in parts of an unknown sum.

        Where the application reads nothing of it, the response waits until it has come.
        """
        size, refused, unread = 0, False, True

        async def counted() -> "Message":
            nonlocal size, refused, unread
            unread = False
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                if not refused:
                    refused = True
                    await _TOO_LARGE(scope, receive, send)
                return {"type": "http.disconnect"}
            return message

        async def unless_refused(message: "Message") -> None:
            if unread and message["type"] == "http.response.start":
                await _read_to_end(counted)
            if not refused:
                await send(message)

        try:
            await self._app(scope, counted, unless_refused)
        except Exception:
            if not refused:
                raise


_READ_BYTES = 1 << 20  # of the body of a refused request
_WAIT_SECONDS = 5.0  # for it
_TOO_LARGE = PlainTextResponse("the body is too large\n", 413, {"Connection": "close"})


async def _read_to_end(receive: "Receive") -> None:
    """Read a body, up to a size and a time.

    A client that still sends would find a closed connection in place of the response.
    """
    size, more = 0, True
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_WAIT_SECONDS):
            while more and size <= _READ_BYTES:
                message = await receive()
                size, more = size + len(message.get("body", b"")), message.get("more_body", False)


def _name_and_port(address: str) -> tuple[str, int | None] | None:
    """Return host name and port of a URL; None if it has none."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None
