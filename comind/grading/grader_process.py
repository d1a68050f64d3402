"""Start the grader process and send requests to it; the client of `grader_server`."""

import json
import logging
import math
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from comind.domain.metric import Paired
from comind.errors import GraderError, SubmissionError
from comind.grading.grader_port import (
    BlendCandidate,
    BlendReport,
    CodedReport,
    ErrorReport,
    Grader,
    GradeReport,
)
from comind.splits.extra_folds import make_fold
from comind.splits.split_folder import SplitFolder
from comind.system.child_environment import child_environment
from comind.system.supervised import SupervisedProcess, start_supervised
from comind.system.temporary_folders import make_scratch_folder

_log = logging.getLogger(__name__)
_START_SECONDS = 60.0
_PING_SECONDS = 60.0  # after so long without an answer, the process has to answer a ping
_CHUNK = 1 << 16


class _FoldGrader:
    """Grades submissions for one fold by requests to the grader process."""

    def __init__(self, request: Callable[..., dict[str, object]], fold: int) -> None:
        self._request, self._fold = request, fold

    def grade(self, validation: Path, test: Path) -> GradeReport:
        return _graded(self._request("grade", validation, test, fold=self._fold))

    def out_of_fold(self, predictions: Path) -> GradeReport:
        return _graded(self._request("out_of_fold", predictions, fold=self._fold))

    def sample(self, predictions: Path) -> GradeReport:
        return _graded(self._request("sample", predictions, fold=self._fold))

    def probabilities(self, files: Sequence[Path]) -> GradeReport:
        return _graded(self._request("probabilities", *files, fold=self._fold))

    def check(self, test: Path) -> GradeReport:
        return _graded(self._request("check", test, fold=self._fold))

    def compare(self, one: Path, other: Path) -> Paired:
        answer = self._request("compare", one, other, fold=self._fold)
        if why := answer.get("unreadable"):
            raise SubmissionError(f"{one.name} and {other.name}: {why}")
        return Paired.model_validate(answer)


