"""Serve grading requests in a process of its own, isolated from the code of agents.

    python -m comind.grading.grader_server SPLIT SOCKET

listens on a Unix socket. Requests and answers are JSON objects, one a line:

    {"grade": [VALIDATION, TEST]}     report with the score of the first, if both are valid
    {"out_of_fold": [PREDICTIONS]}    report with the score over the predicted rows of train.csv
    {"sample": [PREDICTIONS]}         report with the score of a step on the sample, without parts
    {"probabilities": [FILE, ...]}    report without a score on probabilities beside labels, by file name
    {"check": [TEST]}                 report without a score
    {"compare": [ONE, OTHER]}         paired comparison of two validation submissions
    {"blend": [BEST, ...]}            best weighted average of validation submissions, or why none
    {"errors": [ONE, OTHER, ...]}     correlations of the errors of validation submissions
    {"coded": [VALIDATION, TEST, ...]}  which steps of an attempt, oldest first, query labels
    {"ping": []}                      {}

`"fold": NUMBER` selects an existing fold of the split. With `"folds": [NUMBER, ...]`, "blend" lists each
candidate's submission for validation.csv, then those for each fold, then its files with out-of-fold
predictions, whose number is in `"others"`, then those that are kept beside labels, whose number is in
`"beside"`; `"seconds"` are those of each candidate's program, and
`"most_seconds"` those that the members may take. Labels are read once, those of folds on first use by a
worker; nothing is written.

Submissions are untrusted, so forked workers with limits answer: `{"unreadable": REASON}` where a
submission exceeds a limit or cannot be graded, and `{"fault": REASON}` where the split is at fault.
"""

import json
import logging
import math
import socketserver
import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np

from comind.domain.metric import Paired
from comind.domain.problem import TEST_PROBABILITIES, VALIDATION_PROBABILITIES
from comind.domain.value import Value
from comind.errors import CompetitionError, DiskError, GraderError, SubmissionError, UsageError
from comind.grading.blending.cross_fit import KeptBeside, OutOfFold
from comind.grading.blending.selection import Costs
from comind.grading.coded_submissions import find_coded
from comind.grading.grader_port import (
    BlendCandidate,
    BlendReport,
    CodedReport,
    ErrorReport,
    GradeReport,
)
from comind.grading.out_of_fold import OutOfFoldScorer
from comind.grading.probability_files import ProbabilityFiles
from comind.grading.score_breakdown import Blocks, blocks_of, break_down
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers, select_blend
from comind.metrics import Metric
from comind.splits.extra_folds import fold_folder
from comind.splits.split_folder import Split, SplitFolder
from comind.system.forked_workers import ForkedWorkers, Limits, RequestFailedError
from comind.system.hardware import usable_memory
from comind.tables.csv_tables import read_table

_CPU_SECONDS = 600  # for each file of a request, as a comparison reads what two gradings read
_SECONDS = 3600.0
_MEMORY_SHARE = 2  # a request may use half of the machine's memory

_log = logging.getLogger(__name__)


