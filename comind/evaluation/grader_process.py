"""Start the grader process, and talk to it."""

import json
import os
import socket
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from comind.domain.metric import Paired
from comind.errors import GraderError
from comind.evaluation.report import NO_FOLDS, BlendReport, ErrorReport, Grader, GradeReport
from comind.evaluation.splits.extra_folds import make_fold
from comind.evaluation.splits.split_folder import SplitFolder
from comind.system.scratch import scratch_folder
from comind.system.supervised import SupervisedProcess, start_supervised

__all__ = ["GraderProcess"]

_START_SECONDS = 60.0
_ANSWER_SECONDS = 600.0
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV")


class _Asking(ABC):
    """Asks the process as every grader may be asked."""

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the verdict on a pair of submissions."""
        return GradeReport.model_validate(self._answer("grade", validation, test))

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Return the score of predictions for rows of train.csv."""
        return GradeReport.model_validate(self._answer("out_of_fold", predictions))

    def check(self, test: Path) -> GradeReport:
        """Return whether a test submission has the right form."""
        return GradeReport.model_validate(self._answer("check", test))

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better one validation submission is than another."""
        return Paired.model_validate(self._answer("compare", one, other))

    @abstractmethod
    def _answer(self, verb: str, *files: Path) -> dict[str, object]:
        """Return the answer to a request.

        Raises:
            GraderError: the process cannot be started, or fails on this request twice.
        """


class GraderProcess(_Asking):
    """One long-lived process that holds the labels of one split; safe to share between threads.

    It is started at the first grading and again whenever it is found dead; a grading is free of side
    effects, so asking again is always right.
    """

    def __init__(self, split: Path, log: Path) -> None:
        """Take the folder of the split and the file for what the process prints."""
        self._split = split
        self._log = log
        self._process: SupervisedProcess | None = None
        self._socket = Path()
        self._lock = threading.Lock()

    def fold(self, number: int) -> Grader:
        """Return who grades submissions for a fold of the split, which is made where it is not there.

        Raises:
            CompetitionError: there is no such fold.
        """
        make_fold(SplitFolder(self._split), number)
        return _FoldGrader(self, number)

    def blend(
        self, candidates: Sequence[Path], folds: Mapping[int, Sequence[Path]] = NO_FOLDS
    ) -> BlendReport:
        """Return the best average of candidates, given the best first."""
        for number in folds:
            make_fold(SplitFolder(self._split), number)
        more = (path for paths in folds.values() for path in paths)
        answer = self.request("blend", *candidates, *more, folds=list(folds))
        return BlendReport.model_validate(answer)

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return how far the errors of validation submissions go together."""
        return ErrorReport.model_validate(self.request("errors", *submissions))

    def request(self, verb: str, *files: Path, **more: object) -> dict[str, object]:
        """Return the answer to a request; a process that is gone is started once more.

        Raises:
            GraderError: the process cannot be started, or fails on this request twice.
        """
        request: dict[str, object] = {verb: [str(file.absolute()) for file in files], **more}
        try:
            answer = self._ask(self._address(), request)
        except (OSError, ValueError):
            self.stop()
            try:
                answer = self._ask(self._address(), request)
            except (OSError, ValueError) as error:
                raise GraderError(f"the grader does not answer ({error})") from None
        if "fault" in answer:
            raise GraderError(f"the grader failed: {answer['fault']}", hint=f"see {self._log}")
        return answer

    def _answer(self, verb: str, *files: Path) -> dict[str, object]:
        return self.request(verb, *files)

    def start(self) -> None:
        """Start the process now rather than at the first grading.

        Raises:
            GraderError: it does not start.
        """
        self._address()

    def stop(self) -> None:
        """End the process; it is started again when it is needed."""
        with self._lock:
            if self._process is not None:
                self._process.stop()
                self._process = None

    def _address(self) -> Path:
        with self._lock:
            if self._process is None or not self._process.alive():
                self._launch()
            return self._socket

    def _launch(self) -> None:
        # Unix socket paths end at 107 bytes, so the socket cannot lie in the campaign's folder.
        folder = scratch_folder("g")
        self._socket = folder / "s"
        module = "comind.evaluation.grading_server"
        self._process = start_supervised(
            [sys.executable, "-m", module, str(self._split.absolute()), str(self._socket)],
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            log=self._log,
            scratch=folder,
        )
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            try:
                self._ask(self._socket, {"ping": []})
            except (OSError, ValueError):
                if not self._process.alive():
                    break
                time.sleep(0.05)
            else:
                return
        self._process.stop()
        raise GraderError("the grader process did not start", hint=f"see {self._log}")

    @staticmethod
    def _ask(address: Path, request: dict[str, object]) -> dict[str, object]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect(str(address))
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as answers:
                answer = json.loads(answers.readline())
        if not isinstance(answer, dict):
            raise TypeError("the grader's answer is not an object")
        return answer


class _FoldGrader(_Asking):
    """Asks the process about one fold of its split."""

    def __init__(self, process: GraderProcess, number: int) -> None:
        self._process, self._number = process, number

    def _answer(self, verb: str, *files: Path) -> dict[str, object]:
        return self._process.request(verb, *files, fold=self._number)
