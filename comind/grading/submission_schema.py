"""Validate submissions, and bring graded ones into the form of the sample submission."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self

import pandas as pd

from comind.competitions.download.sample_form import UploadForm
from comind.competitions.label_spelling import Spelling, label_spellings
from comind.competitions.submission_table import ExpectedSize, read_submission
from comind.competitions.table_form import submission_form
from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError, SubmissionError
from comind.grading.grader_port import GradeReport
from comind.metrics import Metric
from comind.metrics.metric_types import Parse, known_cells
from comind.metrics.parsing import parse_columns, parse_labels, parse_non_empty
from comind.splits.split_folder import Split, SplitFolder
from comind.tables.csv_tables import read_header, read_table, row_keys, split_rows

_MOST_SURPLUS = 4  # times the expected rows; a file with more is refused before its ids are compared
_CACHED = 16
_CASES: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.capitalize, str.title)


class SubmissionSchema:
    """Columns, row keys and value type of valid submissions for a set of rows."""

    def __init__(
        self,
        rows: pd.DataFrame,
        ids: Sequence[str],
        targets: Sequence[str],
        metric: Metric | None,
        spellings: Mapping[str, Spelling] | None = None,
        answer_kind: AnswerKind | None = None,
        upload: UploadForm | None = None,
    ) -> None:
        """Create a schema.

        Args:
            rows: a table of text with the id columns of all rows to predict.
            ids: the id columns.
            targets: the columns to predict.
            metric: parses the cells; without one, any non-empty text is valid.
            spellings: classes by target column; their other spellings are accepted.
            answer_kind: of the cells, without a metric.
            upload: the form outside, in which submissions may be, too.
        """
        self.metric = metric
        self._spellings = spellings or {}
        self._upload = upload or UploadForm()
        self.ids = list(ids)
        self.targets = list(targets)
        self.keys = row_keys(rows, self.ids)
        self.form = submission_form(self.keys, self.ids, self.targets, metric)
        answer_kind = metric.answer_kind if metric is not None else answer_kind
        self._size = ExpectedSize.of(self.keys, self.targets, answer_kind)

    @classmethod
    def for_test(cls, folder: SplitFolder) -> Self:
        """Return the schema of submissions for the test rows of a split.

        Raises:
            CompetitionError: a file of the split is missing or invalid.
        """
        split = folder.read()
        metric = folder.read_metric()
        rows = read_table(folder.public / "test.csv", CompetitionError)
        spellings = spellings_of(folder, split, metric)
        columns = split.id_columns, split.target_columns
        return cls(rows, *columns, metric, spellings, split.answer_kind)

    def read(self, path: Path) -> pd.DataFrame:
        """Read, validate and parse a submission; rows are returned in the order of the schema.

        Raises:
            SubmissionError: columns, row keys or values are invalid.
        """
        table = read_submission(path, self.ids, self.targets, self.metric, size=self._size)
        table = self._upload.here(table)
        rows = len(self.keys)
        if len(table) > _MOST_SURPLUS * max(1, rows):
            raise SubmissionError(f"has {len(table)} rows, and {rows} are expected")
        if (fault := self.form.first_fault(table, cells=False)) is not None:
            raise SubmissionError(fault.line, hint=fault.hint)
        order = row_keys(table, self.ids).get_indexer(self.keys)
        return self.parse(table.iloc[order].reset_index(drop=True))

    def form_notes(self, table: pd.DataFrame) -> tuple[str, ...]:
        """Return a line where labels are in place of probabilities, or probabilities of labels."""
        if self.metric is None:
            return ()
        here = self._upload.here(table)
        cells = pd.concat([here[name] for name in self.targets], ignore_index=True)
        numbers = pd.Series(pd.to_numeric(cells, errors="coerce"))
        whole = (numbers == numbers.round()) | numbers.isna()
        kind, name = self.metric.answer_kind, self.metric.name
        if kind is AnswerKind.PROBABILITY and whole.all() and len(self.keys) > 1:
            return (f"all predictions are 0 or 1, and {name} scores probabilities",)
        if kind is AnswerKind.LABEL and not whole.all() and numbers[~whole].between(0, 1).all():
            return (f"predictions such as {cells[~whole].iloc[0]} are no labels, which {name} compares",)
        return ()

    def parse(self, table: pd.DataFrame) -> pd.DataFrame:
        """Parse the target columns of a submission.

        Raises:
            SubmissionError: a value is missing or of the wrong type.
        """
        parse = parse_non_empty if self.metric is None else self.metric.parse
        return parse_columns(parse, self._respell(table), self.targets, SubmissionError)

    def parse_truth(self, table: pd.DataFrame) -> pd.DataFrame:
        """Parse the true values of a table of text, with labels spelled as in train.csv.

        Raises:
            CompetitionError: a value is of the wrong type.
        """
        assert self.metric is not None, "a schema without a metric has no true values"
        spelled = {
            name: parse_columns(self._known(each.match), table, [name], CompetitionError)[name]
            .pipe(each.score_values)
            .fillna("")
            for name, each in self._spellings.items()
        }
        table = table.assign(**spelled)
        parse = self.metric.parser_of_truth(len(self.targets))
        truth = parse_columns(parse, table, self.targets, CompetitionError)
        context = self.metric.parse_context, table, self.metric.context, CompetitionError
        return pd.concat([truth, parse_columns(*context)], axis="columns").reset_index(drop=True)

    def _known(self, parse: Parse) -> Parse:
        """Return a parser that skips blank true values, where they may be."""
        return known_cells(parse) if len(self.targets) > 1 else parse

    def _respell(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a submission with its labels spelled as in train.csv.

        Raises:
            SubmissionError: a label is missing, or no label of a column is a class.
        """
        found = {}
        for name, spelling in self._spellings.items():
            if not spelling.predicted:
                continue
            try:
                labels = spelling.match(table[name])
                spelling.check(labels)
            except ValueError as error:
                raise SubmissionError(f"column {name!r}: {error}") from None
            found[name] = spelling.score_values(labels)
        return table.assign(**found)

    def check(self, path: Path) -> GradeReport:
        """Validate a submission without scoring it."""
        try:
            self.read(path)
        except SubmissionError as error:
            return invalid(path, error)
        return GradeReport(valid=True)


