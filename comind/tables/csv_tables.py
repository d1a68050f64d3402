"""Read, validate and write CSV files, and match their rows by key; failures are one-line errors."""

import codecs
import csv
import sys
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from comind.errors import ComindError, DiskError, SubmissionError
from comind.system.files import DISK_FULL, atomic_file
from comind.system.progress import counted
from comind.tables.encodings import encoding_of
from comind.tables.mapped_table import map_table, release_memory
from comind.tables.regular_csv import MAPPED_BYTES, read_regular

if TYPE_CHECKING:
    from _csv import Reader

Mask = npt.NDArray[np.bool_]
"""Whether each row is meant, shape (rows,)."""

_HEADER_BYTES = 1 << 20
_CHUNK = 1 << 20
_BLOCK_ROWS = 100_000
_BLOCK_BYTES = 8 << 20  # of text, about: a block of long cells has fewer rows

csv.field_size_limit(sys.maxsize)  # cells may contain whole documents


def read_table(
    path: Path, failure: type[ComindError], known: dict[tuple[int, ...], str] | None = None
) -> pd.DataFrame:
    """Read a CSV file (UTF-8, with a header) as a table of unparsed text.

    The file is streamed; the table takes its text and 8 bytes a cell, of a file of more than 16 MiB in
    a mapped temporary file, see `map_table`. The file's hash may be added to `known`, see `hash_tree`.

    Raises:
        ComindError: of type `failure`; the file is missing, empty, not UTF-8 or not a table.
        DiskError: the temporary file needs more space than there is.
    """
    try:
        table = read_regular(path, known)
        return table if table is not None else read_irregular(path, failure)
    except OSError as error:
        if error.errno in DISK_FULL:
            hint = "set TMPDIR to a folder with about twice as much free space as the table's size"
            raise DiskError(f"{path}: no space left in {error.filename}", hint=hint) from None
        raise failure(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except (pd.errors.ParserError, csv.Error, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise failure(f"{path}: is not a table ({reason})") from None


def read_irregular(path: Path, failure: type[ComindError]) -> pd.DataFrame:
    """Read any CSV file as `read_table` does, in four times the time.

    Raises:
        ComindError: as those of `read_table`, and other errors as they come.
    """
    _check_text(path, failure)
    rows, size = _check_cells(path, failure), path.stat().st_size
    with path.open(encoding="utf-8-sig", newline="") as file:
        if size < MAPPED_BYTES:
            return pd.read_csv(file, dtype=str, keep_default_na=False)
        unit = max(1, min(_BLOCK_ROWS, rows * _BLOCK_BYTES // size))
        with pd.read_csv(file, dtype=str, keep_default_na=False, chunksize=unit) as blocks:
            read = counted(blocks, f"rows of {path.name} read", every=1, unit=unit)
            return map_table(pa.Table.from_pandas(each, preserve_index=False) for each in read)


def read_header(path: Path) -> list[str]:
    """Return the column names of a CSV file; an empty list if it has no header."""
    with path.open("rb") as file:
        first = file.read(_HEADER_BYTES).decode("utf-8-sig", errors="replace")
    try:
        return _header(csv.reader(StringIO(first, newline="")))
    except (csv.Error, StopIteration):
        return []


def write_table(
    table: pd.DataFrame, path: Path, *, rows: Mask | None = None, block_rows: int = _BLOCK_ROWS
) -> None:
    """Write a table of text atomically, `block_rows` at a time; `read_table` returns the same cells.

    With `rows`, only those are written; no copy of the table is made.
    """
    with atomic_file(path) as file:
        for text in _csv_blocks(table, rows, block_rows):
            if "\r" in text:  # to_csv does not quote carriage returns by default
                break
            file.write(text.encode())
        else:
            return
        file.seek(0)
        file.truncate()
        for text in _csv_blocks(table, rows, block_rows, csv.QUOTE_ALL):
            file.write(text.encode())


def _csv_blocks(
    table: pd.DataFrame, rows: Mask | None, unit: int, quoting: Literal[0, 1] = csv.QUOTE_MINIMAL
) -> Iterator[str]:
    """Yield the text of a table as CSV, `unit` rows at a time; the header first."""
    firsts = range(0, max(1, len(table)), unit)
    for first in counted(firsts, "rows written", len(table), every=1, unit=unit):
        block = table.iloc[first : first + unit]
        if rows is not None:
            block = block[rows[first : first + unit]]
        release_memory()  # pages of the blocks before
        yield block.to_csv(index=False, header=not first, lineterminator="\n", quoting=quoting)


def row_keys(table: pd.DataFrame, ids: list[str]) -> pd.Index:
    """Return one key per row; `7`, `7.0` and ` 7` are the same key."""
    parts = [table[name].str.strip().str.replace(r"^(-?\d+)\.0+$", r"\1", regex=True) for name in ids]
    if len(parts) == 1:
        return pd.Index(parts[0])
    return pd.Index(list(zip(*parts, strict=True)), tupleize_cols=False)


def join_rows(table: pd.DataFrame, ids: list[str], columns: list[str], separator: str) -> pd.DataFrame:
    """Return one row per key: the non-blank cells of `columns` joined, of the others the first one.

    A table without repeated keys, or without a column of `ids`, is returned as it is.
    """
    if not set(ids) <= set(table.columns):
        return table
    keys = row_keys(table, ids)
    if not keys.has_duplicates:
        return table
    places = pd.Series(pd.factorize(keys)[0], index=table.index)
    joined = table.groupby(places).first()
    for name in table.columns.intersection(columns, sort=False):
        filled = table[name].where(table[name].str.strip() != "").dropna()
        joined[name] = filled.groupby(places).agg(separator.join).reindex(joined.index, fill_value="")
    return joined.reset_index(drop=True)


def split_rows(table: pd.DataFrame, columns: list[str], separator: str) -> pd.DataFrame:
    """Return a row for each of the values that `separator` divides in some columns, as many in each."""
    cells = {name: table[name].str.split(separator) for name in columns}
    return table.assign(**cells).explode(columns, ignore_index=True)


def reject_columns(found: list[str], expected: list[str]) -> NoReturn:
    """Raise an error that names the first missing or unexpected column.

    Raises:
        SubmissionError: always.
    """
    wanted = f"expected {', '.join(expected[:30])}"
    for name in expected:
        if name not in found:
            raise SubmissionError(f"the column {name!r} is missing; {wanted}")
    surplus = next(name for name in found if name not in expected)
    raise SubmissionError(f"the column {surplus!r} is unexpected; {wanted}")


def check_row_keys(found: pd.Index, expected: pd.Index, label: str) -> None:
    """Check that each expected key occurs once, and no other; `label` names the id columns.

    Raises:
        SubmissionError: a key is missing, unexpected or duplicated.
    """
    if found.has_duplicates:
        raise SubmissionError(f"the id {found[found.duplicated()][0]!r} ({label}) appears twice")
    missing = expected.difference(found, sort=False)
    if len(missing):
        lost = (
            f"{len(missing)} of {len(expected)} ids ({label}) are missing, for instance {missing[0]!r}"
        )
        if str(missing[0]).startswith("0") and str(missing[0]).lstrip("0") in found:
            lost += f" ({str(missing[0]).lstrip('0')!r} is there: read ids as text, with dtype=str)"
        raise SubmissionError(lost)
    surplus = found.difference(expected, sort=False)
    if len(surplus):
        raise SubmissionError(
            f"{len(surplus)} ids ({label}) are unexpected, for instance {surplus[0]!r}"
        )


def check_train_keys(found: pd.Index, train: pd.Index) -> None:
    """Check that each key occurs once and is one of train.csv.

    Raises:
        SubmissionError: a key is duplicated, or is not in train.csv.
    """
    if found.has_duplicates:
        raise SubmissionError(f"the id {found[found.duplicated()][0]!r} appears twice")
    unknown = found[~found.isin(train)]
    if len(unknown):
        raise SubmissionError(
            f"{len(unknown)} of its ids are not in train.csv, for instance {unknown[0]!r}"
        )


def _header(lines: Iterator[list[str]]) -> list[str]:
    """Return the cells of the first non-blank line."""
    return next(line for line in lines if "".join(line).strip())


def _check_text(path: Path, failure: type[ComindError]) -> None:
    """Reject a file that is empty or not UTF-8 text."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    wrong: str | None = None
    blank, fed = True, 0
    with path.open("rb") as file:
        encoding = encoding_of(file)
        file.seek(0)
        for chunk in iter(lambda: file.read(_CHUNK), b""):
            if b"\0" in chunk and encoding != "utf-16":
                raise failure(f"{path}: is not text but binary data")
            fed += len(chunk)
            if wrong is None:
                try:
                    blank &= not decoder.decode(chunk).strip()
                except UnicodeDecodeError as error:
                    wrong = f"byte {fed - len(error.object) + error.start}"
    try:
        decoder.decode(b"", final=wrong is None)
    except UnicodeDecodeError as error:
        wrong = f"byte {fed - len(error.object) + error.start}"
    if wrong is not None:
        raise failure(
            f"{path}: is not UTF-8 text ({wrong})",
            hint=f"save it again as UTF-8, for instance with: iconv -f {encoding} -t utf-8",
        )
    if blank:
        raise failure(f"{path}: is empty")


def _check_cells(path: Path, failure: type[ComindError]) -> int:
    """Reject unnamed and duplicate columns, and rows of another length, which pandas would pad.

    Returns the number of rows, blank ones included.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        try:
            return _check_rows(lines, _checked_header(lines, path, failure), path, failure)
        except StopIteration:
            raise failure(f"{path}: has no header") from None
        except csv.Error as error:
            raise failure(f"{path}: line {lines.line_num} cannot be read ({error})") from None


def _checked_header(lines: "Reader", path: Path, failure: type[ComindError]) -> list[str]:
    header = _header(lines)
    if any(not name.strip() for name in header):
        raise failure(f"{path}: a column in the header has no name")
    if len(header) == 1 and (found := next((s for s in ";\t" if s in header[0]), "")):
        raise failure(f"{path}: its cells are separated by {found!r}", hint="save it again with commas")
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise failure(f"{path}: the column {name!r} appears twice")
    return header


def _check_rows(lines: "Reader", header: list[str], path: Path, failure: type[ComindError]) -> int:
    width, start, rows = len(header), lines.line_num + 1, 0
    for line in counted(lines, f"rows of {path.name} checked", every=_BLOCK_ROWS):
        if len(line) != width and "".join(line).strip():
            raise failure(
                f"{path}: line {start} has {len(line)} cells, but the header {width}",
                hint='put quotation marks around a cell with a comma, and close them: "like, this"',
            )
        start = lines.line_num + 1
        rows += 1
    return rows
