"""Validate the tables and side files of a new competition.

The form of its tables is that of `table_form`; the same form, as expectations, is saved with the split.
"""

import re
import wave
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from comind.competitions.data import CompetitionData
from comind.competitions.row_files import file_kind, files_by_cell, list_files
from comind.competitions.table_form import forms_of
from comind.domain.competition import Competition
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.metrics import Metric
from comind.metrics.functions import FunctionMetric, check_function
from comind.metrics.parsing import parse_columns
from comind.tables.mapped_table import release_memory

_FILES_LOOKED_AT = 2_000
_ROWS_TRIED = 1_000  # on which a metric that is a function is tried
_MOST_UNREADABLE = 0.02  # share of images and sounds that a program can do without
_FILE_NAME = re.compile(r"\.\w{2,5}$")
_NAMING = 0.5  # minimum share of cells that name files, for a column of file names


def check_side_files(data: CompetitionData) -> tuple[str, ...]:
    """Check that files exist that columns of file names refer to, and that images and audio can be read.

    Returns a line on those that cannot be read, if they are few.

    Raises:
        CompetitionError: the first problem, with a hint how to mend it.
    """
    files = list_files(data.competition.public)
    for table, name in ((data.train, "train.csv"), (data.test, "test.csv")):
        _check_named_files(data.competition, table, name, files)
    return _check_readable_files(data.competition, files)


def check_tables(data: CompetitionData) -> None:
    """Validate a competition's tables against its description and each other.

    Raises:
        CompetitionError: the first expectation that fails.
    """
    where = data.competition.folder
    if data.metric.answer_kind is AnswerKind.CLASS_PROBABILITIES and len(data.targets) == 1:
        raise CompetitionError(
            f"{where}: {data.metric.name} requires a target column for each class, not one",
            hint="for two classes and one column the metric is log-loss",
        )
    _check_columns(data)
    _check_context(data)
    forms = forms_of(data)
    for form, table in ((forms.train, data.train), (forms.test, data.test), (forms.sample, data.sample)):
        if (fault := form.first_fault(table)) is not None:
            raise CompetitionError(f"{where}: public/{form.name}: {fault.line}", hint=fault.hint)
        release_memory()
    _check_truth(data)


def _check_columns(data: CompetitionData) -> None:
    """Check that each table has the columns that the description and the other tables require."""
    where = f"{data.competition.folder}: public"
    submitted = (*data.ids, *data.targets)
    check_test_ids(data)
    expected = {
        "train.csv": (data.train, (*data.train_ids, *data.labels)),
        "sample_submission.csv": (data.sample, submitted),
    }
    for name, (table, columns) in expected.items():
        for column in columns:
            if column not in table.columns:
                hint = f"its columns are {_join_names(table.columns)}"
                raise CompetitionError(f"{where}/{name} has no column {column!r}", hint=hint)
    for column in data.test.columns:
        if column in data.labels:
            raise CompetitionError(
                f"{where}/test.csv shows the label column {column!r}",
                hint="take it out of test.csv, or out of label_columns",
            )
        if column not in data.train.columns and column not in data.ids:
            raise CompetitionError(
                f"{where}/test.csv has a column {column!r} that train.csv does not have",
                hint="take it out of test.csv, as nothing can be learned of it",
            )
    sample = f"{where}/sample_submission.csv has"
    if not data.targets:
        raise CompetitionError(f"{sample} no column beside the ids")
    if set(data.sample.columns) != set(submitted):
        found = _join_names(data.sample.columns)
        raise CompetitionError(f"{sample} columns {found}; a submission has {_join_names(submitted)}")


def _check_context(data: CompetitionData) -> None:
    """Check the columns of train.csv that the metric reads beside the targets."""
    for column in data.context:
        if column not in data.train.columns:
            raise CompetitionError(
                f"{data.competition.folder}: public/train.csv has no column {column!r}, which "
                f"{data.metric.name} reads",
                hint=f"it reads {_join_names(data.context)}; another metric may be a function",
            )
    if isinstance(metric := data.metric, Metric):
        try:
            parse_columns(metric.parse_context, data.train, data.context, CompetitionError)
        except CompetitionError as error:
            where = f"{data.competition.folder}: public/train.csv"
            raise CompetitionError(f"{where}: {error}", hint=f"{metric.name} reads it") from None


