"""A competition as its solvers see it."""

from enum import StrEnum

from comind.domain.value import Name, Value

__all__ = ["FOLDS_AT", "AnswerKind", "DataShape", "Problem", "Task"]

FOLDS_AT = "input/folds"
"""Where attempts find `folds.csv`, the fold of each row of train.csv, below their working directory."""


class AnswerKind(StrEnum):
    """What the target columns of a submission hold."""

    LABEL = "label"  # one class in each cell
    NUMBER = "number"
    PROBABILITY = "probability"  # of the positive class; each column stands for itself
    CLASS_PROBABILITIES = "class-probabilities"  # a column a class; a row is one distribution
    LABEL_SET = "label-set"  # any number of labels in a cell, with spaces between them
    TEXT = "text"
    MASK = "mask"  # run-length encoded pixels: "start length start length ..."

    @property
    def of_classes(self) -> bool:
        """Whether a row belongs to one class."""
        return self in (self.LABEL, self.PROBABILITY, self.CLASS_PROBABILITIES)

    @property
    def may_be_blank(self) -> bool:
        """Whether an empty cell is an answer: no words, no labels, no pixels."""
        return self in (self.TEXT, self.LABEL_SET, self.MASK)


class DataShape(StrEnum):
    """What the rows of a competition are, seen from the data."""

    TABLE = "table"
    TEXT = "text"
    TEXT_TO_TEXT = "text to text"
    IMAGES = "images"  # a picture a row
    PIXELS = "pixels"  # a row is one pixel of a picture
    AUDIO = "audio"
    PANEL = "panel"  # series over time; the rows asked for come later


class Task(Value):
    """What is to be predicted, for how many rows, and how it is judged."""

    competition: Name
    title: str
    metric: str
    maximize: bool
    answer_kind: AnswerKind
    id_columns: tuple[str, ...]
    train_id_columns: tuple[str, ...]
    """The same columns in train.csv, where it may name them otherwise."""
    label_columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    train_rows: int
    validation_rows: int
    test_rows: int


class Problem(Task):
    """Everything that may be told to a model about a competition and its split; no label is in it."""

    description: str
    shape: DataShape
    preview: str
    """Facts on the public files, over all rows, the most telling first; empty where no model asks."""

    @property
    def folder(self) -> str:
        """Where an attempt finds the data, below its working directory."""
        return f"input/{self.competition}"
