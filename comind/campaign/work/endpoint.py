"""Serve a campaign's model to the programs of a running cell: an OpenAI-compatible endpoint of ours.

It listens on a Unix socket in a folder of the attempt, which sandboxes mount, so the programs need no
network and no key. Each request is recorded, and metered as every call of the campaign: reserved at its
bound, then charged. Requests are forwarded one after another. A resumed attempt runs its interrupted
cell again, which gets the recorded responses to the requests that it repeats.
"""

import json
import os
import shutil
import threading
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from comind.campaign.log.outcome import WorkStopped
from comind.campaign.log.work_events import CallAnswered, CallFailed, CallSent, CellEnded, WorkEvent
from comind.campaign.work.metering import Meter
from comind.campaign.work.recorder import Recorder
from comind.errors import ModelServiceError, ServiceError
from comind.eventlog.log import Record
from comind.llm.forwarding import (
    ForeignRequest,
    Forwarded,
    ForwardingModel,
    RefusedRequestError,
    check_request,
)
from comind.llm.model_ports import ChatModel, Usage
from comind.llm.settings import Protocol
from comind.session.load import CellUsage
from comind.system.failpoints import failpoint
from comind.system.request_guard import RequestGuard
from comind.system.web_server import WebServer

SOCKET, SECONDS, REFUSED = "model.sock", "seconds", "refused"
"""Names in the endpoint's folder, of the socket and of the file with the cell's timeout."""

_PATHS: dict[Protocol, str] = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
_MOST_BYTES = 32 << 20
_GONE = "the campaign's model takes no requests"
_LEAST_SECONDS = 1.0
_LOOK_SECONDS = 0.5

Replies = Mapping[str, deque[str]]
"""Responses that were recorded and not repeated, by the fingerprint of their request."""


def interrupted_replies(records: Iterable[Record[WorkEvent]]) -> Replies:
    """Return the responses to programs of a cell that started and did not end."""
    found: dict[str, deque[str]] = defaultdict(deque)
    asked = ""
    for event in (record.event for record in records):
        match event:
            case CellEnded():
                found.clear()
            case CallSent(fingerprint=fingerprint):
                asked = fingerprint
            case CallAnswered(ordinal=None, body=body):
                found[asked].append(body)
    return found


