"""Define the form of a competition's tables once: for the fast check, and for saved expectations.

A form names columns, key, number of rows and the rule of each column's cells. `TableForm.first_fault`
is the fast check, by pandas; `expectation_suites` builds a suite of Great Expectations from it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass

import pandas as pd

from comind.competitions.data import CompetitionData
from comind.domain.problem import AnswerKind
from comind.errors import SubmissionError
from comind.metrics import Metric
from comind.metrics.metric_types import Parse
from comind.metrics.parsing import parse_non_empty
from comind.tables.csv_tables import check_row_keys, reject_columns, row_keys

NUMBER = r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf)$"
"""Pattern of a number in a normalised table."""

_REPEATED_HINT = (
    "id_columns in competition.yaml may name several columns of train.csv, test.csv and the sample that "
    "identify a row together; or join the rows of an id, their values separated by ;"
)
_NUMBER_KINDS = (AnswerKind.NUMBER, AnswerKind.PROBABILITY)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a table: one line, and a hint how to mend it."""

    line: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class CellRule:
    """The rule for the cells of a column; several rules may be of one column."""

    column: str
    _: KW_ONLY
    required: bool = False
    """Whether no cell may be blank."""
    distinct: int = 0
    """Minimum number of different cells, without blank ones."""
    classes: tuple[str, ...] = ()
    """The only valid texts; empty for any."""
    number: bool = False
    """Whether each cell must be a number; infinite ones are."""
    parse: Parse | None = None
    """Parses valid cells; raises ValueError for others."""
    metric: str = ""
    """Name of the metric that `parse` belongs to; empty for none."""
    truth: bool = False
    """Whether `parse` parses true values of the metric, not predictions."""

    @property
    def refuses_blank(self) -> bool:
        """Whether a blank cell is invalid."""
        if self.required or self.number:
            return True
        return self.parse is not None and not _parses(self.parse, pd.Series([""], dtype=str))

    def invalid_cells(self, cells: pd.Series) -> pd.Series:
        """Return which of these texts `parse` rejects, as booleans, shape (rows,)."""
        assert self.parse is not None
        if _parses(self.parse, cells):
            return pd.Series(data=False, index=cells.index)
        rejected = {text for text in cells.unique() if not _parses(self.parse, pd.Series([text]))}
        return cells.isin(rejected) | (not rejected)

    def faults(self, cells: pd.Series) -> Iterator[Fault]:
        """Yield what is wrong with the text of the column, most basic first."""
        name, rows = self.column, len(cells)
        blank = cells.str.strip() == ""
        if self.required and blank.any():
            yield Fault(
                f"no {name!r} in {blank.sum()} of {rows} rows",
                "leave these rows out, or name a metric that scores rows without a label",
            )
        if cells[~blank].nunique() < self.distinct:
            yield Fault(f"every row has the same {name!r}; there is nothing to classify")
        if self.classes:
            wrong = ~blank & ~cells.isin(self.classes)
            if wrong.any():
                yield Fault(
                    f"the class {cells[wrong].iloc[0]!r} is not a target column "
                    f"({wrong.sum()} of {rows} rows)",
                    f"the target columns are {_join_names(self.classes)}",
                )
        if self.number:
            wrong = ~_normalized_numbers(cells).str.contains(NUMBER)
            if wrong.any():
                yield Fault(
                    f"column {name!r}: no number in {wrong.sum()} of {rows} rows, "
                    f"for instance {cells[wrong].iloc[0][:40]!r}",
                    f"write all cells of {name!r} as plain numbers, and unknown ones as blank cells",
                )
        if self.parse is not None:
            try:
                self.parse(cells)
            except ValueError as error:
                yield Fault(f"column {name!r}: {error}", f"the metric is {self.metric}")


