"""Write lists of labels with blanks between the labels, as the metrics of lists read them."""

import contextlib
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

import pandas as pd

from comind.competitions.download.findings import Finding
from comind.competitions.download.page_metric import different_cells
from comind.competitions.download.table_roles import TableColumns
from comind.domain.problem import AnswerKind
from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.metrics.registry import known_metric
from comind.tables.csv_tables import write_table
from comind.tables.table_files import forget_tables, header, text_table

_SEPARATORS = (";", "|", ",")


class LabelLists(Value):
    """The form of lists of labels outside, where it is not labels with blanks between them."""

    separators: dict[str, str] = {}
    """What separates the labels of each column, by its name here."""
    labels: dict[str, str] = {}
    """The name outside of each label that contains blanks there."""

    def here(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with blanks between the labels."""
        known = {outside: label for label, outside in self.labels.items()}

        def words(cell: str, separator: str) -> str:
            if separator not in cell and cell.strip() not in known:
                return cell  # a single label, or a list of ours
            return " ".join(known.get(each, _word(each)) for each in _labels(cell, separator))

        return self._changed(table, words)

    def outside(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table of ours with the separators and labels outside."""
        return self._changed(
            table, lambda cell, separator: separator.join(self.labels.get(w, w) for w in cell.split())
        )

    def _changed(self, table: pd.DataFrame, change: Callable[[str, str], str]) -> pd.DataFrame:
        columns = {
            name: table[name].map(lambda cell, by=separator: change(cell, by))
            for name, separator in self.separators.items()
            if name in table.columns
        }
        return table.assign(**columns) if columns else table


def separate_labels(
    public: Path, columns: TableColumns, metric: object
) -> tuple[list[Finding], LabelLists]:
    """Put blanks between the labels of train.csv and the sample, where the metric compares lists.

    Raises:
        CompetitionError: two labels differ in blanks alone.
    """
    kind = None
    with contextlib.suppress(CompetitionError):
        kind = known_metric(metric).answer_kind if isinstance(metric, str) else None
    if kind is not AnswerKind.LABEL_SET:
        return [], LabelLists()
    paths = {public / "train.csv": columns.label_columns}
    paths[public / "sample_submission.csv"] = columns.target_columns
    separators: dict[str, str] = {}
    labels: dict[str, str] = {}
    for name in dict.fromkeys([*columns.label_columns, *columns.target_columns]):
        of_tables = (text_table(path, [name])[name] for path in paths if name in paths[path])
        found = set(chain.from_iterable(of_tables))
        separator = next((each for each in _SEPARATORS if any(each in cell for cell in found)), None)
        if separator is not None:
            separators[name] = separator
            outside = {label for cell in found for label in _labels(cell, separator)}
            labels |= {_word(label): label for label in outside if _word(label) != label}
            _refuse_equal(outside)
    if not separators:
        return _of_blanks(different_cells(public / "train.csv", columns.label_columns)), LabelLists()
    lists = LabelLists(separators=separators, labels=labels)
    for path in paths:
        write_table(lists.here(text_table(path, header(path))), path)
        forget_tables()
    shown = ", ".join(f"{name} ({separator!r})" for name, separator in separators.items())
    text = f"labels that other characters separate, here with blanks: {shown}"
    if labels:
        label, outside_name = next(iter(labels.items()))
        text += f"; {outside_name!r} is {label!r}"
    return [Finding(topic="labels", text=f"{text}; submissions get their form of outside")], lists


def _labels(cell: str, separator: str) -> list[str]:
    return [label for part in cell.split(separator) if (label := part.strip())]


def _word(label: str) -> str:
    return "_".join(label.split())


def _refuse_equal(labels: Iterable[str]) -> None:
    """Raise CompetitionError where two labels differ in blanks alone."""
    seen: dict[str, str] = {}
    for label in sorted(labels):
        if (other := seen.setdefault(_word(label), label)) != label:
            raise CompetitionError(
                f"the labels {label!r} and {other!r} are one with underscores for blanks",
                hint="rename one of the two",
            )


def _of_blanks(cells: Iterable[str]) -> list[Finding]:
    """Return how labels with blanks are read, which may be one label outside."""
    first = next((cell for cell in sorted(cells) if len(cell.split()) > 1), None)
    if first is None:
        return []
    count = len(first.split())
    return [Finding(topic="labels", text=f"blanks separate labels: {first!r} is {count} labels")]