def check_test_ids(data: CompetitionData) -> None:
    """Check that test.csv has the id columns of a submission.

    Raises:
        CompetitionError: one is missing.
    """
    for column in data.ids:
        if column not in data.test.columns:
            raise CompetitionError(
                f"{data.competition.folder}: public/test.csv has no column {column!r}",
                hint=f"its columns are {_join_names(data.test.columns)}; id_parts in competition.yaml "
                "names those that an id joins",
            )


def _check_named_files(
    competition: Competition, table: pd.DataFrame, name: str, files: set[str]
) -> None:
    """Check that all files exist that a column of file names refers to."""
    for column in table.columns:
        cells = table[column]
        first = cells.iloc[:50].tolist()
        if not sum(_FILE_NAME.search(cell) is not None for cell in first) > _NAMING * len(first):
            continue
        there = cells.isin(list(files_by_cell(files, cells)))
        if _NAMING < there.mean() < 1:
            missing, count = cells[~there].iloc[0], int((~there).sum())
            raise CompetitionError(
                f"{competition.folder}: public/{name}: the file {missing!r} of column {column!r} "
                f"is missing ({count} of {len(there)} are)",
                hint="names are relative to public/",
            )


def _check_readable_files(competition: Competition, files: set[str]) -> tuple[str, ...]:
    """Read the headers of images and audio, up to a limit; return a line on a few unreadable ones."""
    readers = {"image": _read_image, "audio": _read_audio}
    media = [name for name in sorted(files) if file_kind(name) in readers][:_FILES_LOOKED_AT]
    faults = {}
    for name in media:
        try:
            readers[file_kind(name)](competition.public / name)
        except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
            faults[name] = str(error).partition(" '")[0] or "it ends too early"
    if not faults:
        return ()
    name, reason = next(iter(faults.items()))
    if len(faults) > _MOST_UNREADABLE * len(media):
        raise CompetitionError(
            f"{competition.folder}: public/{name} cannot be read ({reason})",
            hint="repair or remove the file",
        )
    found = f"{len(faults):,} of {len(media):,} images and sounds cannot be read"
    return (f"{found}, such as public/{name} ({reason}): their rows are predicted without them",)


def _read_image(path: Path) -> None:
    from PIL import Image

    with Image.open(path) as image:
        image.verify()


def _read_audio(path: Path) -> None:
    if path.suffix.lower() != ".wav":
        return
    try:
        with wave.open(str(path)) as audio:
            audio.getnframes()
    except wave.Error as error:
        if "unknown format" not in str(error):  # wave supports PCM only; other codecs are valid
            raise


def _check_truth(data: CompetitionData) -> None:
    """Reject targets that train.csv lacks, and classes whose columns are no answers to the metric.

    The rules of the form for train.csv apply to true values in its own columns.
    """
    metric = data.metric
    if not isinstance(metric, Metric):
        return
    truth = data.truth(data.train if data.one_hot else data.train.head(0)).astype(str)
    try:
        parse_columns(metric.parser_of_truth(len(data.targets)), truth, data.targets, CompetitionError)
    except CompetitionError as error:
        where = f"{data.competition.folder}: public/train.csv"
        raise CompetitionError(f"{where}: {error}", hint=f"the metric is {metric.name}") from None
    if isinstance(metric, FunctionMetric):
        filled = (data.train[[*data.labels]] != "").all(axis="columns")
        tried = data.truth(data.train[filled].head(_ROWS_TRIED)).astype(str)
        tried = parse_columns(metric.parse_truth, tried, data.targets, CompetitionError)
        try:
            check_function(metric, tried)
        except ValueError as error:
            raise CompetitionError(f"{data.competition.folder}: {error}") from None


def _join_names(names: Iterable[object]) -> str:
    return ", ".join(map(str, list(names)[:30]))
