"""Grade submissions to the competitions of the catalog."""

from pathlib import Path

import numpy as np

from comind.competitions.submission_table import one_row_per_id
from comind.domain.value import Value
from comind.errors import CompetitionError, SubmissionError
from comind.grading.submission_schema import SubmissionSchema
from comind.grading.true_answers import Answers
from comind.metrics import Metric
from comind.metrics.parsing import parse_columns
from comind.mlebench.catalog import BenchmarkCompetition, Difference, Mode
from comind.mlebench.grading_rules import GradingRules
from comind.mlebench.ground_truth import read_answers
from comind.tables.csv_tables import read_table

_PLACES = 5  # as MLE-bench reports scores


class BenchmarkGrade(Value):
    """The result of grading a submission: a score, or a one-line reason why it is invalid."""

    metric: str
    score: float | None = None
    """In units of the metric, not rounded."""
    message: str = ""

    @property
    def valid(self) -> bool:
        """Whether there is a score."""
        return self.score is not None

    @property
    def rounded(self) -> float | None:
        """The score as MLE-bench reports it."""
        return None if self.score is None else round(self.score, _PLACES)


class BenchmarkAnswers:
    """Grades submissions to one competition; the true answers are read once."""

    def __init__(self, entry: BenchmarkCompetition, path: Path) -> None:
        """Read the file of the answers.

        Raises:
            CompetitionError: the file is missing or has another format.
        """
        self.entry = entry
        self._path = path
        self._truth = read_answers(entry, path)
        self._targets = entry.target_columns(self._truth.columns)

    def grade(self, submission: Path, mode: Mode = Mode.KAGGLE) -> BenchmarkGrade:
        """Grade a submission; an invalid one gets a message instead of a score.

        Raises:
            CompetitionError: the metric cannot parse the answers.
        """
        metric = self.entry.metric_in(mode)
        try:
            value = self._score(submission, metric, mode)
        except (SubmissionError, ValueError) as error:
            reason = str(error).removeprefix(f"{submission}: ")
            return BenchmarkGrade(metric=metric.name, message=reason)
        return BenchmarkGrade(metric=metric.name, score=value)

    def _score(self, submission: Path, metric: Metric, mode: Mode) -> float:
        rules = GradingRules(self.entry, self._targets, mode)
        table, all_truth = (
            one_row_per_id(each, self.entry.ids, self._targets, metric)
            for each in (read_table(submission, SubmissionError), self._truth)
        )
        truth, table = rules.pair_rows(all_truth, table)
        table = rules.check_text(all_truth, table)
        prediction = parse_columns(metric.parse, table, self._targets, SubmissionError)
        prediction = rules.check_values(truth, prediction)
        if Difference.IN_ORDER in rules.differences:
            for name, column in self.entry.context.items():
                if column in self.entry.ids:  # metrics that group predictions by their ids
                    prediction[name] = table[column]
        known = [name for name in self._targets if name in truth.columns]  # a confidence has no truth
        context = {name: truth[self.entry.context[name]] for name in metric.context}
        schema = SubmissionSchema(truth, self.entry.ids, known, metric)
        try:
            value = Answers(schema, truth.assign(**context)).value(prediction)
        except CompetitionError as error:
            raise CompetitionError(f"{self._path}: {error}") from None
        return float(np.round(value)) if Difference.ROUNDED in rules.differences else value
