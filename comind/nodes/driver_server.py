"""Serve sessions on nodes: hosts dial in over TLS, fetch inputs and send files by content hash.

    WebSocket /session        messages (comind/nodes/messages.py)
    POST      /objects        a JSON list of hashes -> their contents, one after the other
    POST      /urls           a JSON list of hashes -> a list of URLs in a store, null for the others
    PUT       /files/SHA256   a file that a cell wrote

Each request carries the token of one session, and reaches nothing else.
"""

import asyncio
import hashlib
import io
import secrets
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from comind.errors import UsageError
from comind.nodes.bandwidth import Bandwidth
from comind.nodes.certificate import Certificate
from comind.nodes.driver_link import DriverLink
from comind.nodes.input_store import InputStore
from comind.nodes.messages import HOST_MESSAGES
from comind.nodes.placement import HostOrder
from comind.system.request_guard import RequestGuard
from comind.system.web_server import WebServer

_PING_SECONDS = 5.0
_MOST_OBJECTS = 2_000  # in one request
_LIST_BYTES = 1 << 18  # of hashes in a request
_MESSAGE_BYTES = 8 << 20
_SESSION_BYTES = 64 << 30  # of the files that one session sends
_CHUNK = 1 << 18  # small enough for a node's timeout, where many share a slow link
_DRAIN_SECONDS = 3.0
_HASHES: TypeAdapter[list[str]] = TypeAdapter(list[str])


class _Requested(NamedTuple):
    """Objects that the host of a session requests, with their hashes."""

    link: DriverLink
    objects: list[tuple[str, Path | bytes]]


