"""The grader process: alone with the labels, apart from everything that runs an agent's code.

    python -m comind.evaluation.grading_server SPLIT SOCKET

answers requests on a Unix socket, one JSON object a line: `{"validation": PATH, "test": PATH}` is
answered with a fresh report, `{"ping": true}` with `{"pong": true}`. Labels are read once, at the
start; nothing is ever written.
"""

import json
import logging
import socketserver
import sys
from pathlib import Path

from comind.errors import CompetitionError, GraderError
from comind.evaluation.grading import AnswerSheet, SubmissionForm
from comind.evaluation.metrics import METRICS
from comind.evaluation.report import GradeReport
from comind.evaluation.splitting import SplitFolder
from comind.evaluation.tables import read_table

__all__ = ["SplitGrader", "main"]

_log = logging.getLogger(__name__)


class SplitGrader:
    """Grades submissions for one split; a `Grader` for whoever may read the labels."""

    def __init__(self, folder: SplitFolder) -> None:
        """Read the labels of the split.

        Raises:
            CompetitionError: the split is not whole.
        """
        split = folder.read()
        metric = METRICS[split.metric]
        answers = read_table(folder.answers, CompetitionError)
        form = SubmissionForm(answers, split.id_columns, split.target_columns, metric)
        self._validation = AnswerSheet(form, answers)
        asked = read_table(folder.public / "test.csv", CompetitionError)
        self._test = SubmissionForm(asked, split.id_columns, split.target_columns, metric)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the verdict on a pair of submissions from one step."""
        report = self._validation.grade(validation)
        if not report.valid:
            return GradeReport(valid=False, message=f"{validation.name}: {report.message}")
        form = self._test.check(test)
        if not form.valid:
            return GradeReport(valid=False, message=f"{test.name}: {form.message}")
        return report


class _Handler(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(self._answer(line).encode() + b"\n")

    def _answer(self, line: bytes) -> str:
        try:
            request = json.loads(line)
            if request.get("ping"):
                return '{"pong": true}'
            report = self.server.grader.grade(Path(request["validation"]), Path(request["test"]))
        except Exception as error:  # noqa: BLE001 - see below
            # The grader must outlive anything that is handed in; the fault is ours and is told as such.
            _log.exception("grading failed")
            return json.dumps({"fault": f"{type(error).__name__}: {error}"})
        return report.model_dump_json()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, socket: Path, grader: SplitGrader) -> None:
        super().__init__(str(socket), _Handler)
        self.grader = grader


def main() -> None:
    """Serve until the process is ended."""
    split, socket = map(Path, sys.argv[1:3])
    try:
        grader = SplitGrader(SplitFolder(split))
    except (CompetitionError, KeyError) as error:
        raise SystemExit(str(GraderError(f"cannot grade {split.name}: {error}"))) from None
    with _Server(socket, grader) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