class GraderProcess(_FoldGrader):
    """A long-lived process that holds the labels of one split; thread-safe.

    It is started on the first request and restarted when it has exited. Requests are idempotent, so a
    failed one is retried once.
    """

    def __init__(self, split: Path, log: Path) -> None:
        """Set the folder of the split and the log file for the output of the process."""
        super().__init__(self.request, 0)
        self._split = split
        self._log = log
        self._process: SupervisedProcess | None = None
        self._socket = Path()
        self._lock = threading.Lock()

    def fold(self, number: int) -> Grader:
        """Return the grader of a fold, which is created if it does not exist.

        Raises:
            CompetitionError: the split does not allow this fold.
        """
        make_fold(SplitFolder(self._split), number)
        return _FoldGrader(self.request, number)

    def blend(
        self,
        candidates: Sequence[BlendCandidate],
        folds: Sequence[int] = (),
        most_seconds: float = math.inf,
    ) -> BlendReport:
        """Select the best weighted average of candidates, given best first, or learn a stack of them."""
        for number in folds:
            make_fold(SplitFolder(self._split), number)
        files = (
            path
            for each in candidates
            for path in (each.validation, *each.folds, *each.out_of_fold, *each.beside)
        )
        answer = self.request(
            "blend",
            *files,
            folds=list(folds),
            others=[len(each.out_of_fold) for each in candidates],
            beside=[len(each.beside) for each in candidates],
            seconds=[each.seconds for each in candidates],
            most_seconds=None if math.isinf(most_seconds) else most_seconds,
        )
        if why := answer.get("unreadable"):
            return BlendReport(reason=str(why))
        return BlendReport.model_validate(answer)

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return the pairwise correlations of the errors of validation submissions."""
        answer = self.request("errors", *submissions)
        if why := answer.get("unreadable"):
            return ErrorReport(reason=str(why))
        return ErrorReport.model_validate(answer)

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:
        """Return which scored steps of an attempt, oldest first, look like queries of labels."""
        answer = self.request("coded", *(file for step in steps for file in step))
        return CodedReport() if "unreadable" in answer else CodedReport.model_validate(answer)

    def request(self, verb: str, *files: Path, **more: object) -> dict[str, object]:
        """Send a request; if the process does not answer, restart it and retry once.

        The answer is `{"unreadable": REASON}` if the process cannot answer for these files.

        Raises:
            GraderError: the process does not start or fails.
        """
        request: dict[str, object] = {verb: [str(file.absolute()) for file in files], **more}
        for _ in range(2):
            address = self.start()
            try:
                answer = self._send(address, request)
                break
            except (OSError, ValueError) as error:
                self._stop(address)
                why = str(error)
                _log.warning("the grader of %s is started again: %s", self._split.name, why)
        else:
            self.start()  # a process that answers pings is not at fault
            return {"unreadable": f"the grader ended twice while it read it ({why})"}
        if "fault" in answer:
            raise GraderError(f"the grader failed: {answer['fault']}", hint=f"see {self._log}")
        return answer

    def start(self) -> Path:
        """Start the process unless it runs, and return its socket; a request does so by itself.

        Raises:
            GraderError: the process does not start within 60 seconds.
        """
        with self._lock:
            if self._process is None or not self._process.alive():
                self._start()
            return self._socket

    def stop(self) -> None:
        """Stop the process; the next request restarts it."""
        with self._lock:
            if self._process is not None:
                self._process.stop()
                self._process = None

    def _stop(self, address: Path) -> None:
        """Stop the process at an address, unless another thread has replaced it."""
        with self._lock:
            if self._process is not None and self._socket == address:
                self._process.stop()
                self._process = None

    def _start(self) -> None:
        # Unix socket paths are limited to 107 bytes; campaign folders can be longer.
        folder = make_scratch_folder("g")
        self._socket = folder / "s"
        module = "comind.grading.grader_server"
        self._process = start_supervised(
            [sys.executable, "-P", "-m", module, str(self._split.absolute()), str(self._socket)],
            env=child_environment(),
            log=self._log,
            scratch=folder,
        )
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            try:
                self._ping(self._socket)
            except (OSError, ValueError):
                if not self._process.alive():
                    break
                time.sleep(0.05)
            else:
                _log.info("the grader of %s has started", self._split.name)
                return
        self._process.stop()
        raise GraderError("the grader process did not start", hint=f"see {self._log}")

    @classmethod
    def _send(cls, address: Path, request: dict[str, object]) -> dict[str, object]:
        """Return the answer to a request, for which the process may take long while it answers pings."""
        with _connection(address, request) as connection:
            answer = b""
            while not answer.endswith(b"\n"):
                try:
                    part = connection.recv(_CHUNK)
                except TimeoutError:
                    cls._ping(address)
                    continue
                if not part:
                    raise ConnectionError("it ended")
                answer += part
        found = json.loads(answer)
        if not isinstance(found, dict):
            raise TypeError("the grader's answer is not an object")
        return found

    @staticmethod
    def _ping(address: Path) -> None:
        """Raise an OSError unless the process answers."""
        with _connection(address, {"ping": []}) as connection:
            if not connection.recv(_CHUNK):
                raise ConnectionError("it ended")


def _connection(address: Path, request: dict[str, object]) -> socket.socket:
    """Send a request, and return the connection for its answer.

    Raises:
        OSError: the process does not accept it.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_PING_SECONDS)
        connection.connect(str(address))
        connection.sendall(json.dumps(request).encode() + b"\n")
    except OSError:
        connection.close()
        raise
    return connection


def _graded(answer: dict[str, object]) -> GradeReport:
    if why := answer.get("unreadable"):
        return GradeReport(valid=False, message=str(why))
    return GradeReport.model_validate(answer)
