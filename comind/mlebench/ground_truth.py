"""Read the true answers of a prepared competition, in any format, as a table of text."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from comind.errors import CompetitionError
from comind.mlebench.catalog import BenchmarkCompetition
from comind.tables.csv_tables import read_table

_BOX = ("class_id", "x_min", "y_min", "x_max", "y_max")


def read_answers(entry: BenchmarkCompetition, path: Path) -> pd.DataFrame:
    """Read the answers as text, one row for each row of a submission.

    The columns are the ids, the targets under their names in a submission, and further columns of the
    file.

    Raises:
        CompetitionError: the file is missing, has another format, or lacks a column.
    """
    table = _READERS[entry.answers_are](entry, path)
    for target, column in entry.truth.items():
        _require(path, table, (column,))
        table[target] = table[column]
    size = entry.image_size.model_dump().values() if entry.image_size else ()
    needed = [*entry.ids, *entry.context.values(), *(name for name in size if isinstance(name, str))]
    if entry.scored_rows:
        needed.append(entry.scored_rows.column)
    scored = [t for t in entry.target_columns(()) if not (t == "Confidence" and entry.scored_rows)]
    _require(path, table, (*needed, *scored))
    if not len(table):
        raise CompetitionError(f"{path}: has no rows")
    return table


def _require(path: Path, table: pd.DataFrame, columns: Iterable[str]) -> None:
    for column in columns:
        if column not in table.columns:
            raise CompetitionError(f"{path}: has no column {column!r}")


def _rows(_entry: BenchmarkCompetition, path: Path) -> pd.DataFrame:
    return read_table(path, CompetitionError)


def _boxes(entry: BenchmarkCompetition, path: Path) -> pd.DataFrame:
    """Join the boxes of each image in one row, as "class x_min y_min x_max y_max"."""
    table = read_table(path, CompetitionError)
    name, target = entry.ids[0], entry.target_columns(())[0]
    _require(path, table, (name, *_BOX))
    boxes = table[list(_BOX)].agg(" ".join, axis=1)
    joined = boxes.groupby(table[name], sort=False).agg(" ".join)
    return pd.DataFrame({name: joined.index, target: joined.to_numpy()})


def _questions(entry: BenchmarkCompetition, path: Path) -> pd.DataFrame:
    """Return two rows per question, with its correct answers separated by bars: "start:end|YES"."""
    rows: list[tuple[str, str]] = []
    number = 0
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            number += 1
            rows += answers_of_question(json.loads(line)) if line.strip() else []
    except OSError as error:
        raise CompetitionError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except (ValueError, KeyError, TypeError, IndexError):
        raise CompetitionError(
            f"{path}: line {number} is no question with its annotations",
            hint="as Natural Questions has it",
        ) from None
    return pd.DataFrame(rows, columns=[entry.ids[0], entry.target_columns(())[0]], dtype=str)


def answers_of_question(question: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the row of the long answer of a question and that of the short one."""
    note = question["annotations"][0]
    long = [note["long_answer"]] if note["long_answer"]["start_token"] != -1 else []
    short = [_span(answer) for answer in note["short_answers"]]
    if note["yes_no_answer"] != "NONE":
        short.append(str(note["yes_no_answer"]))
    name = str(question["example_id"])
    return [(f"{name}_long", "|".join(map(_span, long))), (f"{name}_short", "|".join(short))]


def _span(answer: dict[str, Any]) -> str:
    return f"{int(answer['start_token'])}:{int(answer['end_token'])}"


_READERS = {"rows": _rows, "boxes": _boxes, "questions": _questions}
