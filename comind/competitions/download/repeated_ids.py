"""Join the rows of train.csv that have one id, where test rows have one each, as of masks or boxes."""

from pathlib import Path

from comind.competitions.download.findings import Finding
from comind.competitions.download.table_roles import TableColumns
from comind.system.plurals import quantity
from comind.tables.table_files import cells, has_repeats, header, write_rows

SEPARATOR = ";"
"""Between the joined cells of an id."""


def join_repeated_ids(public: Path, columns: TableColumns) -> list[Finding]:
    """Join the rows of an id in train.csv, if their inputs are equal; return what was done.

    Columns with one value an id keep it; the other ones have the values of all rows. Whole rows that
    are there twice are dropped where no others are.
    """
    train = public / "train.csv"
    names = header(train)
    ids = columns.train_id_columns or columns.id_columns
    if not has_repeats(train, ids) or has_repeats(public / "test.csv", columns.id_columns):
        return []
    rows: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    places = [names.index(name) for name in ids]
    for row in cells(train, names):
        rows.setdefault(tuple(row[place] for place in places), []).append(row)
    total = sum(map(len, rows.values()))
    varied = [
        place
        for place in range(len(names))
        if any(len({row[place] for row in group}) > 1 for group in rows.values())
    ]
    inputs = set(header(public / "test.csv"))
    if not varied:
        write_rows(train, names, (group[0] for group in rows.values()))
        text = f"{quantity(total - len(rows), 'row')} that are there twice: dropped"
        return [Finding(topic="train", text=text)]
    if any(names[place] in inputs for place in varied):
        return []
    if any(SEPARATOR in row[place] for group in rows.values() for row in group for place in varied):
        return []
    write_rows(train, names, (_joined(group, varied) for group in rows.values()))
    shown = ", ".join(names[place] for place in varied[:6])
    text = f"{total:,} rows of {len(rows):,} ids, joined by {SEPARATOR!r} to a row each: {shown}"
    return [Finding(topic="train", text=text)]


def _joined(group: list[tuple[str, ...]], varied: list[int]) -> list[str]:
    """Return the row of an id."""
    row = list(group[0])
    for place in varied:
        values = (each[place] for each in group)
        # Of a single column blank cells are no masks; of several, the values stay aligned.
        row[place] = SEPARATOR.join(filter(str.strip, values) if len(varied) == 1 else values)
    return row
