"""Validate a new competition: tables, side files, and whether it can be split and graded.

The form of its tables is that of `table_form`; the same form, as expectations, is saved with the split.
"""

import wave
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

from comind.competitions.competition_folder import check_public_folder
from comind.domain.competition import Competition
from comind.domain.problem import AnswerKind
from comind.domain.row_files import IMAGE_SUFFIXES
from comind.errors import CompetitionError
from comind.metrics import Metric
from comind.metrics.parsing import parse_columns
from comind.splits.answer_files import files_by_cell
from comind.splits.generated_plan import plan_without_metric
from comind.splits.leakage import leaking_tables, list_files
from comind.splits.split_plan import SplitPlan
from comind.splits.table_form import forms_of
from comind.tables.csv_tables import read_table
from comind.tables.mapped_table import release_memory

_FILES_LOOKED_AT = 2_000
_NAMING = 0.5  # minimum share of cells that name files, for a column of file names


def check_competition(competition: Competition) -> SplitPlan:
    """Validate that a competition can be split, solved and graded; return the plan of its split.

    Raises:
        CompetitionError: the first problem, with a hint how to mend it.
    """
    check_public_folder(competition)
    plan = plan_without_metric(competition) if competition.metric is None else SplitPlan(competition, 0)
    _check_tables(plan)
    plan.validation_rows()
    for path in leaking_tables(plan, competition.public):
        read_table(path, CompetitionError)
    files = list_files(competition.public)
    for table, name in ((plan.train, "train.csv"), (plan.test, "test.csv")):
        _check_named_files(competition, table, name, files)
    _check_side_files(competition)
    return plan


def _check_tables(plan: SplitPlan) -> None:
    """Validate a competition's tables against its description and each other.

    Raises:
        CompetitionError: the first expectation that fails.
    """
    where = plan.competition.folder
    if plan.metric.kind is AnswerKind.CLASS_PROBABILITIES and len(plan.targets) == 1:
        raise CompetitionError(
            f"{where}: {plan.metric.name} requires a target column for each class, not one",
            hint="for two classes and one column the metric is log-loss",
        )
    _check_columns(plan)
    forms = forms_of(plan)
    for form, table in ((forms.train, plan.train), (forms.test, plan.test), (forms.sample, plan.sample)):
        if (fault := form.first_fault(table)) is not None:
            raise CompetitionError(f"{where}: public/{form.name}: {fault.line}", hint=fault.hint)
        release_memory()
    _check_truth(plan)


def _check_columns(plan: SplitPlan) -> None:
    """Check that each table has the columns that the description and the other tables require."""
    where = f"{plan.competition.folder}: public"
    submitted = (*plan.ids, *plan.targets)
    check_test_ids(plan)
    expected = {
        "train.csv": (plan.train, (*plan.train_ids, *plan.labels)),
        "sample_submission.csv": (plan.sample, submitted),
    }
    for name, (table, columns) in expected.items():
        for column in columns:
            if column not in table.columns:
                hint = f"its columns are {_join_names(table.columns)}"
                raise CompetitionError(f"{where}/{name} has no column {column!r}", hint=hint)
    for column in plan.test.columns:
        if column in plan.labels:
            raise CompetitionError(
                f"{where}/test.csv shows the label column {column!r}",
                hint="take it out of test.csv, or out of label_columns",
            )
        if column not in plan.train.columns and column not in plan.ids:
            raise CompetitionError(
                f"{where}/test.csv has a column {column!r} that train.csv does not have"
            )
    sample = f"{where}/sample_submission.csv has"
    if not plan.targets:
        raise CompetitionError(f"{sample} no column beside the ids")
    if set(plan.sample.columns) != set(submitted):
        found = _join_names(plan.sample.columns)
        raise CompetitionError(f"{sample} columns {found}; a submission has {_join_names(submitted)}")


def check_test_ids(plan: SplitPlan) -> None:
    """Check that test.csv has the id columns of a submission.

    Raises:
        CompetitionError: one is missing.
    """
    for column in plan.ids:
        if column not in plan.test.columns:
            raise CompetitionError(
                f"{plan.competition.folder}: public/test.csv has no column {column!r}",
                hint=f"its columns are {_join_names(plan.test.columns)}; id_parts in competition.yaml "
                "names those that an id joins",
            )


def _check_named_files(
    competition: Competition, table: pd.DataFrame, name: str, files: set[str]
) -> None:
    """Check that all files exist that a column of file names refers to."""
    for column in table.columns:
        cells = table[column]
        if not cells.head(50).str.contains(r"\.\w{2,5}$", regex=True).mean() > _NAMING:
            continue
        there = cells.isin(list(files_by_cell(files, cells)))
        if _NAMING < there.mean() < 1:
            missing, count = cells[~there].iloc[0], int((~there).sum())
            raise CompetitionError(
                f"{competition.folder}: public/{name}: the file {missing!r} of column {column!r} "
                f"is missing ({count} of {len(there)} are)",
                hint="names are relative to public/",
            )


def _check_side_files(competition: Competition) -> None:
    """Read the headers of images and sounds, up to a limit; reject unreadable files."""
    files = (path for path in sorted(competition.public.rglob("*")) if path.suffix.lower() in _READERS)
    for path, _ in zip(files, range(_FILES_LOOKED_AT), strict=False):
        if path.is_dir():
            continue
        try:
            _READERS[path.suffix.lower()](path)
        except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
            reason = str(error).partition(" '")[0] or "it ends too early"
            relative = path.relative_to(competition.folder)
            raise CompetitionError(
                f"{competition.folder}: {relative} cannot be read ({reason})",
                hint="repair or remove the file",
            ) from None


def _read_image(path: Path) -> None:
    from PIL import Image

    with Image.open(path) as image:
        image.verify()


def _read_audio(path: Path) -> None:
    try:
        with wave.open(str(path)) as sound:
            sound.getnframes()
    except wave.Error as error:
        if "unknown format" not in str(error):  # wave supports PCM only; other codecs are valid
            raise


_READERS: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(IMAGE_SUFFIXES, _read_image),
    ".wav": _read_audio,
}


def _check_truth(plan: SplitPlan) -> None:
    """Reject targets that train.csv lacks, and classes whose columns are no answers to the metric.

    The rules of the form for train.csv apply to true values in its own columns.
    """
    metric = plan.metric
    if not isinstance(metric, Metric):
        return
    answers = plan.answers(plan.train if plan.one_hot else plan.train.head(0)).astype(str)
    try:
        parse_columns(metric.parse_truth, answers, plan.targets, CompetitionError)
    except CompetitionError as error:
        where = f"{plan.competition.folder}: public/train.csv"
        raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None


def _join_names(names: Iterable[object]) -> str:
    return ", ".join(map(str, list(names)[:30]))
