"""Describe the competition to a program."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """The files, the columns to predict, what the metric rewards and the seed."""

    folder: str
    id_columns: list[str]
    train_id_columns: list[str]  # the id columns' names in train.csv
    label_columns: list[str]
    target_columns: list[str]
    answer_kind: str
    seed: int
    positive_class: str = ""  # with two text labels, the one that counts as 1
    scale: str = ""  # "log" or "log1p": transformation after which the metric is a plain error
    absolute: bool = False  # errors count by their size, not their square
    ranking: bool = False  # only the order of predictions counts
    ordered: bool = False  # labels are learnt as numbers
    probabilities: str = ""  # kept beside labels: "classes", a column each, or "number", not rounded
    guesses: int = 0  # labels in a cell, the best first
    instances: bool = False  # a mask for each thing
    similarity: str = "edits"  # of texts: "edits", "words" or "whole"

    @property
    def loss(self) -> str:
        """The training loss of numbers."""
        return "absolute_error" if self.absolute else "squared_error"
