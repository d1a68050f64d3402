"""Read the true answers of a past competition, for all that grade submissions to it."""

from typing import NamedTuple

import pandas as pd

from comind.competitions.competition_checks import check_test_ids
from comind.competitions.data import CompetitionData
from comind.competitions.submission_table import one_row_per_id
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.grading.grading import SubmissionSchema, SubmissionScorer
from comind.tables.csv_tables import read_table, row_keys


class TrueAnswers(NamedTuple):
    """The true answers, one row for each row of test.csv."""

    table: pd.DataFrame
    """Cells as text, with all columns of the file."""
    scorer: SubmissionScorer
    """Its rows are those of the table."""


def check_answers_exist(competition: Competition) -> None:
    """Check that this is a past competition.

    Raises:
        CompetitionError: it has no answers.
    """
    if not competition.answers.is_file():
        raise CompetitionError(
            f"{competition.folder}: has no private/answers.csv",
            hint="only past competitions can be graded",
        )


def read_true_answers(competition: Competition) -> TrueAnswers:
    """Read `private/answers.csv`, and check that its rows match those of test.csv one to one.

    Raises:
        CompetitionError: the answers are missing or invalid.
    """
    check_answers_exist(competition)
    where = competition.answers
    answers = read_table(where, CompetitionError)
    data = CompetitionData.read(competition)
    check_test_ids(data)
    for column in (*data.ids, *data.targets, *data.context):
        if column not in answers.columns:
            raise CompetitionError(f"{where}: has no column {column!r}")
    metric = data.scored_by
    answers = one_row_per_id(answers, data.ids, data.targets, metric)
    schema = SubmissionSchema(answers, data.ids, data.targets, metric, data.spellings)
    expected = row_keys(data.test, list(data.ids))
    if schema.keys.has_duplicates or not len(expected) or set(schema.keys) != set(expected):
        raise CompetitionError(
            f"{where}: does not have the ids of public/test.csv, each once",
            hint=f"{len(answers)} answers, {len(expected)} rows of test.csv",
        )
    try:
        return TrueAnswers(answers, SubmissionScorer(schema, answers))
    except CompetitionError as error:
        raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None
