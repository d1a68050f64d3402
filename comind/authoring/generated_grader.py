"""Score submissions with a generated `evaluate.py` that is sealed with the split."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from comind.authoring.metric_checks import ScriptReport
from comind.authoring.script_runs import EVALUATE, ScriptEvaluation
from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind
from comind.errors import SubmissionError
from comind.grading.grader_port import BlendCandidate, BlendReport, CodedReport, ErrorReport
from comind.grading.grader_server import SplitGrader
from comind.metrics import Metric
from comind.metrics.metric_types import Statistic
from comind.metrics.parsing import parse_non_empty
from comind.session.session_ports import Sandbox
from comind.splits.extra_folds import make_fold
from comind.splits.split_folder import SplitFolder


class _Runs:
    """Scores of a program; no pair of files that has one is scored again."""

    def __init__(self, evaluate: ScriptEvaluation) -> None:
        self._evaluate = evaluate
        self._known: dict[bytes, ScriptReport] = {}

    def __call__(self, pairs: Sequence[tuple[bytes, bytes]]) -> list[ScriptReport]:
        keys = [hashlib.sha256(b"\0".join(pair)).digest() for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._known}
        reports = (
            dict(zip(new, self._evaluate(*zip(*new.values(), strict=True)), strict=True)) if new else {}
        )
        self._known |= {key: each for key, each in reports.items() if each.score is not None}
        return [self._known.get(key) or reports[key] for key in keys]


@dataclass(frozen=True, slots=True)
class ProgramMetric(Metric):
    """A metric that is a program; each scoring runs it in a fresh sandbox, on the files of this one.

    The truth has the ids as further columns; cells are text as in the files, or numbers of a blend.
    """

    runs: _Runs
    _: KW_ONLY
    by_program: bool = True

    @classmethod
    def of_split(cls, sandbox: Sandbox, folder: SplitFolder) -> "ProgramMetric":
        """Return the metric of a split with a generated evaluator.

        Raises:
            CompetitionError: the split is incomplete.
        """
        split = folder.read()
        program = (folder.programs / EVALUATE).read_text(encoding="utf-8")
        return cls(
            split.metric,
            f"the sealed {EVALUATE}",
            _Runs(ScriptEvaluation(sandbox, program, folder.public)),
            maximize=split.maximize,
            answer_kind=split.answer_kind,
            parse=parse_non_empty,
            truth_parser=lambda column: column,
            context=split.id_columns,
            traits=MetricTraits(means=("vote" if split.answer_kind is AnswerKind.LABEL else "mean",)),
        )

    def statistic(self, truth: pd.DataFrame, prediction: pd.DataFrame) -> Statistic:
        """Return a function of row positions, each once, that runs the program.

        Raises:
            ValueError: from this function: the program has no score for them.
        """

        def statistic(draw: np.ndarray) -> float:
            [report] = self._reports(truth.iloc[draw], [prediction.iloc[draw]])
            if report.score is None or not report.success:
                raise ValueError(report.message or "the evaluator gives no score and no reason")
            return report.score

        return statistic

    def score_draws(
        self, truth: pd.DataFrame, prediction: pd.DataFrame, draws: Iterable[np.ndarray]
    ) -> np.ndarray:
        """Return the value over each draw, as many as there is time for; NaN where there is none."""
        pairs = [
            (self._file(truth, truth.iloc[draw]), self._file(truth, prediction.iloc[draw]))
            for draw in draws
        ]
        return _values(self.runs(pairs))

    def score_all(self, truth: pd.DataFrame, predictions: Sequence[pd.DataFrame]) -> np.ndarray:
        """Return the value of each prediction over all rows, side by side; NaN where there is none."""
        return _values(self._reports(truth, predictions))

    def _reports(self, truth: pd.DataFrame, predictions: Sequence[pd.DataFrame]) -> list[ScriptReport]:
        written = self._file(truth, truth)
        return self.runs([(written, self._file(truth, each)) for each in predictions])

    def _file(self, truth: pd.DataFrame, table: pd.DataFrame) -> bytes:
        """Return the CSV of a table's targets with the ids of its rows."""
        targets = [name for name in table.columns if name not in self.context]
        ids = truth.loc[table.index, list(self.context)]
        whole = pd.concat([ids, table[targets]], axis="columns")
        return whole.to_csv(index=False, lineterminator="\n").encode()


def _values(reports: Sequence[ScriptReport]) -> np.ndarray:
    return np.array([math.nan if each.score is None else each.score for each in reports], dtype=float)


class GeneratedGrader(SplitGrader):
    """A grader for splits whose metric is a program, which sees sealed labels in its sandbox alone."""

    def __init__(self, folder: SplitFolder, sandbox: Sandbox) -> None:
        """Read the split.

        Raises:
            CompetitionError: the split is incomplete.
        """
        super().__init__(folder, partial(ProgramMetric.of_split, sandbox))

    def fold(self, number: int) -> SplitGrader:
        """Return the grader of a fold, which is made if it does not exist.

        Raises:
            CompetitionError: the split does not allow this fold.
        """
        if number:
            make_fold(self._folder, number)
        return super().fold(number)

    def blend(
        self,
        candidates: Sequence[BlendCandidate],
        folds: Sequence[int] = (),
        most_seconds: float = math.inf,
    ) -> BlendReport:
        """Select the best weighted average of candidates, given best first."""
        try:
            return super().blend(candidates, folds, most_seconds)
        except SubmissionError as error:
            return BlendReport(reason=str(error))

    def errors(self, submissions: Sequence[Path]) -> ErrorReport:
        """Return the pairwise correlations of errors of labels or numbers; the program is not run."""
        try:
            return super().errors(submissions)
        except SubmissionError as error:
            return ErrorReport(reason=str(error))

    def coded(self, steps: Sequence[tuple[Path, Path]]) -> CodedReport:  # noqa: ARG002 - of a grader
        """Return no reasons: the program scores no single rows."""
        return CodedReport()
