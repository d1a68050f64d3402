"""The server: the official client's routes over HTTP, for the length of a `with` block or for good.

Answers to the client's calls are JSON; files are fetched from addresses that the server has signed, as
the client asks for some of them without saying who it is.
"""

import base64
import hashlib
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from email.utils import format_datetime
from pathlib import Path, PurePosixPath
from typing import Self
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from comind.errors import ServiceError
from comind.live import wire
from comind.live.catalogue import Hosted
from comind.live.clock import Clock
from comind.live.dispatch import Dispatch, read
from comind.live.faults import Faults
from comind.live.requestlog import RequestLog
from comind.live.routes import Asker, Content, RouteError, Shown, Ticket, resolve
from comind.live.uploads import LARGEST, Uploads

__all__ = ["LiveServer"]

_BODY = 1 << 20
_PATH = 200  # of an address that leads nowhere, in the log


class LiveServer:
    """Serves competitions as Kaggle would; `faults` says what goes wrong."""

    def __init__(
        self,
        hosted: Sequence[Hosted],
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        users: Mapping[str, str] | None = None,
        log: Path | None = None,
        faults: Faults | None = None,
    ) -> None:
        """Take the port, without answering yet.

        Args:
            hosted: the competitions.
            port: where to listen; 0 is any free one.
            host: at which address.
            users: names and keys of those who are let in; None lets in anybody with a name.
            log: a file that gets a line for each request.
            faults: what goes wrong; nothing by default.

        Raises:
            ServiceError: the port cannot be had.
        """
        self.faults = faults or Faults()
        self._now = hosted[0].world.clock.now if hosted else Clock().now
        self._shown = Shown({each.id: each for each in hosted}, self.faults)
        self._users = users
        self._log = RequestLog(log)
        self._secret = secrets.token_bytes(32)
        self._uploads = Uploads()
        self._grading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grading")
        self._dispatch = Dispatch(self._shown, self._uploads, self._grade)
        self._socket = _listen(host, port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app(),
            log_level="error",
            lifespan="off",
            date_header=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None
        for each in hosted:
            for ref in each.world.pending():
                self._grade(each, ref)

    @property
    def url(self) -> str:
        """Where it is, for the client."""
        return f"http://localhost:{self.port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            threading.Event().wait(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def serve(self) -> None:
        """Answer until stopped."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._grading.shutdown(wait=True, cancel_futures=True)
            self._socket.close()
            self._log.close()

    def stop(self) -> None:
        """Answer what is being asked, and no more."""
        self._server.should_exit = True

    def _grade(self, hosted: Hosted, ref: int) -> None:
        self._grading.submit(hosted.world.grade, ref)

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/v1/{service}/{method}", self._call, methods=["POST"]),
                Route("/upload/{token}", self._upload, methods=["PUT"]),
                Route("/files/{ticket}/{name}", self._file, methods=["GET"]),
            ],
            exception_handlers={404: _nowhere, 405: _nowhere, RouteError: _refused, Exception: _broken},
            middleware=[Middleware(BaseHTTPMiddleware, dispatch=self._watched)],
        )

    async def _watched(self, request: Request, go_on: RequestResponseEndpoint) -> Response:
        """Tell with each answer what time it is in this world, and note who asked."""
        response = await go_on(request)
        response.headers["Date"] = format_datetime(self._now(), usegmt=True)
        route = getattr(request.state, "route", request.url.path[:_PATH])
        agent = request.headers.get("user-agent", "")
        self._log.write(request.method, route, agent, response.status_code)
        return response

    def _fail_as_told(self, route: str) -> None:
        """Raise what is to go wrong with this request; nothing where nothing is."""
        refusal = self.faults.next(route)
        if refusal is not None:
            raise RouteError(refusal.code, refusal.message, refusal.retry_after)

    # --- the client's calls ----------------------------------------------------------------------

    async def _call(self, request: Request) -> Response:
        route = f"{request.path_params['service']}/{request.path_params['method']}"
        request.state.route = route
        body = await _body(request, _BODY)
        return await run_in_threadpool(self._answered, route, body, request)

    def _answered(self, route: str, body: bytes, request: Request) -> Response:
        self._fail_as_told(route)
        asked = read(route, body)
        if route.endswith("/IntrospectToken"):
            return JSONResponse(wire.token_holder(self._holder(asked.token)))
        base = f"http://{request.headers.get('host', f'localhost:{self.port}')}"
        user = self._user(request.headers.get("authorization", ""))
        asker = Asker(user, base, lambda ticket: base + self._signed(ticket, user))
        answer = self._dispatch.answer(route, asked, asker)
        if isinstance(answer, Ticket):
            return RedirectResponse(self._signed(answer, user), status_code=302)
        if isinstance(answer, Content):
            disposition = f'attachment; filename="{answer.file_name}"'
            return Response(
                answer.data, media_type=answer.media_type, headers={"Content-Disposition": disposition}
            )
        return JSONResponse(answer)

    # --- who asks --------------------------------------------------------------------------------

    def _user(self, authorization: str) -> str:
        """Return the name of who asks. RouteError where it is nobody who is let in."""
        scheme, _, credentials = authorization.partition(" ")
        name: str | None = None
        if scheme.lower() == "basic":
            name, key = _basic(credentials.strip())
            if self._users is not None and not _same(self._users.get(name), key):
                name = None
        elif scheme.lower() == "bearer" and credentials:
            name = self._holder(credentials.strip())
        if not name or self.faults.expired:
            raise RouteError(401, "Unauthenticated")
        return name

    def _holder(self, token: str) -> str | None:
        """Return whose token this is; None where it is nobody's."""
        if self.faults.expired or not token:
            return None
        if self._users is None:
            return f"holder-{hashlib.sha256(token.encode()).hexdigest()[:8]}"
        return next((name for name, key in self._users.items() if _same(key, token)), None)

    # --- files -----------------------------------------------------------------------------------

    def _signed(self, ticket: Ticket, user: str) -> str:
        """Return the path of a file's address, which ends with the file's name."""
        text = base64.urlsafe_b64encode(json.dumps([user, asdict(ticket)]).encode()).decode()
        slug = ticket.ref.split("/")[-1] if ticket.kind == "dataset" else ticket.competition
        name = PurePosixPath(ticket.name).name or f"{slug}.zip"
        return f"/files/{text}.{self._seal(text)}/{quote(name, safe='')}"

    def _seal(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    async def _file(self, request: Request) -> Response:
        request.state.route = "files"
        return await run_in_threadpool(self._found, request.path_params["ticket"])

    def _found(self, address: str) -> Response:
        self._fail_as_told("files")
        text, _, seal = address.partition(".")
        if not _same(self._seal(text), seal):
            raise RouteError(403, "This address is not valid")
        user, fields = json.loads(base64.urlsafe_b64decode(text))
        path, hosted = resolve(self._shown, Ticket(**fields), user)
        changed = format_datetime(hosted.time_of(path), usegmt=True)
        return FileResponse(path, headers={"Last-Modified": changed})

    async def _upload(self, request: Request) -> Response:
        request.state.route = "upload"
        body = await _body(request, LARGEST)
        self._fail_as_told("upload")
        token = request.path_params["token"]
        content_range = request.headers.get("content-range", "")
        file = self._uploads.find(token)
        if not content_range.startswith("bytes */"):
            file = self._uploads.add(token, body, _start(content_range))
        if file.whole:
            return Response(status_code=200)
        headers = {"Range": f"bytes=0-{len(file.content) - 1}"} if file.content else {}
        return Response(status_code=308, headers=headers)


def _listen(host: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        reason = (error.strerror or "refused").lower()
        hint = "name another one with --port" if port else ""
        raise ServiceError(f"{host}:{port}: cannot listen there ({reason})", hint=hint) from None
    return made


async def _broken(_request: Request, _fault: Exception) -> Response:
    return _error(500, "A fault of the server's own")


async def _nowhere(_request: Request, _fault: Exception) -> Response:
    return _error(404, "There is nothing here")


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RouteError)
    wait = error.retry_after
    headers = None if wait is None else {"Retry-After": f"{wait:g}"}
    return _error(error.code, str(error), headers)


async def _body(request: Request, limit: int) -> bytes:
    """Return a request's body. RouteError where it is larger than is allowed."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise RouteError(413, f"More than {limit} bytes are too many")
        parts.append(part)
    return b"".join(parts)


def _error(code: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"code": code, "message": message}, status_code=code, headers=headers)


def _basic(credentials: str) -> tuple[str, str]:
    try:
        name, _, key = base64.b64decode(credentials, validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return name, key


def _same(one: str | None, other: str) -> bool:
    return one is not None and hmac.compare_digest(one.encode(), other.encode())


def _start(content_range: str) -> int:
    """Return where a part of a file begins: `bytes 100-199/200` at 100, and without a range at 0."""
    first = content_range.removeprefix("bytes ").split("-")[0]
    if not content_range:
        return 0
    if not (first.isdecimal() and first.isascii()):
        raise RouteError(400, "The range cannot be read")
    return int(first)