@dataclass(frozen=True, slots=True)
class TableForm:
    """The form of a table of text: its columns, key, number of rows and cells."""

    name: str
    """Name of the file."""
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """Columns that together identify a row; not blank, and unique in the spelling of `row_keys`."""
    _: KW_ONLY
    cells: tuple[CellRule, ...] = ()
    other_columns: bool = False
    """Whether other columns are valid, too."""
    min_rows: int = 0
    keys: pd.Index | None = None
    """The keys of all rows, in any order; None for any."""

    @property
    def key_label(self) -> str:
        """The key's columns in words."""
        return " and ".join(self.key)

    def first_fault(self, frame: pd.DataFrame, *, cells: bool = True) -> Fault | None:
        """Return what is wrong with `frame`, a table of text, or None.

        Without `cells`, the rules of cells are not applied.
        """
        if (fault := self.column_fault(frame)) or (fault := self.row_fault(frame)) or not cells:
            return fault
        faults = (fault for rule in self._present(frame) for fault in rule.faults(frame[rule.column]))
        return next(faults, None)

    def column_fault(self, frame: pd.DataFrame) -> Fault | None:
        """Return what is wrong with the columns, or None."""
        for name in self.columns:
            if name not in frame.columns:
                return Fault(f"has no column {name!r}", f"its columns are {_join_names(frame.columns)}")
        surplus = [name for name in frame.columns if name not in self.columns]
        if surplus and not self.other_columns:
            wanted = f"its columns should be {_join_names(self.columns)}"
            return Fault(f"has an unexpected column {surplus[0]!r}", wanted)
        return None

    def row_fault(self, frame: pd.DataFrame) -> Fault | None:
        """Return what is wrong with number and keys of the rows, or None; the key's columns exist."""
        rows, label = len(frame), self.key_label
        if rows < self.min_rows:
            few = f"has fewer than {self.min_rows} rows" if self.min_rows > 1 else "has no rows"
            return Fault(few)
        if self.keys is not None and rows != len(self.keys):
            return Fault(f"does not have {len(self.keys)} rows, one for each row of test.csv")
        keys = row_keys(frame, list(self.key))
        blank = frame[list(self.key)].apply(lambda cells: cells.fillna("").str.strip() == "").any(axis=1)
        if blank.any():
            return Fault(f"no id ({label}) in {blank.sum()} of {rows} rows")
        repeated = keys.duplicated(keep=False)
        if repeated.any():
            first = keys[repeated][0]
            text = " / ".join(first) if isinstance(first, tuple) else first
            return Fault(f"the id {text!r} ({label}) appears twice", _REPEATED_HINT)
        if self.keys is not None and (other := int((~keys.isin(self.keys)).sum())):
            return Fault(f"an id that is not in test.csv in {other} of {rows} rows")
        return None

    def normalized(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame that expectations are checked on.

        Ids are in the spelling of `row_keys`, numbers as Python writes them, and blank cells None in all
        columns that the form has a rule for. Where the keys are known, `expected_ids` are added.
        """
        found = frame.copy(deep=False)
        for rule in self._present(frame):
            cells = frame[rule.column]
            found[rule.column] = _without_blank(_normalized_numbers(cells) if rule.number else cells)
        there = [name for name in self.key if name in frame.columns]
        for name in there:
            cells = pd.Series(row_keys(frame, [name]), index=frame.index, dtype=object)
            found[name] = _without_blank(cells)
        if self.keys is not None and len(there) == len(self.key):
            known = row_keys(frame, list(self.key)).isin(self.keys)
            for name, expected in self.expected_ids().items():
                found[expected] = found[name].where(known, None)
        return found

    def expected_ids(self) -> dict[str, str]:
        """Return, by id column, the column of `normalized` with the equal id among the known keys.

        It is None in a row whose key is not known.
        """
        return {} if self.keys is None else {name: f"{name} of test.csv" for name in self.key}

    def _present(self, frame: pd.DataFrame) -> Iterator[CellRule]:
        return (rule for rule in self.cells if rule.column in frame.columns)


@dataclass(frozen=True, slots=True)
class SubmissionForm(TableForm):
    """The form of a submission; faults have the grader's messages."""

    def column_fault(self, frame: pd.DataFrame) -> Fault | None:
        """Return what is wrong with the columns, or None."""
        try:
            if set(frame.columns) != set(self.columns):
                reject_columns(list(frame.columns), list(self.columns))
        except SubmissionError as error:
            return Fault(str(error), error.hint)
        return None

    def row_fault(self, frame: pd.DataFrame) -> Fault | None:
        """Return what is wrong with the keys of the rows, or None."""
        assert self.keys is not None
        try:
            check_row_keys(row_keys(frame, list(self.key)), self.keys, self.key_label)
        except SubmissionError as error:
            return Fault(str(error), error.hint)
        return None


@dataclass(frozen=True, slots=True)
class TableForms:
    """The forms of all tables of a competition."""

    train: TableForm
    test: TableForm
    sample: TableForm
    submission: SubmissionForm


def forms_of(data: CompetitionData) -> TableForms:
    """Return the forms of a competition's tables; columns that a table lacks have no rules."""
    submitted = (*data.ids, *data.targets)
    shared = (str(name) for name in data.test if name in data.train and name not in data.labels)
    known = set(data.ids) <= set(data.test)
    keys = row_keys(data.test, list(data.ids)) if known else pd.Index([], dtype=object)
    metric = data.metric if isinstance(data.metric, Metric) else None
    return TableForms(
        train=TableForm(
            "train.csv",
            tuple(dict.fromkeys((*data.train_ids, *data.labels))),
            data.train_ids,
            cells=tuple(_label_rules(data, metric)),
            other_columns=True,
            min_rows=4,
        ),
        test=TableForm("test.csv", tuple(dict.fromkeys((*data.ids, *shared))), data.ids, min_rows=1),
        sample=TableForm("sample_submission.csv", submitted, data.ids, keys=keys),
        submission=submission_form(keys, data.ids, data.targets, metric),
    )


def submission_form(
    keys: pd.Index, ids: Iterable[str], targets: Iterable[str], metric: Metric | None
) -> SubmissionForm:
    """Return the form of submissions for the rows with these keys; without a metric, of any text."""
    parse, name = (metric.parse, metric.name) if metric is not None else (parse_non_empty, "")
    rules = tuple(CellRule(column, parse=parse, metric=name) for column in targets)
    columns = (*ids, *(rule.column for rule in rules))
    return SubmissionForm("submission.csv", columns, tuple(ids), cells=rules, keys=keys)


def _label_rules(data: CompetitionData, metric: Metric | None) -> Iterator[CellRule]:
    """Yield the rules for labels and targets in train.csv, in the order of their checks."""
    targets = [name for name in data.targets if name in data.train.columns]
    partly = metric is not None and metric.by_column and bool(data.unknown_labels)
    if not data.metric.answer_kind.may_be_blank and not partly:
        for column in data.labels:
            if column in data.targets or data.one_hot:
                yield CellRule(column, required=True)
    if data.metric.answer_kind.of_classes and len(data.labels) == 1:
        yield CellRule(data.labels[0], distinct=2)
    if data.one_hot:
        yield CellRule(data.labels[0], classes=data.targets)
        return
    if data.positive_class:
        return
    if data.metric.answer_kind in _NUMBER_KINDS and not partly:
        yield from (CellRule(column, number=True) for column in targets)
    if metric is not None:
        for column in targets:
            parse = metric.parser_of_truth(len(targets))
            yield CellRule(column, parse=parse, metric=metric.name, truth=True)


def _normalized_numbers(cells: pd.Series) -> pd.Series:
    """Return the text of numbers as Python writes them, and other cells unchanged."""
    text = cells.fillna("").str.strip()
    plain = text.str.contains(NUMBER)
    if plain.all():
        return text
    values = pd.to_numeric(text.mask(plain, ""), errors="coerce")
    return text.mask(values.notna(), values.astype("float64").map(repr))


def _without_blank(cells: pd.Series) -> pd.Series:
    """Return the cells with None for blank ones."""
    return cells.astype(object).where(cells.str.strip() != "", None)


def _parses(parse: Parse, cells: pd.Series) -> bool:
    try:
        parse(cells)
    except ValueError:
        return False
    return True


def _join_names(names: Iterable[object]) -> str:
    return ", ".join(map(str, list(names)[:30]))
