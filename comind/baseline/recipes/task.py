"""Describe the competition to a program."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """The files, the columns to predict, the metric and the seed."""

    folder: str
    id_columns: list[str]
    train_id_columns: list[str]  # the id columns' names in train.csv
    label_columns: list[str]
    target_columns: list[str]
    answer_kind: str
    metric: str
    seed: int
    positive_class: str = ""  # with two text labels, the one that counts as 1