class SplitGrader:
    """Grades submissions for one split in the current process; it reads the labels."""

    def __init__(
        self, folder: SplitFolder, metric_of: Callable[[SplitFolder], Metric | None] | None = None
    ) -> None:
        """Read the labels of the split; `metric_of` returns its metric, without it the recorded one.

        Raises:
            CompetitionError: a file of the split is missing or invalid.
        """
        split = folder.read()
        self._metric_of = metric_of or SplitFolder.read_metric
        metric = self._metric_of(folder)
        assert metric is not None, "a generated evaluator has a grader of its own"
        self._folder, self._metric = folder, metric
        self._folds: dict[int, SplitGrader] = {}
        breakdown = None if metric.by_program else partial(break_down, blocks=_blocks(folder, split))
        self._validation = Answers.of_validation(folder, metric, breakdown)
        self._test = SubmissionSchema.for_test(folder)

    @cached_property
    def _train(self) -> OutOfFoldScorer:
        """The labels of train.csv; loaded on first use, as few requests need them."""
        return OutOfFoldScorer(self._folder, self._metric)

    @cached_property
    def _probability_files(self) -> ProbabilityFiles:
        """The reader of probabilities; created on first use, as it reads train.csv."""
        return ProbabilityFiles.of(self._folder, self._metric)

    def grade(self, validation: Path, test: Path) -> GradeReport:
        """Score a validation submission and check the test submission of the same step."""
        report = self._score(validation)
        if not report.valid:
            return report
        schema = self._test.check(test)
        if not schema.valid:
            return GradeReport(valid=False, message=f"{test.name}: {schema.message}")
        return report

    def sample(self, predictions: Path) -> GradeReport:
        """Score predictions of a step on the sample."""
        return self._score(predictions).model_copy(update={"parts": ()})

    def _score(self, predictions: Path) -> GradeReport:
        report = self._validation.grade(predictions)
        if not report.valid:
            return GradeReport(valid=False, message=f"{predictions.name}: {report.message}")
        return report

    def out_of_fold(self, predictions: Path) -> GradeReport:
        """Score predictions for rows of train.csv, over the predicted rows."""
        try:
            return self._train.score(predictions)
        except CompetitionError as error:
            return GradeReport(valid=False, message=str(error))

    def probabilities(self, files: Sequence[Path]) -> GradeReport:
        """Check the probabilities beside labels of one step, in files of their usual names."""
        rows = {
            VALIDATION_PROBABILITIES: self._validation.schema.keys,
            TEST_PROBABILITIES: self._test.keys,
        }
        try:
            for file in files:
                if file.name in rows:
                    self._probability_files.read(file, rows[file.name])
                else:
                    self._probability_files.read_out_of_fold(file, self._train.keys)
        except (SubmissionError, CompetitionError) as error:
            return GradeReport(valid=False, message=str(error))
        missing = [name for name in rows if all(file.name != name for file in files)]
        if missing:
            return GradeReport(valid=False, message=f"{missing[0]} was not written with them")
        return GradeReport(valid=True)

    def check(self, test: Path) -> GradeReport:
        """Validate a test submission without scoring it."""
        return self._test.check(test)

    def compare(self, one: Path, other: Path) -> Paired:
        """Compare two validation submissions; positive if the first one is better."""
        return self._validation.compare(one, other)

    def fold(self, number: int) -> "SplitGrader":
        """Return the grader of an existing fold; 0 is the split itself.

        Raises:
            CompetitionError: there is no such fold.
        """
        if number == 0:
            return self
        if number not in self._folds:
            self._folds[number] = SplitGrader(fold_folder(self._folder, number), self._metric_of)
        return self._folds[number]

    def blend(
        self,
        candidates: Sequence[BlendCandidate],
        folds: Sequence[int] = (),
        most_seconds: float = math.inf,
    ) -> BlendReport:
        """Select the best weighted average of candidates, given best first, or learn a stack of them."""
        sheets = [self._validation, *(self.fold(number)._validation for number in folds)]  # noqa: SLF001 - ours
        files = zip(*((each.validation, *each.folds) for each in candidates), strict=True)
        others = [each.out_of_fold for each in candidates]
        rows = None if self._metric.by_program or not any(others) else self._train.together(others)
        beside = None
        if any(each.beside for each in candidates) and not folds:
            beside, rows = self._beside(candidates, rows)
        costs = Costs([each.seconds for each in candidates], most_seconds)
        return select_blend([*zip(sheets, files, strict=True)], rows, beside, costs)

    def _beside(
        self, candidates: Sequence[BlendCandidate], rows: OutOfFold | None
    ) -> tuple[KeptBeside, OutOfFold | None]:
        """Return what candidates keep beside labels, and the out-of-fold rows with theirs."""
        reader, keys = self._probability_files, self._validation.schema.keys
        tables, others = {}, {}
        for number, each in enumerate(candidates):
            if each.beside:
                tables[number] = reader.read(each.beside[0], keys)
            if rows is not None and rows.rows is not None and each.beside[1:]:
                places, table = reader.read_out_of_fold(each.beside[1], self._train.keys)
                if np.isin(rows.rows, places).all():
                    others[number] = table.set_index(places).loc[rows.rows].reset_index(drop=True)
        classes = reader.spelling is not None
        labels = reader.columns if classes else self._train.numbers
        kept = KeptBeside("probability" if classes else "number", labels, tables)
        return kept, rows if rows is None else rows._replace(beside=others)

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return the pairwise correlations of the errors of validation submissions."""
        return self._validation.errors(submissions)

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:
        """Return which scored steps look like queries of labels."""
        validation, test = self._validation.schema, self._test
        read = [(validation.read(one), test.read(other)) for one, other in steps]
        reasons = find_coded(self._validation.metric, self._validation.truth, read)
        return CodedReport(reasons=reasons)


def _blocks(folder: SplitFolder, split: Split) -> Blocks | None:
    """Return the blocks of the validation rows, in the order of the answers."""
    if split.rule.column is None:
        return None
    return blocks_of(split, read_table(folder.public / "validation.csv", CompetitionError))


def _blend(
    grader: SplitGrader,
    *files: Path,
    folds: Sequence[int],
    others: Sequence[int],
    beside: Sequence[int],
    seconds: Sequence[float],
    most_seconds: float | None,
) -> BlendReport:
    following = iter(files)
    candidates = [
        BlendCandidate(
            next(following),
            tuple(islice(following, len(folds))),
            tuple(islice(following, count)),
            tuple(islice(following, kept)),
            took,
        )
        for count, kept, took in zip(others, beside, seconds, strict=True)
    ]
    return grader.blend(candidates, folds, math.inf if most_seconds is None else most_seconds)


_VERBS: dict[str, Callable[..., Value]] = {
    "grade": lambda grader, *files: grader.grade(*files),
    "out_of_fold": lambda grader, *files: grader.out_of_fold(*files),
    "sample": lambda grader, *files: grader.sample(*files),
    "probabilities": lambda grader, *files: grader.probabilities(files),
    "check": lambda grader, *files: grader.check(*files),
    "compare": lambda grader, *files: grader.compare(*files),
    "blend": _blend,
    "errors": lambda grader, *files: grader.errors(files),
    "coded": lambda grader, *files: grader.coded([*zip(files[::2], files[1::2], strict=True)]),
}
"""What answers the requests of these names, given a `SplitGrader` and files."""
_OF_BLENDS = ("folds", "others", "beside", "seconds", "most_seconds")


class _Handler(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(self._answer(line.rstrip(b"\n")) + b"\n")

    def _answer(self, line: bytes) -> bytes:
        request = json.loads(line)
        if "ping" in request:
            return b"{}"
        files = sum(len(request.get(verb, ())) for verb in _VERBS)
        try:
            return self.server.workers.request(line, share=files)
        except RequestFailedError as error:
            return _json({"unreadable": f"grading {error}"})


def _grade(grader: SplitGrader, line: bytes) -> bytes:
    """Return the answer to a request, in a worker."""
    try:
        request = json.loads(line)
        grader = grader.fold(request.get("fold", 0))
        more = {name: request[name] for name in _OF_BLENDS if name in request}
        [(verb, names)] = ((each, request[each]) for each in _VERBS if each in request)
        answer = _VERBS[verb](grader, *map(Path, names), **more)
        return answer.model_dump_json().encode()
    except (CompetitionError, DiskError) as error:
        return _json({"fault": str(error)})
    except SubmissionError as error:
        return _json({"unreadable": str(error)})
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a submission causes; its text may show labels
        _log.exception("grading failed")
        return _json({"unreadable": f"grading failed ({type(error).__name__})"})


def _json(answer: dict[str, str]) -> bytes:
    return json.dumps(answer).encode()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, socket: Path, grader: SplitGrader) -> None:
        super().__init__(str(socket), _Handler)
        limits = Limits(_CPU_SECONDS, _SECONDS, usable_memory() // _MEMORY_SHARE)
        self.workers = ForkedWorkers(partial(_grade, grader), limits)


def main() -> None:
    """Serve requests until the process is terminated."""
    split, socket = map(Path, sys.argv[1:3])
    try:
        grader = SplitGrader(SplitFolder(split))
    except UsageError as error:
        raise SystemExit(str(GraderError(f"cannot grade {split.name}: {error}"))) from None
    with _Server(socket, grader) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
