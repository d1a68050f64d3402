"""Read the true answers of a past competition, for all that grade submissions to it."""

from typing import NamedTuple

import pandas as pd

from comind.competitions.submission_table import one_row_per_id
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.grading.grading import SubmissionSchema, SubmissionScorer
from comind.splits.competition_checks import check_test_ids
from comind.splits.split_plan import SplitPlan
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
    plan = SplitPlan(competition, seed=0)
    check_test_ids(plan)
    for column in (*plan.ids, *plan.targets):
        if column not in answers.columns:
            raise CompetitionError(f"{where}: has no column {column!r}")
    metric = plan.scored_by
    answers = one_row_per_id(answers, plan.ids, plan.targets, metric)
    schema = SubmissionSchema(answers, plan.ids, plan.targets, metric, plan.spellings)
    expected = row_keys(plan.test, list(plan.ids))
    if schema.keys.has_duplicates or not len(expected) or set(schema.keys) != set(expected):
        raise CompetitionError(
            f"{where}: does not have the ids of public/test.csv, each once",
            hint=f"{len(answers)} answers, {len(expected)} rows of test.csv",
        )
    try:
        return TrueAnswers(answers, SubmissionScorer(schema, answers))
    except CompetitionError as error:
        raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None
