"""Start the grader process and send requests to it; the client of `grader_server`."""

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from comind.domain.metric import Paired
from comind.errors import GraderError
from comind.evaluation.grader_port import NO_FOLDS, BlendReport, ErrorReport, Grader, GradeReport
from comind.evaluation.splits.extra_folds import make_fold
from comind.evaluation.splits.split_folder import SplitFolder
from comind.system.supervised import SupervisedProcess, start_supervised
from comind.system.temporary_folders import make_scratch_folder

__all__ = ["GraderProcess"]

_START_SECONDS = 60.0
_ANSWER_SECONDS = 600.0
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV")


class _FoldGrader:
    """Grades submissions for one fold by requests to the grader process."""

    def __init__(self, request: Callable[..., dict[str, object]], fold: int) -> None:
        self._request, self._fold = request, fold

    def grade(self, validation: Path, test: Path) -> GradeReport:
        return GradeReport.model_validate(self._request("grade", validation, test, fold=self._fold))

    def out_of_fold(self, predictions: Path) -> GradeReport:
        return GradeReport.model_validate(self._request("out_of_fold", predictions, fold=self._fold))

    def check(self, test: Path) -> GradeReport:
        return GradeReport.model_validate(self._request("check", test, fold=self._fold))

    def compare(self, one: Path, other: Path) -> Paired:
        return Paired.model_validate(self._request("compare", one, other, fold=self._fold))


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
        self, candidates: Sequence[Path], folds: Mapping[int, Sequence[Path]] = NO_FOLDS
    ) -> BlendReport:
        """Select the best weighted average of candidates, given best first."""
        for number in folds:
            make_fold(SplitFolder(self._split), number)
        more = (path for paths in folds.values() for path in paths)
        answer = self.request("blend", *candidates, *more, folds=list(folds))
        return BlendReport.model_validate(answer)

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return the pairwise correlations of the errors of validation submissions."""
        return ErrorReport.model_validate(self.request("errors", *submissions))

    def request(self, verb: str, *files: Path, **more: object) -> dict[str, object]:
        """Send a request; if the process does not answer, restart it and retry once.

        Raises:
            GraderError: the process does not start, fails, or does not answer twice.
        """
        request: dict[str, object] = {verb: [str(file.absolute()) for file in files], **more}
        try:
            answer = self._send(self.start(), request)
        except (OSError, ValueError):
            self.stop()
            try:
                answer = self._send(self.start(), request)
            except (OSError, ValueError) as error:
                raise GraderError(f"the grader does not answer ({error})") from None
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

    def _start(self) -> None:
        # Unix socket paths are limited to 107 bytes; campaign folders can be longer.
        folder = make_scratch_folder("g")
        self._socket = folder / "s"
        module = "comind.evaluation.grader_server"
        self._process = start_supervised(
            [sys.executable, "-m", module, str(self._split.absolute()), str(self._socket)],
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            log=self._log,
            scratch=folder,
        )
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            try:
                self._send(self._socket, {"ping": []})
            except (OSError, ValueError):
                if not self._process.alive():
                    break
                time.sleep(0.05)
            else:
                return
        self._process.stop()
        raise GraderError("the grader process did not start", hint=f"see {self._log}")

    @staticmethod
    def _send(address: Path, request: dict[str, object]) -> dict[str, object]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(str(address))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as answers:
                answer = json.loads(answers.readline())
        if not isinstance(answer, dict):
            raise TypeError("the grader's answer is not an object")
        return answer
