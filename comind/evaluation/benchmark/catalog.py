"""What is known of the 75 competitions, read from `competitions.yaml`."""

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from comind.domain.value import Name, Value
from comind.errors import CompetitionError
from comind.evaluation.leaderboard import Thresholds
from comind.evaluation.metrics import Metric, known_metric

__all__ = [
    "ISSUES",
    "BenchmarkCompetition",
    "Difference",
    "GradingRules",
    "ImageSize",
    "Issue",
    "Mode",
    "ScoredRows",
    "benchmark_competitions",
    "find_benchmark_competition",
    "metric_of",
]


class Mode(StrEnum):
    """Whose judgement is wanted where MLE-bench's grader differs from the stated metric."""

    KAGGLE = "kaggle"
    MLEBENCH = "mlebench"


class Difference(StrEnum):
    """What MLE-bench's grader does otherwise; docs/mle-bench.md explains each."""

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
"""What is known to be wrong with a competition."""

ISSUES: tuple[Issue, ...] = ("leak", "saturated", "crowded", "columns", "speakers", "checksums", "data")


class ScoredRows(Value):
    """Which rows of the answers count.

    Those where `column` is `value` (or with `unless` is not), or the `last` ones of each value of
    `column` for which `known` is known, by the number that ends their id.
    """

    column: str
    value: str | None = None
    unless: bool = False
    last: int | None = Field(default=None, gt=0)
    known: str | None = None


class ImageSize(Value):
    """Height and width of a row's picture in pixels, or the answers' columns that hold them."""

    height: int | str
    width: int | str


class BenchmarkCompetition(Value):
    """One entry of the registry."""

    id: Name
    category: str
    complexity: Literal["low", "medium", "high"]
    metric: str
    maximize: bool
    ids: tuple[str, ...] = Field(min_length=1)
    """Columns of a submission that name a row."""
    targets: tuple[str, ...] | Literal["answers"]
    """Columns that are scored, or whatever columns the answers have beside the ids."""
    unscored: tuple[str, ...] = ()
    """Columns that a submission has too, and nobody reads."""
    truth: dict[str, str] = {}
    """Columns of the answers that hold a target, where they are named otherwise."""
    context: dict[str, str] = {}
    """Columns of the answers, by the names that the metric has for them."""
    picture: ImageSize | None = None
    scored_rows: ScoredRows | None = None
    answers_are: Literal["rows", "questions", "boxes"] = "rows"
    """One row of answers for each row asked for, or Natural Questions as JSON lines, or a box a row."""
    thresholds: Thresholds
    answers: str | None = None
    """File in private/, where it is neither answers.csv nor test.csv."""
    sample: str = "sample_submission.csv"
    """File of the sample submission, in public/ or in private/."""
    size: str
    mlebench_metric: str | None = None
    mlebench: tuple[Difference, ...] = ()
    issues: dict[Issue, str] = {}
    """What is known that makes a score here say less than it seems to."""


@cache
def benchmark_competitions() -> dict[str, BenchmarkCompetition]:
    """Return all competitions by their ids, in the order of the file."""
    entries = yaml.safe_load(Path(__file__).with_name("competitions.yaml").read_text(encoding="utf-8"))
    found = [BenchmarkCompetition.model_validate(entry) for entry in entries]
    return {entry.id: entry for entry in found}


def find_benchmark_competition(name: str) -> BenchmarkCompetition:
    """Return the entry of one competition.

    Raises:
        CompetitionError: it is none of MLE-bench's.
    """
    known = benchmark_competitions()
    if name not in known:
        raise CompetitionError(
            f"{name[:200]}: is none of the {len(known)} competitions of MLE-bench",
            hint="docs/mle-bench.md lists them",
        )
    return known[name]


def metric_of(entry: BenchmarkCompetition, mode: Mode) -> Metric:
    """Return the metric of a competition, in the words of its page or as MLE-bench computes it."""
    name = entry.mlebench_metric if mode is Mode.MLEBENCH and entry.mlebench_metric else entry.metric
    return known_metric(name)


class GradingRules:
    """What a submission is judged by."""

    def __init__(self, entry: BenchmarkCompetition, targets: list[str], mode: Mode) -> None:
        """Take a competition, the columns of it that are scored, and whose judgement is wanted."""
        self.entry = entry
        self.ids = list(entry.ids)
        self.targets = targets
        self.mode = mode
        self.differences = set(entry.mlebench) if mode is Mode.MLEBENCH else set()
        """What is done otherwise than the competition states."""
