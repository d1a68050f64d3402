"""Load the catalog of the 75 competitions from `competitions.yaml`."""

from collections.abc import Iterable
from datetime import date, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from comind.domain.competition import parse_deadline
from comind.domain.value import Name, Value
from comind.errors import CompetitionError
from comind.grading.leaderboard import Thresholds
from comind.metrics import Metric, known_metric


class Mode(StrEnum):
    """The grader to follow if MLE-bench's differs from the stated metric."""

    KAGGLE = "kaggle"
    MLEBENCH = "mlebench"


class Difference(StrEnum):
    """Deviations of MLE-bench's grader from the stated rules, as explained in docs/mle-bench.md."""

    SAME_COLUMNS = "same-columns"
    IN_ORDER = "in-order"
    AS_ORDERED = "as-ordered"
    SORTED_NOT_MATCHED = "sorted-not-matched"
    ROWS_OF_MASK = "rows-of-mask"
    SOME_ROWS = "some-rows"
    MORE_ROWS = "more-rows"
    COLUMNS_IN_ORDER = "columns-in-order"
    COLUMNS_AS_ORDERED = "columns-as-ordered"
    WITHIN_0_1 = "within-0-1"
    WITHIN_1_100 = "within-1-100"
    SUMS_TO_1 = "sums-to-1"
    SUMS_TO_1_TO_5_PLACES = "sums-to-1-to-5-places"
    HALVED = "halved"
    KNOWN_LABELS = "known-labels"
    SORTED_RUNS = "sorted-runs"
    CUT_RUNS = "cut-runs"
    ROUNDED = "rounded"
    ID_FIRST = "id-first"
    NO_BLANKS = "no-blanks"
    BLANK_IS_NAN = "blank-is-nan"


Issue = Literal["leak", "saturated", "crowded", "columns", "speakers", "checksums", "data"]
"""Known problems of a competition."""


class ScoredRows(Value):
    """The rows of the answers that are scored.

    Those with `value` in `column` (with `unless`: those without it), or for each value of `column` the
    `last` rows with a non-empty cell in `known`, ordered by the number at the end of their id.
    """

    column: str
    value: str | None = None
    unless: bool = False
    last: int | None = Field(default=None, gt=0)
    known: str | None = None


class ImageSize(Value):
    """Height and width of a row's image in pixels, or the columns of the answers that contain them."""

    height: int | str
    width: int | str


class TrainTable(Value):
    """The files and columns of labelled rows, test rows and the sample submission."""

    form: Literal[
        "table",
        "folders",
        "records",
        "masks",
        "pixels",
        "lines",
        "species",
        "positions",
        "questions",
        "studies",
        "objects",
        "melted",
        "bson",
    ] = "table"
    """What labels are in; see `train_tables`."""
    file: str = ""
    """The file, or a pattern such as `train/{Id}/labels.csv`; by default train.csv and the like."""
    of: str = ""
    """What the form needs to know beside the file."""
    columns: dict[str, str] = {}
    """Columns of train.csv by those of the file; several, separated by bars, are joined by `_`."""
    codes: dict[str, str] = {}
    """Labels in submissions by those of the file; `*` for all others."""
    labels: tuple[str, ...] = ()
    """The label columns, where they are not the targets, nor all that test rows lack."""
    test: str = ""
    """The table of test rows, by default test.csv."""
    sample: str = ""
    """The sample submission, where agents find it under another name than `sample`."""


class BenchmarkCompetition(Value):
    """An entry of the catalog."""

    id: Name
    category: str
    complexity: Literal["low", "medium", "high"]
    metric: str
    maximize: bool
    ids: tuple[str, ...] = Field(min_length=1)
    """Id columns of a submission."""
    targets: tuple[str, ...] | Literal["answers"]
    """Scored columns, or `answers` for all columns of the answers except the ids."""
    unscored: tuple[str, ...] = ()
    """Required columns of a submission that are not scored."""
    truth: dict[str, str] = {}
    """Columns of the answers by target, where their names differ."""
    context: dict[str, str] = {}
    """Columns of the answers by the metric's names for them."""
    image_size: ImageSize | None = Field(default=None, alias="picture")
    scored_rows: ScoredRows | None = None
    answers_are: Literal["rows", "questions", "boxes"] = "rows"
    """Format of the answers: one row per id, JSON lines of Natural Questions, or one box per row."""
    thresholds: Thresholds
    answers: str | None = None
    """File in private/, if it is neither answers.csv nor test.csv."""
    sample: str = "sample_submission.csv"
    """File of the sample submission, in public/ or in private/."""
    train: TrainTable | None = None
    """Where the labelled rows are no table of the usual name."""
    size: str
    deadline: date
    """Last day of the competition (UTC)."""
    mlebench_metric: str | None = None
    mlebench: tuple[Difference, ...] = ()
    issues: dict[Issue, str] = {}
    """Known problems that make scores less informative, with explanations."""

    @property
    def ends_at(self) -> datetime:
        """The deadline as a time."""
        return parse_deadline(self.deadline.isoformat())

    def metric_in(self, mode: Mode) -> Metric:
        """Return the metric, as stated on the competition's page or as MLE-bench computes it."""
        return known_metric((mode is Mode.MLEBENCH and self.mlebench_metric) or self.metric)

    def target_columns(self, columns: Iterable[object]) -> list[str]:
        """Return the scored columns of answers with these columns."""
        if self.targets == "answers":
            return [str(name) for name in columns if name not in self.ids]
        return list(self.targets)


@cache
def benchmark_competitions() -> dict[str, BenchmarkCompetition]:
    """Return all competitions by id, in the order of the file."""
    entries = yaml.safe_load(Path(__file__).with_name("competitions.yaml").read_text(encoding="utf-8"))
    found = [BenchmarkCompetition.model_validate(entry) for entry in entries]
    return {entry.id: entry for entry in found}


def find_benchmark_competition(name: str) -> BenchmarkCompetition:
    """Return the entry of a competition.

    Raises:
        CompetitionError: MLE-bench has no such competition.
    """
    known = benchmark_competitions()
    if name not in known:
        raise CompetitionError(
            f"{name[:200]}: is not one of the {len(known)} competitions of MLE-bench",
            hint="docs/mle-bench.md lists them",
        )
    return known[name]
