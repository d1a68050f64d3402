"""A small server that says whether a submission is valid, and nothing more.

    POST /validate   a form with the file in the field `file`, or the file itself
                     -> {"result": "Submission is valid."} or {"result": "Submission is invalid."}
    GET  /health     -> {"status": "running"}

No score, no reason, no row: nothing that was computed from the labels leaves it.
"""

import json
import logging
import tempfile
from email.parser import BytesParser
from email.policy import HTTP
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from comind.errors import CompetitionError, UsageError
from comind.evaluation.benchmark.benchmark_grader import BenchmarkAnswers
from comind.evaluation.benchmark.catalog import Mode

__all__ = ["ValidationServer"]

_LOG = logging.getLogger(__name__)
_MOST = 1 << 30  # bytes; the largest submission of the 75 has some hundred megabytes
_RUNNING = HTTPStatus.OK, {"status": "running"}
_NOWHERE = HTTPStatus.NOT_FOUND, {"error": "there is GET /health and POST /validate"}
_VALID = {"result": "Submission is valid."}
_INVALID = {"result": "Submission is invalid."}


class ValidationServer(ThreadingHTTPServer):
    """Listens on this machine alone."""

    daemon_threads = True

    def __init__(self, answers: BenchmarkAnswers, mode: Mode, port: int = 0) -> None:
        """Bind the port; 0 takes any free one.

        Raises:
            UsageError: the port is taken.
        """
        self.answers = answers
        self.mode = mode
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            reason = (error.strerror or "refused").lower()
            raise UsageError(
                f"port {port}: cannot be used ({reason})", hint="name another one"
            ) from None

    def valid(self, submission: bytes) -> bool:
        """Return whether MLE-bench, or Kaggle, would give this file a score."""
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write(submission)
            file.flush()
            return self.answers.grade(Path(file.name), self.mode).valid


class _Handler(BaseHTTPRequestHandler):
    server: ValidationServer
    timeout = 60

    def do_GET(self) -> None:
        self._answer(*(_RUNNING if self.path == "/health" else _NOWHERE))

    def do_POST(self) -> None:
        self._answer(*(self._validated() if self.path == "/validate" else _NOWHERE))

    def _validated(self) -> tuple[HTTPStatus, dict[str, str]]:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            return HTTPStatus.LENGTH_REQUIRED, {"error": "Content-Length is missing"}
        if int(length) > _MOST:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": "the file is too large"}
        content = _file_of(self.headers.get("Content-Type", ""), self.rfile.read(int(length)))
        if content is None:
            return HTTPStatus.BAD_REQUEST, {"error": "the form has no field 'file'"}
        try:
            valid = self.server.valid(content)
        except CompetitionError:
            _LOG.exception("the answers cannot be read")
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the grader is not set up"}
        return HTTPStatus.OK, _VALID if valid else _INVALID

    def _answer(self, status: HTTPStatus, values: dict[str, str]) -> None:
        body = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Write nothing to stderr; requests are told to the log."""
        _LOG.debug(format, *args)


def _file_of(kind: str, body: bytes) -> bytes | None:
    """Return the file in a request's body; None for a form without one."""
    if not kind.startswith("multipart/form-data"):
        return body
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    for part in message.iter_parts():
        if part.get_param("name", header="content-disposition") == "file":
            content = part.get_payload(decode=True)
            return content if isinstance(content, bytes) else None
    return None