@dataclass
class ModelEndpoint:
    """The endpoint of one cell."""

    model: ChatModel
    role: str
    meter: Meter
    recorder: Recorder
    folder: Path
    """Of the socket; sandboxes mount it."""
    recorded: Replies
    failure: ServiceError | None = None
    """Why the campaign cannot go on, once a request has shown it."""
    next_look: float = 0.0
    """Running time of the cell at which to call `look` next; see `Watch`."""
    _workspace: Path = Path()
    _closed: bool = False
    _ends: float = 0.0
    """Of the cell, by the monotonic clock."""
    _forwarding: threading.Lock = field(default_factory=threading.Lock)
    _refused: Usage | None = None
    """Bound of a request that the budget did not allow: none of that size is tried again."""

    def make_folder(self) -> None:
        """Make the socket's folder, so that a session can mount it; `remove_folder` ends it."""
        self.remove_folder()
        self.folder.mkdir()
        self.folder.chmod(0o711)

    def remove_folder(self) -> None:
        """Remove the folder, if it is there."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def serving(self, workspace: Path, seconds: float) -> Iterator[None]:
        """Serve for the block, a cell of so many `seconds`, to the user that owns its `workspace`."""
        (self.folder / SECONDS).write_text(f"{seconds:.0f}\n", encoding="utf-8")
        routes = [
            Route(path, self._route(protocol), methods=["POST"]) for protocol, path in _PATHS.items()
        ]
        routes.append(Route("/v1/models", self._models))
        app = RequestGuard(Starlette(routes=routes), max_bytes=_MOST_BYTES)
        self._closed, self._ends, self.next_look = False, time.monotonic() + seconds, 0.0
        with WebServer(app, path=self.folder / SOCKET, timeout_graceful_shutdown=1):
            self._workspace = workspace
            self._give_socket()
            try:
                yield
            finally:
                self._closed = True
                with self._forwarding:  # the request in flight is recorded before the cell's end
                    (self.folder / SOCKET).unlink(missing_ok=True)

    def look(self, output: str, seconds: float, usage: CellUsage | None = None) -> str | None:
        """Return why the cell cannot go on, if a request has shown it."""
        del output, usage
        self.next_look = seconds + _LOOK_SECONDS
        self._give_socket()  # a sandbox that has started since may have another user
        return str(self.failure) if self.failure else None

    def _give_socket(self) -> None:
        if os.getuid() == 0:
            owner = self._workspace.stat()
            os.chown(self.folder / SOCKET, owner.st_uid, owner.st_gid)

    def answer(self, protocol: Protocol, given: bytes) -> Forwarded:
        """Return the response to a request: the recorded one, or the model's."""
        try:
            request = check_request(protocol, json.loads(given))
        except (ValueError, RecursionError) as error:
            return _error(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}")
        except RefusedRequestError as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error))
        with self._forwarding:
            if earlier := self.recorded.get(request.fingerprint):
                return Forwarded(HTTPStatus.OK, earlier.popleft())
            if self.failure is not None or self._closed:
                return _error(HTTPStatus.FORBIDDEN, _GONE)
            return self._forward(request)

    def _forward(self, request: ForeignRequest) -> Forwarded:
        model = self.model
        if not isinstance(model, ForwardingModel):
            why = f"the model {model.name} cannot be called by other programs"
            return self._halt(ModelServiceError(why, hint="name one at an endpoint"))
        bound, over = model.forward_bound(request), self._refused
        if over is not None and bound.tokens >= over.tokens and bound.usd >= over.usd:
            return _error(HTTPStatus.FORBIDDEN, "the budget does not allow a request of this size")
        self.recorder.note(
            CallSent(
                ordinal=None,
                fingerprint=request.fingerprint,
                role=self.role,
                model=model.name,
                bound=bound,
                messages=self.recorder.keep(request.messages),
            )
        )
        failpoint("call-sent")

        meter = replace(self.meter, seconds_left=self._seconds_left)

        def attempt() -> Forwarded:
            return model.forward(request, bound, max(_LEAST_SECONDS, self._seconds_left()))

        try:
            found = meter.call(model.name, attempt, bound, bound.tokens)
        except Exception as error:  # noqa: BLE001 - a request that is open would be charged its bound
            self.recorder.note(CallFailed(ordinal=None, message=str(error)))
            return self._refusal(error, bound)
        if found.reply is None:
            message = f"the server refuses the request: {found.status}"
            self.recorder.note(CallFailed(ordinal=None, message=message))
            return found
        self.recorder.note(CallAnswered(ordinal=None, reply=found.reply, body=found.text))
        failpoint("reply-recorded")
        return found

    def _seconds_left(self) -> float:
        """Return the time that a request has: none is waited for, or sent again, after the cell."""
        return 0.0 if self._closed else min(self.meter.seconds_left(), self._ends - time.monotonic())

    def _refusal(self, error: Exception, bound: Usage) -> Forwarded:
        """Return what a program is told; our own messages name the endpoint's address."""
        if isinstance(error, WorkStopped):
            self._refused = bound
            return _error(HTTPStatus.FORBIDDEN, str(error))  # a status that no client retries
        if isinstance(error, ServiceError):
            return self._halt(error)
        return _error(HTTPStatus.BAD_REQUEST, "the model cannot answer this request")

    def _halt(self, error: ServiceError) -> Forwarded:
        """Note why the campaign cannot go on, also for the cell, which waits to be stopped."""
        self.failure = error
        (self.folder / REFUSED).touch()
        return _error(HTTPStatus.FORBIDDEN, _GONE)

    def _route(self, protocol: Protocol) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            found = await run_in_threadpool(self.answer, protocol, await request.body())
            streamed = not found.text.lstrip().startswith("{")
            kind = "text/event-stream" if streamed else "application/json"
            return Response(found.text, status_code=found.status, media_type=kind)

        return respond

    async def _models(self, _request: Request) -> JSONResponse:
        return JSONResponse({"object": "list", "data": [{"id": self.model.name, "object": "model"}]})


def _error(status: HTTPStatus, message: str) -> Forwarded:
    body = {"error": {"message": message, "type": "invalid_request_error", "code": status.phrase}}
    return Forwarded(status, json.dumps(body))
