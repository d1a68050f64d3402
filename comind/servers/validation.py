"""MLE-bench's validation server: a submission is valid or invalid, without a score or a reason.

    POST /validate   a form with the file in the field `file`, or the file itself
                     -> {"result": "Submission is valid."} or {"result": "Submission is invalid."}
    GET  /health     -> {"status": "running"}

No response contains anything else that was computed from the labels.
"""

import asyncio
import logging
import mmap
import tempfile
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import IO

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from comind.errors import CompetitionError, UsageError
from comind.evaluation.benchmark.benchmark_grader import BenchmarkAnswers
from comind.evaluation.benchmark.catalog import Mode
from comind.system.request_guard import RequestGuard
from comind.system.web_server import WebServer

__all__ = ["ValidationServer"]

_LOG = logging.getLogger(__name__)
_INCOMPLETE = "the request is incomplete"
_FORM = "multipart/form-data"
_HEADER_BYTES = 1 << 16  # of one part of a form
_COPY_BYTES = 1 << 20
_CHUNK_SECONDS = 60.0  # without any data, then the connection is closed
_MAX_BYTES = 1 << 30  # the largest submission of the 75 has some hundred megabytes


class ValidationServer(WebServer):
    """Validates submissions to one competition, for clients on this machine."""

    def __init__(self, answers: BenchmarkAnswers, mode: Mode, port: int = 0) -> None:
        """Bind the port; 0 is any free one.

        Raises:
            UsageError: the port cannot be bound.
        """
        self._answers = answers
        self._mode = mode
        routes = [
            Route("/health", _health, methods=["GET"]),
            Route("/validate", self._validate, methods=["POST"]),
        ]
        handlers = {404: _not_found, 405: _not_found, ClientDisconnect: _incomplete}
        app = Starlette(routes=routes, exception_handlers=handlers)
        try:
            super().__init__(RequestGuard(app, max_bytes=_MAX_BYTES), port=port)
        except OSError as error:
            reason = (error.strerror or "refused").lower()
            raise UsageError(
                f"port {port}: cannot be used ({reason})", hint="name another one"
            ) from None

    async def _validate(self, request: Request) -> JSONResponse:
        with tempfile.NamedTemporaryFile(suffix=".csv") as body:
            chunks = aiter(request.stream())
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(chunks, None), _CHUNK_SECONDS)
                except TimeoutError:
                    return JSONResponse({"error": _INCOMPLETE}, 408, {"Connection": "close"})
                if chunk is None:
                    break
                await run_in_threadpool(body.write, chunk)
            body.flush()
            return await run_in_threadpool(self._response, request.headers.get("content-type", ""), body)

    def _response(self, content_type: str, body: IO[bytes]) -> JSONResponse:
        """Return whether MLE-bench, or Kaggle, would score the file in a request's body."""
        try:
            if not content_type.startswith(_FORM):
                valid = self._answers.grade(Path(body.name), self._mode).valid
            else:
                with tempfile.NamedTemporaryFile(suffix=".csv") as file:
                    if not _copy_file(content_type, body, file):
                        return JSONResponse({"error": "the form has no field 'file'"}, status_code=400)
                    valid = self._answers.grade(Path(file.name), self._mode).valid
        except CompetitionError:
            _LOG.exception("the answers cannot be read")
            return JSONResponse({"error": "the grader is not set up"}, status_code=500)
        return JSONResponse({"result": f"Submission is {'valid' if valid else 'invalid'}."})


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "running"})


async def _not_found(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": "there is GET /health and POST /validate"}, status_code=404)


async def _incomplete(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": _INCOMPLETE}, status_code=400)


def _copy_file(content_type: str, form: IO[bytes], file: IO[bytes]) -> bool:
    """Copy the content of the field `file` of a form; return whether the form has one.

    The form stays on disk. Starlette's parser needs another package.
    """
    boundary = _headers(f"Content-Type: {content_type}\r\n\r\n".encode()).get_boundary()
    if not boundary or not Path(form.name).stat().st_size:
        return False
    mark = b"--" + boundary.encode()
    with mmap.mmap(form.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(mark)
        while start >= 0:
            head = start + len(mark) + len(b"\r\n")
            body = content.find(b"\r\n\r\n", head, head + _HEADER_BYTES) + 4
            end = content.find(b"\r\n" + mark, body - 2)
            if body < head or end < 0:
                return False
            named = _headers(content[head:body]).get_param("name", header="content-disposition")
            if named == "file":
                for offset in range(body, end, _COPY_BYTES):
                    file.write(content[offset : min(end, offset + _COPY_BYTES)])
                file.flush()
                return True
            start = end + 2
    return False


def _headers(text: bytes) -> EmailMessage:
    return BytesParser(policy=HTTP).parsebytes(text, headersonly=True)
