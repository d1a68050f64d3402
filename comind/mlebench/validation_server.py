"""MLE-bench's validation server: a submission is valid or invalid, without a score or a reason.

    POST /validate   a form with the file in the field `file`, or the file itself
                     -> {"result": "Submission is valid."} or {"result": "Submission is invalid."}
    GET  /health     -> {"status": "running"}

No response contains anything else that was computed from the labels.
"""

import asyncio
import logging
import shutil
import tempfile
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Message, Receive

from comind.errors import CompetitionError, UsageError
from comind.mlebench.benchmark_grader import BenchmarkAnswers
from comind.mlebench.catalog import Mode
from comind.system.request_guard import RequestGuard
from comind.system.web_server import WebServer

_LOG = logging.getLogger(__name__)
_INCOMPLETE = "the request is incomplete, or its form is invalid"
_CHUNK_SECONDS = 60.0
_MAX_BYTES = 1 << 30  # the largest submission of the 75 has some hundred megabytes


class ValidationServer(WebServer):
    """Validates submissions to one competition, for clients on this machine."""

    def __init__(
        self,
        grader: BenchmarkAnswers,
        mode: Mode,
        port: int = 0,
        *,
        patience: float = _CHUNK_SECONDS,
    ) -> None:
        """Bind the port; 0 is any free one. A request ends after `patience` seconds without any data.

        Raises:
            UsageError: the port cannot be bound.
        """
        self._grader = grader
        self._mode = mode
        self._patience = patience
        routes = [
            Route("/health", _health, methods=["GET"]),
            Route("/validate", self._validate, methods=["POST"]),
        ]
        handlers = {
            400: _incomplete,
            404: _not_found,
            405: _not_found,
            ClientDisconnect: _incomplete,
            TimeoutError: _late,
        }
        app = Starlette(routes=routes, exception_handlers=handlers)
        try:
            super().__init__(RequestGuard(app, max_bytes=_MAX_BYTES), port=port)
        except OSError as error:
            reason = (error.strerror or "refused").lower()
            raise UsageError(
                f"port {port}: cannot be used ({reason})", hint="name another one"
            ) from None

    async def _validate(self, request: Request) -> JSONResponse:
        request = Request(request.scope, partial(_within, self._patience, request.receive))
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            if request.headers.get("content-type", "").startswith("multipart/form-data"):
                async with request.form() as form:  # a file of more than 1 MiB is on disk
                    upload = form.get("file")
                    if not isinstance(upload, UploadFile):
                        return JSONResponse({"error": "the form has no file 'file'"}, status_code=400)
                    await run_in_threadpool(shutil.copyfileobj, upload.file, file)
            else:
                async for chunk in request.stream():
                    await run_in_threadpool(file.write, chunk)
            file.flush()
            return await run_in_threadpool(self._response, Path(file.name))

    def _response(self, submission: Path) -> JSONResponse:
        """Return whether MLE-bench, or Kaggle, would score the file."""
        try:
            valid = self._grader.grade(submission, self._mode).valid
        except CompetitionError:
            _LOG.exception("the answers cannot be read")
            return JSONResponse({"error": "the grader is not set up"}, status_code=500)
        return JSONResponse({"result": f"Submission is {'valid' if valid else 'invalid'}."})


async def _within(seconds: float, receive: Receive) -> Message:
    return await asyncio.wait_for(receive(), seconds)


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "running"})


async def _not_found(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": "there is GET /health and POST /validate"}, status_code=404)


async def _incomplete(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": _INCOMPLETE}, status_code=400)


async def _late(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": _INCOMPLETE}, 408, {"Connection": "close"})
