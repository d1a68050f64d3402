"""The grader process: alone with the labels, apart from everything that runs an agent's code.

    python -m comind.evaluation.grading_server SPLIT SOCKET

answers requests on a Unix socket, one JSON object a line, each with an answer that is made for it:

    {"grade": [VALIDATION, TEST]}     a report with the score of the first, if both have the right form
    {"out_of_fold": [PREDICTIONS]}    a report with the score over the rows of train.csv that are there
    {"check": [TEST]}                 a report without a score
    {"compare": [ONE, OTHER]}         how much better one validation submission is than another
    {"blend": [BEST, ...]}            the best average of validation submissions, if it is worth having
    {"errors": [ONE, OTHER, ...]}     how far the errors of validation submissions go together
    {"ping": []}                      {}

With `"fold": NUMBER` beside it, a request is about that fold of the split, which has been made. With
`"folds": [NUMBER, ...]`, "blend" names each candidate's submission for validation.csv, then those for
each fold, in the same order. Labels are read once, those of folds when they are first asked for; nothing
is ever written.
"""

import json
import logging
import socketserver
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from comind.domain.metric import Paired
from comind.domain.value import Value
from comind.errors import CompetitionError, GraderError
from comind.evaluation.forms import test_form
from comind.evaluation.grading import AnswerSheet, SubmissionForm, blend_over
from comind.evaluation.metrics import known_metric
from comind.evaluation.out_of_fold import TrainAnswers
from comind.evaluation.report import BlendReport, ErrorReport, GradeReport
from comind.evaluation.score_breakdown import Blocks, Breakdown
from comind.evaluation.splits.blocks import blocks_of
from comind.evaluation.splits.extra_folds import fold_folder
from comind.evaluation.splits.split_folder import Split, SplitFolder
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
        self._folder, self._metric = folder, known_metric(split.metric)
        self._folds: dict[int, SplitGrader] = {}
        answers = read_table(folder.answers, CompetitionError)
        form = SubmissionForm(answers, split.id_columns, split.target_columns, self._metric)
        groups = None
        if folder.groups.is_file():
            groups = read_table(folder.groups, CompetitionError)["group"].to_numpy()
        self._validation = AnswerSheet(form, answers, groups, Breakdown(_blocks(folder, split)))
        self._test = test_form(folder)

    @cached_property
    def _train(self) -> TrainAnswers:
        """Read when it is first asked for: hardly anything else needs so many rows."""
        return TrainAnswers(self._folder, self._metric)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Return the verdict on a pair of submissions from one step."""
        report = self._validation.grade(validation)
        if not report.valid:
            return GradeReport(valid=False, message=f"{validation.name}: {report.message}")
        form = self._test.check(test)
        if not form.valid:
            return GradeReport(valid=False, message=f"{test.name}: {form.message}")
        return report

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Return the score of predictions for rows of train.csv, over the rows that are there."""
        try:
            return self._train.grade(predictions)
        except CompetitionError as error:
            return GradeReport(valid=False, message=str(error))

    def check(self, test: Path) -> GradeReport:
        """Return whether a test submission has the right form."""
        return self._test.check(test)

    def compare(self, one: Path, other: Path) -> Paired:
        """Return how much better one validation submission is than another."""
        return self._validation.compare(one, other)

    def fold(self, number: int) -> "SplitGrader":
        """Return the grader of a fold that has been made; 0 is the split itself.

        Raises:
            CompetitionError: there is no such fold.
        """
        if number == 0:
            return self
        if number not in self._folds:  # two threads may both read it: the same labels
            self._folds[number] = SplitGrader(fold_folder(self._folder, number))
        return self._folds[number]

    def blend(self, *submissions: Path, folds: Sequence[int] = ()) -> BlendReport:
        """Return the best average of candidates, given the best first.

        `submissions` are those of all candidates for validation.csv, then those for each of `folds`.
        """
        sheets = [self._validation, *(self.fold(number)._validation for number in folds)]  # noqa: SLF001 - ours
        count = len(submissions) // len(sheets)
        return blend_over(
            [(sheet, submissions[number * count :][:count]) for number, sheet in enumerate(sheets)]
        )

    def errors(self, *submissions: Path) -> ErrorReport:
        """Return how far the errors of validation submissions go together."""
        return self._validation.errors(submissions)


def _blocks(folder: SplitFolder, split: Split) -> Blocks | None:
    """Return the blocks of the validation rows, which stand in the order of the answers."""
    if split.rule.column is None:
        return None
    return blocks_of(split, read_table(folder.public / "validation.csv", CompetitionError))


_VERBS: dict[str, Callable[..., Value]] = {
    "grade": SplitGrader.grade,
    "out_of_fold": SplitGrader.out_of_fold,
    "check": SplitGrader.check,
    "compare": SplitGrader.compare,
    "blend": SplitGrader.blend,
    "errors": SplitGrader.errors,
}


class _Handler(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(self._answer(line).encode() + b"\n")

    def _answer(self, line: bytes) -> str:
        try:
            request = json.loads(line)
            grader = self.server.grader.fold(request.pop("fold", 0))
            more = {name: request.pop(name) for name in ("folds",) if name in request}
            [(verb, names)] = request.items()
            if verb == "ping":
                return "{}"
            answer: Value = _VERBS[verb](grader, *map(Path, names), **more)
        except Exception as error:  # noqa: BLE001 - see below
            # The grader must outlive anything that is handed in; the fault is ours and is told as such.
            _log.exception("grading failed")
            return json.dumps({"fault": f"{type(error).__name__}: {error}"})
        return answer.model_dump_json()


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