def spellings_of(folder: SplitFolder, split: Split, metric: Metric | None) -> Mapping[str, Spelling]:
    """Return the spellings of a split's classes, from its train.csv.

    Raises:
        CompetitionError: the file cannot be read.
    """
    if metric is None or (metric.answer_kind is not AnswerKind.LABEL and not split.positive_class):
        return {}
    path = folder.public / "train.csv"
    columns = [name for name in read_header(path) if name in split.target_columns]
    train = pd.read_csv(path, usecols=columns, dtype=str, keep_default_na=False)
    return label_spellings(train, split.target_columns, metric, split.positive_class)


def invalid(path: Path, error: Exception) -> GradeReport:
    """Return a report with the reason, without the file's path on the host."""
    return GradeReport(valid=False, message=str(error).removeprefix(f"{path}: "))


def like_sample(submission: pd.DataFrame, folder: SplitFolder) -> pd.DataFrame:
    """Return a submission with labels spelled as in the sample submission, and a row for each mask.

    A submission that needs no change is returned as it is.

    Raises:
        CompetitionError: a file of the split is missing or invalid.
    """
    split = folder.read()
    metric = folder.read_metric()
    if metric is None:
        return submission
    found = submission
    for name, (spelling, words) in _words(folder.root).items():
        labels = spelling.match(found[name])
        found = found.assign(**{name: labels.map(words).fillna(found[name])})
    if metric.row_separator:
        found = split_rows(found, list(split.target_columns), metric.row_separator)
    return submission if found.equals(submission) else found


@lru_cache(_CACHED)
def _words(split: Path) -> Mapping[str, tuple[Spelling, Mapping[str, str]]]:
    """Return the sample's word of each class, for columns that it spells otherwise than train.csv.

    Cached, as a campaign asks after each better step, and the files of a split do not change.
    """
    folder = SplitFolder(split)
    metadata = folder.read()
    spellings = spellings_of(folder, metadata, folder.read_metric())
    predicted = {name: each for name, each in spellings.items() if each.predicted}
    if not predicted:
        return {}
    sample = read_table(folder.sample, CompetitionError)
    found = {name: (each, spelled_like(sample[name], each)) for name, each in predicted.items()}
    return {name: (each, words) for name, (each, words) in found.items() if words}


def spelled_like(sample: "pd.Series[str]", spelling: Spelling) -> Mapping[str, str]:
    """Return how the sample submission spells each class; empty if as train.csv does, or unclear.

    Classes that the sample lacks are spelled in the same case, or by the same pair such as 0 and 1.
    """
    filled = sample.str.strip()[sample.str.strip() != ""]
    shown = pd.Series(filled.unique(), dtype=str)
    if shown.empty:
        return {}
    meant = spelling.match(shown)
    if not meant.isin(spelling.known).all() or meant.duplicated().any():
        return {}
    words = dict(zip(meant, shown, strict=True))
    if all(label == parse_labels(pd.Series([word])).iloc[0] for label, word in words.items()):
        return {}
    missing = spelling.known - set(words)
    for case in _CASES:
        if all(case(label) == word for label, word in words.items()):
            return words | {label: case(label) for label in missing}
    if not missing:
        return words
    other = spelling.other_of_pair(shown.iloc[0]) if len(spelling.known) == 2 else None  # noqa: PLR2004
    return words | dict.fromkeys(missing, other) if other is not None else {}
