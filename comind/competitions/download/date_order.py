"""Settle whether day or month is first in columns of dates of which no cell decides it."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import pandas as pd

from comind.competitions.download.findings import Finding, Question
from comind.errors import CompetitionError
from comind.tables.csv_tables import write_table
from comind.tables.dates import are_numeric_dates, iso_of_day_first, order_of_dates
from comind.tables.table_files import cells, forget_tables, header, text_table

_LOOKED_AT, _SHOWN = 1_000, 6
DAY_FIRST = "day_first"
"""Key of a competition.yaml beside the files: the columns whose dates have the day first."""


def order_dates(public: Path, day_first: Sequence[str] | None) -> list[Finding]:
    """Write dates with the day first as ISO dates, where `day_first` or one of the two tables says so.

    It is asked for where it is None, and no cell of both tables decides.

    Raises:
        CompetitionError: `day_first` names a column that the tables do not have.
    """
    paths = [public / "train.csv", public / "test.csv"]
    shared = [name for name in header(paths[1]) if name in header(paths[0])]
    if unknown := [name for name in day_first or () if name not in shared]:
        raise CompetitionError(
            f"{public}: {DAY_FIRST} names {unknown[0]!r}, which is no column of train.csv and test.csv",
            hint=f"such columns are {', '.join(shared[:_SHOWN])}",
        )
    first = pd.DataFrame(islice(cells(paths[0], shared), _LOOKED_AT), columns=shared, dtype=str)
    findings, unclear = [], {}
    for name in (each for each in shared if len(first) and are_numeric_dates(first[each])):
        columns = {path: text_table(path, [name])[name] for path in paths}
        orders = {path: order_of_dates(column) for path, column in columns.items()}
        found = {*orders.values()}
        if found == {"open"} and name not in (day_first or ()):
            unclear[name] = columns[paths[0]].iloc[0]
        elif found == {"open"} or (found > {"day"} and found <= {"day", "month", "open"}):
            why = "competition.yaml" if found == {"open"} else "cells of one table say so"
            text = f"{name}: the day is first ({why}); written as ISO dates"
            findings.append(Finding(topic="dates", text=text))
            for path in (each for each in paths if orders[each] != "month"):
                table = text_table(path, header(path))
                write_table(table.assign(**{name: iso_of_day_first(table[name])}), path)
                forget_tables()
    return [*findings, *([_question(unclear, asked=day_first is None)] if unclear else [])]


def _question(unclear: Mapping[str, str], *, asked: bool) -> Finding:
    """Return the finding on columns of which no cell decides, each with a cell."""
    shown = ", ".join(f"{name} ({cell})" for name, cell in unclear.items())
    text = (
        f"no cell decides whether day or month is first: {shown}; read with the month first, else add "
    )
    text += f"`{DAY_FIRST}: [NAME]` to a competition.yaml beside the files"
    question = Question(
        key=DAY_FIRST, text="columns with the day first", choices=tuple(unclear), several=True
    )
    return Finding(topic="dates", text=text, question=question if asked else None)
