"""Compute the true values of labelled rows in the shape of a submission."""

from collections.abc import Sequence

import pandas as pd

from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError


def is_one_hot(
    train: pd.DataFrame, labels: Sequence[str], targets: Sequence[str], kind: AnswerKind
) -> bool:
    """Return whether the target columns are the classes of the one label of `train`."""
    if len(labels) != 1 or set(targets) <= set(train.columns):
        return False
    if kind is AnswerKind.CLASS_PROBABILITIES:
        return True
    return not set(targets).isdisjoint(train[labels[0]])


def target_values(
    rows: pd.DataFrame, labels: Sequence[str], targets: Sequence[str], *, one_hot: bool
) -> pd.DataFrame:
    """Return the true values of the target columns for labelled rows; one-hot for classes.

    Raises:
        CompetitionError: a target is neither a column of train.csv nor a class of its label.
    """
    if one_hot:
        label = rows[labels[0]].reset_index(drop=True)
        return pd.DataFrame({name: (label == name).astype(int) for name in targets})
    missing = [column for column in targets if column not in rows.columns]
    if missing:
        raise CompetitionError(
            f"the target column {missing[0]!r} is neither a column of train.csv nor a class of "
            f"{labels[0]!r}",
            hint="target_columns in competition.yaml name what a submission has beside its ids",
        )
    return rows[list(targets)].reset_index(drop=True)
