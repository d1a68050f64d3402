"""Serve the official client's routes over HTTP, as a context manager or in the foreground.

API responses are JSON. Files are downloaded from signed URLs, as the client requests some of them
without credentials.
"""

import base64
import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from comind.errors import ServiceError
from comind.live.fault_injection import FaultInjector, RouteError
from comind.live.hosted import HostedCompetition
from comind.live.kaggle_types import response
from comind.live.router import handle, parse_body
from comind.live.routes import (
    Catalog,
    FileContent,
    FileLink,
    RequestContext,
    parse_digits,
    resolve_link,
)
from comind.live.simulated_clock import SimulatedClock
from comind.live.uploads import Uploads
from comind.system.request_guard import LOOPBACK, RequestGuard
from comind.system.web_server import WebServer

_MAX_BODY_BYTES = 1 << 20
_LOGGED_PATH = 200  # characters of an unknown path


class LiveServer(WebServer):
    """Serve competitions through Kaggle's API; `faults` injects errors."""

    def __init__(
        self,
        hosted: Sequence[HostedCompetition],
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        users: Mapping[str, str] | None = None,
        log: Path | None = None,
        faults: FaultInjector | None = None,
    ) -> None:
        """Bind the port, without serving yet.

        Args:
            hosted: the competitions.
            port: port to listen on; 0 for a free one.
            host: address to listen on.
            users: API key by user name; None accepts any user name.
            log: request log, one JSON line per request.
            faults: errors to inject; none by default.

        Raises:
            ServiceError: the port cannot be bound.
        """
        self.faults = faults or FaultInjector()
        self._now = hosted[0].world.clock.now if hosted else SimulatedClock().now
        self._users = users
        self._log = _open_log(log)
        self._secret = secrets.token_bytes(32)
        self._uploads = Uploads()
        by_id = {each.id: each for each in hosted}
        self._catalog = Catalog(by_id, self.faults, self._uploads, self._grade)
        self._grading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="grading")
        try:
            names = LOOPBACK if host in LOOPBACK else None  # others have names that we do not know
            super().__init__(RequestGuard(self._app(), hosts=names), port=port, host=host)
        except OSError as error:
            self._uploads.close()
            self._log.close()
            reason = (error.strerror or "refused").lower()
            hint = "name another one with --port" if port else ""
            raise ServiceError(f"{host}:{port}: cannot listen there ({reason})", hint=hint) from None
        for each in hosted:
            for ref in each.world.pending():
                self._grade(each, ref)

    def serve(self) -> None:
        """Serve until `stop()`, then end gradings and close the log."""
        try:
            super().serve()
        finally:
            self._grading.shutdown(wait=True, cancel_futures=True)
            self._uploads.close()
            self._log.close()

    def _grade(self, hosted: HostedCompetition, ref: int) -> None:
        self._grading.submit(hosted.world.grade, ref)

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/v1/{service}/{method}", self._api_endpoint, methods=["POST"]),
                Route("/upload/{token}", self._upload_endpoint, methods=["PUT"]),
                Route("/files/{ticket}/{name}", self._file_endpoint, methods=["GET"]),
            ],
            exception_handlers={
                404: _not_found,
                405: _not_found,
                RouteError: _route_error,
                ClientDisconnect: _incomplete,
                Exception: _internal_error,
            },
            middleware=[Middleware(BaseHTTPMiddleware, dispatch=self._log_request)],
        )

    async def _log_request(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Set the `Date` header to the simulated time, and log the request with the real time."""
        response = await call_next(request)
        response.headers["Date"] = format_datetime(self._now(), usegmt=True)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "method": request.method,
            "route": getattr(request.state, "route", request.url.path[:_LOGGED_PATH]),
            "user_agent": request.headers.get("user-agent", ""),
            "status": response.status_code,
        }
        self._log.handle(logging.makeLogRecord({"msg": json.dumps(line)}))
        return response

    # --- API -------------------------------------------------------------------------------------

    async def _api_endpoint(self, request: Request) -> Response:
        route = f"{request.path_params['service']}/{request.path_params['method']}"
        request.state.route = route
        body = await _body(request, _MAX_BODY_BYTES)
        return await run_in_threadpool(self._call, route, body, request)

    def _call(self, route: str, body: bytes, request: Request) -> Response:
        self.faults.raise_next(route)
        parsed = parse_body(route, body)
        if route.endswith("/IntrospectToken"):
            owner = self._token_user(parsed.token)
            fields = {"active": owner is not None, "username": owner or ""}
            return JSONResponse(response("IntrospectToken", **fields))
        base = f"http://{request.headers.get('host', f'localhost:{self.port}')}"
        user = self._authenticate(request.headers.get("authorization", ""))
        context = RequestContext(
            self._catalog, user, base, lambda link: base + self._signed_path(link, user)
        )
        result = handle(route, parsed, context)
        if isinstance(result, FileLink):
            return RedirectResponse(self._signed_path(result, user), status_code=302)
        if isinstance(result, FileContent):
            disposition = f'attachment; filename="{result.file_name}"'
            return Response(
                result.data, media_type=result.media_type, headers={"Content-Disposition": disposition}
            )
        return JSONResponse(result)

    # --- authentication --------------------------------------------------------------------------

    def _authenticate(self, authorization: str) -> str:
        """Return the user of an `Authorization` header; `RouteError` 401 for invalid credentials."""
        scheme, _, credentials = authorization.partition(" ")
        name: str | None = None
        if scheme.lower() == "basic":
            name, key = _basic(credentials.strip())
            if self._users is not None and not _equal(self._users.get(name), key):
                name = None
        elif scheme.lower() == "bearer" and credentials:
            name = self._token_user(credentials.strip())
        if not name or self.faults.expired:
            raise RouteError(401, "Unauthenticated")
        return name

    def _token_user(self, token: str) -> str | None:
        """Return the user of a token; None if it is invalid."""
        if self.faults.expired or not token:
            return None
        if self._users is None:
            return f"holder-{hashlib.sha256(token.encode()).hexdigest()[:8]}"
        return next((name for name, key in self._users.items() if _equal(key, token)), None)

    # --- files -----------------------------------------------------------------------------------

    def _signed_path(self, link: FileLink, user: str) -> str:
        """Return the signed path of a file, which ends in the file's name."""
        text = base64.urlsafe_b64encode(json.dumps([user, asdict(link)]).encode()).decode()
        slug = link.ref.split("/")[-1] if link.source == "dataset" else link.competition
        name = PurePosixPath(link.name).name or f"{slug}.zip"
        return f"/files/{text}.{self._signature(text)}/{quote(name, safe='')}"

    def _signature(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    async def _file_endpoint(self, request: Request) -> Response:
        request.state.route = "files"
        return await run_in_threadpool(self._send_file, request.path_params["ticket"])

    def _send_file(self, ticket: str) -> Response:
        self.faults.raise_next("files")
        text, _, signature = ticket.partition(".")
        if not _equal(self._signature(text), signature):
            raise RouteError(403, "This address is not valid")
        user, fields = json.loads(base64.urlsafe_b64decode(text))
        path, hosted = resolve_link(self._catalog, FileLink(**fields), user)
        modified = format_datetime(hosted.modified_at(path), usegmt=True)
        return FileResponse(path, headers={"Last-Modified": modified})

    async def _upload_endpoint(self, request: Request) -> Response:
        """Write a part of a resumable upload, or report how much of it has arrived."""
        request.state.route = "upload"
        self.faults.raise_next("upload")
        token = request.path_params["token"]
        content_range = request.headers.get("content-range", "")
        file = self._uploads.find(token)
        if not content_range.startswith("bytes */"):
            offset = _offset(content_range)
            async for part in request.stream():
                file = await run_in_threadpool(self._uploads.write, token, part, offset)
                offset += len(part)
        if file.complete:
            return Response(status_code=200)
        headers = {"Range": f"bytes=0-{file.received - 1}"} if file.received else {}
        return Response(status_code=308, headers=headers)


def _open_log(path: Path | None) -> logging.Handler:
    """Open a log, to which a file that exists is appended; without a path, nothing is logged."""
    if path is None:
        return logging.NullHandler()
    path.parent.mkdir(parents=True, exist_ok=True)
    return logging.FileHandler(path, encoding="utf-8")


async def _internal_error(_request: Request, _error: Exception) -> Response:
    return _error_response(500, "Internal server error")


async def _not_found(_request: Request, _error: Exception) -> Response:
    return _error_response(404, "There is nothing here")


async def _incomplete(_request: Request, _error: Exception) -> Response:
    return _error_response(400, "The request is incomplete")


async def _route_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RouteError)
    wait = error.retry_after
    headers = None if wait is None else {"Retry-After": f"{wait:g}"}
    return _error_response(error.code, str(error), headers)


async def _body(request: Request, limit: int) -> bytes:
    """Return a request's body; `RouteError` 413 beyond `limit` bytes."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise RouteError(413, f"More than {limit} bytes are too many")
        parts.append(part)
    return b"".join(parts)


def _error_response(code: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"code": code, "message": message}, status_code=code, headers=headers)


def _basic(credentials: str) -> tuple[str, str]:
    """Return name and key of HTTP basic authentication; empty if they cannot be decoded."""
    try:
        name, _, key = base64.b64decode(credentials, validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return name, key


def _equal(one: str | None, other: str) -> bool:
    """Compare secrets in constant time."""
    return one is not None and hmac.compare_digest(one.encode(), other.encode())


def _offset(content_range: str) -> int:
    """Return the offset of an upload's part: 100 for `bytes 100-199/200`, 0 without a range."""
    if not content_range:
        return 0
    offset = parse_digits(content_range.removeprefix("bytes ").split("-")[0])
    if offset is None:
        raise RouteError(400, "The range cannot be parsed")
    return offset
