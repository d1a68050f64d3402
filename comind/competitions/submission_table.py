"""Read submissions and answers as tables of text with one row for each id."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import pandas as pd

from comind.domain.problem import AnswerKind
from comind.errors import SubmissionError
from comind.metrics import Metric
from comind.tables.csv_tables import join_rows, read_table

# Bytes of an average cell with its comma. A double has at most 24 digits, as `repr` writes it.
_CELL_BYTES = {
    AnswerKind.NUMBER: 32,
    AnswerKind.PROBABILITY: 32,
    AnswerKind.CLASS_PROBABILITIES: 32,
    AnswerKind.LABEL: 1 << 10,
    AnswerKind.LABEL_SET: 64 << 10,
    AnswerKind.TEXT: 64 << 10,
}
_ID_BYTES, _LETTER_BYTES = 16, 4  # commas, quotes and the like; UTF-8
_OTHER_CELL_BYTES = 1 << 20  # masks, and cells of an unknown kind
_MARGIN = 4  # times the expected size, so that a few surplus rows are reported by their ids
_LEAST = 1 << 20
_MB = 1_000_000


class ExpectedSize(NamedTuple):
    """Rows and target columns of a submission, and the size that no valid one exceeds."""

    rows: int
    columns: int
    most_bytes: int

    @classmethod
    def of(cls, keys: pd.Index, targets: Sequence[str], answer_kind: AnswerKind | None) -> Self:
        """Return the expected size for the rows with these keys; None is an unknown kind of cells."""
        cell = _CELL_BYTES.get(answer_kind, _OTHER_CELL_BYTES) if answer_kind else _OTHER_CELL_BYTES
        letters = sum(map(len, map("".join, keys))) + sum(map(len, targets))  # of ids and header
        expected = _LETTER_BYTES * letters + len(keys) * (_ID_BYTES + len(targets) * cell)
        return cls(len(keys), len(targets), _LEAST + _MARGIN * expected)


def read_submission(
    path: Path, ids: Sequence[str], targets: Sequence[str], metric: Metric | None, *, size: ExpectedSize
) -> pd.DataFrame:
    """Read a submission with one row for each id; columns and ids are not checked.

    Raises:
        SubmissionError: it is no table, or larger than any valid submission and so not read.
    """
    found = path.stat().st_size if path.is_file() else 0
    if found > size.most_bytes:
        raise SubmissionError(
            f"has {found / _MB:.1f} MB, and at most {size.most_bytes / _MB:.1f} MB are expected of "
            f"{size.rows} rows with {size.columns} target columns"
        )
    return one_row_per_id(read_table(path, SubmissionError), ids, targets, metric)


def one_row_per_id(
    table: pd.DataFrame, ids: Sequence[str], targets: Sequence[str], metric: Metric | None
) -> pd.DataFrame:
    """Join the rows of an id where tables of the metric may have several, such as one for each mask.

    Whatever reads submissions, answers or labels of a metric calls this, so that all score them alike.
    """
    if metric is None or not metric.row_separator:
        return table
    return join_rows(table, list(ids), list(targets), metric.row_separator)