class DriverServer(WebServer):
    """Accepts session hosts of one campaign, in a thread for the length of a `with` block."""

    def __init__(
        self,
        certificate: Certificate,
        *,
        address: str,
        port: int = 0,
        store: InputStore | None = None,
        bandwidth_mb: float | None = None,
    ) -> None:
        """Bind the port; 0 is any free one.

        `certificate` is the one that nodes get with their orders, `address` the name or IP address by
        which they reach this machine; `store` may hold inputs, `bandwidth_mb` limits the megabytes a
        second in each direction.

        Raises:
            UsageError: the port cannot be bound.
        """
        self._certificate = certificate
        self._links: dict[str, DriverLink] = {}
        self._lock = threading.Lock()
        self._address = address
        self.store = store
        self._outgoing, self._incoming = Bandwidth(bandwidth_mb), Bandwidth(bandwidth_mb)
        routes = [
            WebSocketRoute("/session", self._session),
            Route("/objects", self._objects, methods=["POST"]),
            Route("/urls", self._urls, methods=["POST"]),
            Route("/files/{sha256}", self._file, methods=["PUT"]),
        ]
        app = Starlette(routes=routes, exception_handlers={ClientDisconnect: _incomplete})
        # All interfaces, as nodes dial in; without a token nothing is answered.
        host = "127.0.0.1" if address in ("127.0.0.1", "localhost") else "0.0.0.0"  # noqa: S104
        try:
            super().__init__(
                RequestGuard(app, hosts=None),
                port=port,
                host=host,
                ssl_certfile=str(self._certificate.file),
                ssl_keyfile=str(self._certificate.key),
                ws_ping_interval=_PING_SECONDS,
                ws_ping_timeout=_PING_SECONDS,
                ws_max_size=_MESSAGE_BYTES,
            )
        except OSError as error:
            reason = (error.strerror or "refused").lower()
            raise UsageError(
                f"nodes.port {port}: cannot be bound ({reason})", hint="name another one, or 0"
            ) from None

    def __exit__(self, *exception: object) -> None:
        """End all sessions, and stop."""
        with self._lock:
            self._links.clear()
        self.drain(_DRAIN_SECONDS)
        super().__exit__(*exception)

    def add(self, link: DriverLink, name: str) -> HostOrder:
        """Accept a host of `link` from now on; returns the order to start it.

        Of several hosts of a link the first that connects gets the session.
        """
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._links[token] = link
        return HostOrder(
            name=name,
            address=f"{self._address}:{self.port}",
            certificate=self._certificate.pem,
            token=token,
        )

    def remove(self, link: DriverLink) -> None:
        """Refuse the hosts of `link` from now on; idempotent."""
        with self._lock:
            self._keep(link, "")

    def _keep(self, link: DriverLink, token: str) -> None:
        """Refuse the hosts of `link` with another token."""
        for other in [key for key, each in self._links.items() if each is link and key != token]:
            del self._links[other]

    def _link(self, headers: Headers) -> DriverLink | None:
        with self._lock:
            return self._links.get(_token(headers))

    def _claim(self, headers: Headers) -> DriverLink | None:
        """Return the link of a host that connects; from now on it is the only one of the session."""
        token = _token(headers)
        with self._lock:
            link = self._links.get(token)
            if link is not None:
                link.token = token
                self._keep(link, token)
            return link

    async def _session(self, websocket: WebSocket) -> None:
        link = self._claim(websocket.headers)
        if link is None:
            await websocket.close()  # HTTP 403, as it was not accepted
            return
        await websocket.accept()
        link.connect(websocket)
        try:
            while self._link(websocket.headers) is link:
                link.take(HOST_MESSAGES.validate_json(await websocket.receive_text()))
            await websocket.close()
        except ValidationError:
            await websocket.close(code=1008)
        except WebSocketDisconnect:
            pass
        finally:
            link.disconnect(websocket)

    async def _objects(self, request: Request) -> Response:
        wanted = await self._requested(request)
        if isinstance(wanted, Response):
            return wanted
        return StreamingResponse(
            _contents(wanted, self._outgoing), media_type="application/octet-stream"
        )

    async def _urls(self, request: Request) -> Response:
        wanted = await self._requested(request)
        if isinstance(wanted, Response):
            return wanted
        urls = [await run_in_threadpool(self._url, wanted.link, *each) for each in wanted.objects]
        return JSONResponse(urls)

    async def _requested(self, request: Request) -> _Requested | Response:
        """Return the objects that a request lists; a response if it may not have them."""
        link = self._link(request.headers)
        if link is None:
            return _refused()
        try:
            body = bytearray()
            async for part in request.stream():
                body += part
                if len(body) > _LIST_BYTES:
                    return JSONResponse({"error": f"more than {_LIST_BYTES} bytes"}, 413)
            wanted = _HASHES.validate_json(body)
            objects = [(sha256, link.objects[sha256]) for sha256 in wanted]
        except (ValidationError, KeyError):
            return JSONResponse({"error": "not an object of this session"}, 404)
        if len(objects) > _MOST_OBJECTS:
            return JSONResponse({"error": f"more than {_MOST_OBJECTS} objects"}, 413)
        return _Requested(link, objects)

    def _url(self, link: DriverLink, sha256: str, content: Path | bytes) -> str | None:
        if self.store is None or sha256 not in link.shared or isinstance(content, bytes):
            return None
        return self.store.presigned_url(sha256, content)

    async def _file(self, request: Request) -> Response:
        link = self._link(request.headers)
        if link is None:
            return _refused()
        wanted = request.path_params["sha256"]
        if len(wanted) != hashlib.sha256().digest_size * 2 or not wanted.isalnum():
            return JSONResponse({"error": "not a hash"}, 404)
        link.staging.mkdir(parents=True, exist_ok=True)
        staged = link.staging / f"{wanted}.new"
        if await _save(link, request.stream(), staged, self._incoming) != wanted:
            staged.unlink(missing_ok=True)
            return JSONResponse({"error": "the content changed, or is too large"}, 409)
        staged.replace(link.staging / wanted)
        return Response(status_code=204)


def _token(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token if scheme == "Bearer" else ""


async def _save(
    link: DriverLink, chunks: AsyncIterator[bytes], target: Path, bandwidth: Bandwidth
) -> str:
    """Write a request's body to `target`; return its hash, or nothing if the session sent too much."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        async for chunk in chunks:
            link.received_bytes += len(chunk)
            if link.received_bytes > _SESSION_BYTES:
                return ""
            digest.update(chunk)
            await run_in_threadpool(file.write, chunk)
            await asyncio.sleep(bandwidth.delay(len(chunk)))
    return digest.hexdigest()


async def _contents(wanted: _Requested, bandwidth: Bandwidth) -> AsyncIterator[bytes]:
    for _, content in wanted.objects:
        with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
            while chunk := await run_in_threadpool(file.read, _CHUNK):
                wanted.link.sent_bytes += len(chunk)
                yield chunk
                await asyncio.sleep(bandwidth.delay(len(chunk)))


def _refused() -> Response:
    return JSONResponse({"error": "this session is closed"}, 403)


async def _incomplete(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": "the request is incomplete"}, 400)
