"""MLE-bench's validation server: a submission is valid or invalid, without a score or a reason.

    POST /validate   a form with the file in the field `file`, or the file itself
                     -> {"result": "Submission is valid."} or {"result": "Submission is invalid."}
    GET  /health     -> {"status": "running"}

No response contains anything else that was computed from the labels.
"""

import logging
import tempfile
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from comind.errors import CompetitionError, UsageError
from comind.evaluation.benchmark.benchmark_grader import BenchmarkAnswers
from comind.evaluation.benchmark.catalog import Mode
from comind.system.web_server import WebServer

__all__ = ["ValidationServer"]

_LOG = logging.getLogger(__name__)
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
            super().__init__(app, port=port)
        except OSError as error:
            reason = (error.strerror or "refused").lower()
            raise UsageError(
                f"port {port}: cannot be used ({reason})", hint="name another one"
            ) from None

    async def _validate(self, request: Request) -> JSONResponse:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BYTES:
                return JSONResponse({"error": "the file is too large"}, status_code=413)
        submission = _file_of(request.headers.get("content-type", ""), bytes(body))
        if submission is None:
            return JSONResponse({"error": "the form has no field 'file'"}, status_code=400)
        try:
            valid = await run_in_threadpool(self._grade, submission)
        except CompetitionError:
            _LOG.exception("the answers cannot be read")
            return JSONResponse({"error": "the grader is not set up"}, status_code=500)
        return JSONResponse({"result": f"Submission is {'valid' if valid else 'invalid'}."})

    def _grade(self, submission: bytes) -> bool:
        """Return whether MLE-bench, or Kaggle, would score this file."""
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write(submission)
            file.flush()
            return self._answers.grade(Path(file.name), self._mode).valid


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "running"})


async def _not_found(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": "there is GET /health and POST /validate"}, status_code=404)


async def _incomplete(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"error": "the request is incomplete"}, status_code=400)


def _file_of(content_type: str, body: bytes) -> bytes | None:
    """Return the file in a request's body; None for a form without one.

    The standard library parses forms here, as starlette's parser needs another package.
    """
    if not content_type.startswith("multipart/form-data"):
        return body
    header = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(header + body)
    for part in message.iter_parts():
        if part.get_param("name", header="content-disposition") == "file":
            content = part.get_payload(decode=True)
            return content if isinstance(content, bytes) else None
    return None
