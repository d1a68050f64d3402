"""Settle whether day or month is first in columns of dates of which no cell decides it."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pandas as pd

from comind.competitions.download.findings import Finding, Question
from comind.errors import CompetitionError
from comind.tables.csv_tables import write_table
from comind.tables.dates import are_numeric_dates, iso_of_day_first, order_is_open
from comind.tables.table_files import cells, forget_tables, header, text_table

_LOOKED_AT, _SHOWN = 1_000, 6
DAY_FIRST = "day_first"
"""Key of a competition.yaml beside the files: the columns whose dates have the day first."""


def order_dates(public: Path, day_first: Sequence[str] | None) -> list[Finding]:
    """Write dates of train.csv and test.csv with the day first as ISO dates, where `day_first` says so.

    It is asked for where it is None.

    Raises:
        CompetitionError: `day_first` names a column that the tables do not have.
    """
    paths = [public / "train.csv", public / "test.csv"]
    shared = [name for name in header(paths[1]) if name in header(paths[0])]
    first = pd.DataFrame(islice(cells(paths[0], shared), _LOOKED_AT), columns=shared, dtype=str)
    unclear = {}
    for name in shared if len(first) else ():
        if are_numeric_dates(first[name]):
            both = pd.concat([text_table(path, [name])[name] for path in paths], ignore_index=True)
            if order_is_open(both):
                unclear[name] = both.iloc[0]
    if unknown := [name for name in day_first or () if name not in shared]:
        raise CompetitionError(
            f"{public}: {DAY_FIRST} names {unknown[0]!r}, which is no column of train.csv and test.csv",
            hint=f"such columns are {', '.join(shared[:_SHOWN])}",
        )
    settled = [name for name in unclear if name in (day_first or ())]
    for path in paths if settled else ():
        table = text_table(path, header(path))
        write_table(table.assign(**{name: iso_of_day_first(table[name]) for name in settled}), path)
        forget_tables()
    findings = []
    if settled:
        text = f"{', '.join(settled)}: the day is first (competition.yaml); written as ISO dates"
        findings.append(Finding(topic="dates", text=text))
    if left := [name for name in unclear if name not in settled]:
        shown = ", ".join(f"{name} ({unclear[name]})" for name in left)
        text = (
            f"no cell decides whether day or month is first: {shown}; read with the month first, else "
        )
        text += f"add `{DAY_FIRST}: [NAME]` to a competition.yaml beside the files"
        asked = Question(
            key=DAY_FIRST, text="columns with the day first", choices=tuple(left), several=True
        )
        findings.append(Finding(topic="dates", text=text, question=asked if day_first is None else None))
    return findings
