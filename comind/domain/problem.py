"""Define a competition as agents see it."""

from enum import StrEnum

from pydantic import Field

from comind.domain.competition import ProgramLimits
from comind.domain.image import Image
from comind.domain.metric import MetricTraits, ProbabilityForm
from comind.domain.value import Name, Value

__all__ = [
    "ENDPOINT_AT",
    "FITTED_AT",
    "FOLDS_AT",
    "OUT_OF_FOLD_PROBABILITIES",
    "PROGRAM",
    "ROW_FILES_AT",
    "ROW_PARTS",
    "SAMPLE_AT",
    "SOLVE",
    "TEST_PROBABILITIES",
    "VALIDATION_PROBABILITIES",
    "AnswerKind",
    "DataShape",
    "Problem",
    "Task",
]

FOLDS_AT = "input/folds"
"""Folder of `folds.csv`, the fold of each row of train.csv, relative to the working directory."""
FITTED_AT = "input/fitted"
"""Folder of the models that an earlier run of a script saved, to be loaded in place of fitting."""
ENDPOINT_AT = "input/endpoint"
"""Folder of the socket by which programs of a cell call the model, where its agent serves them one."""
ROW_FILES_AT = "input/row_files"
"""Folder of `row_files.csv`, the files of each row of the tables, relative to the working directory."""
SAMPLE_AT = "input/sample"
"""Folder of `train.csv` and `folds.csv` of a sample of the training rows, where there are many rows."""
SOLVE = "solve"
"""The function that a submitted program defines, with the fields of an instance as named arguments."""
PROGRAM = "solver.py"
"""Name of a submitted program."""
VALIDATION_PROBABILITIES = "validation_probabilities.csv"
TEST_PROBABILITIES = "test_probabilities.csv"
OUT_OF_FOLD_PROBABILITIES = "out_of_fold_probabilities.csv"
"""Names of the files that a cell may write beside labels, in a `ProbabilityForm`."""
ROW_PARTS = ("train", "validation", "test")
"""The tables that attempts read, by the names of their files."""


class AnswerKind(StrEnum):
    """Content of a submission's target columns."""

    LABEL = "label"  # one class in each cell
    NUMBER = "number"
    PROBABILITY = "probability"  # of the positive class; columns are independent
    CLASS_PROBABILITIES = "class-probabilities"  # a column a class; a row is one distribution
    LABEL_SET = "label-set"  # labels separated by spaces
    TEXT = "text"
    MASK = "mask"  # run-length encoded pixels: "start length start length ..."

    @property
    def of_classes(self) -> bool:
        """Whether each row belongs to one class."""
        return self in (self.LABEL, self.PROBABILITY, self.CLASS_PROBABILITIES)

    @property
    def may_be_blank(self) -> bool:
        """Whether an empty cell is a valid answer: no words, labels or pixels."""
        return self in (self.TEXT, self.LABEL_SET, self.MASK)


class DataShape(StrEnum):
    """Kind of a competition's data, by what one row is."""

    TABLE = "table"
    TEXT = "text"
    TEXT_TO_TEXT = "text to text"
    IMAGES = "images"  # an image a row
    MASKS = "masks"  # run-length encoded masks of an image
    PIXELS = "pixels"  # a row is one pixel of an image
    AUDIO = "audio"
    PANEL = "panel"  # time series; the test rows are later
    INSTANCES = "instances"  # a row is an instance that a program solves


class Task(Value):
    """Prediction task: columns, numbers of rows and the metric."""

    competition: Name
    title: str
    metric: str
    maximize: bool
    answer_kind: AnswerKind
    id_columns: tuple[str, ...]
    train_id_columns: tuple[str, ...]
    """The id columns by their names in train.csv."""
    label_columns: tuple[str, ...]
    target_columns: tuple[str, ...]
    positive_class: str = ""
    """The class that counts as 1, where train.csv has two other words; as it spells it."""
    train_rows: int
    validation_rows: int
    test_rows: int
    program: ProgramLimits | None = Field(default=None, exclude_if=lambda limits: limits is None)
    """Where submissions are programs; rows are instances then."""


class Problem(Task):
    """A competition and its split as shown to models, without validation labels."""

    description: str
    shape: DataShape
    traits: MetricTraits = MetricTraits()
    """What the metric rewards."""
    folds: int = 0
    """Number of folds in `folds.csv`; 0: there is no such file."""
    sample_rows: int = 0
    """Rows of train.csv that `input/sample/train.csv` has, too; 0: there is no such file."""
    fold_rows: str = ""
    """The rows that a fold has, in words: rows at random, whole groups, consecutive rows."""
    held_out: str = ""
    """The labelled rows that validation.csv has, in words."""
    preview: str
    """Facts about the public files, over all rows, in order of importance; empty without a model."""
    samples: Image | None = Field(default=None, exclude=True)
    """Pictures or spectrograms of some rows of train.csv with their labels, where rows have any."""

    @property
    def folder(self) -> str:
        """Folder of the data, relative to an attempt's working directory."""
        return f"input/{self.competition}"

    @property
    def probability_form(self) -> ProbabilityForm | None:
        """The form of probabilities beside labels; None where none are kept."""
        return self.traits.probability_form(len(self.target_columns))
