"""Read CSV files that may be anything; every failure is one line that says what and where."""

import csv
from io import StringIO
from pathlib import Path

import pandas as pd

from comind.errors import ComindError

__all__ = ["read_table"]


def read_table(path: Path, failure: type[ComindError]) -> pd.DataFrame:
    """Return the table in a CSV file, every cell as the text that stands there.

    Args:
        path: the file; UTF-8, with a header line.
        failure: the error to raise, as the caller knows whose file this is.

    Raises:
        ComindError: of the kind `failure`; the file is missing, empty, not UTF-8 or not a table.
    """
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise failure(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except UnicodeDecodeError as error:
        raise failure(
            f"{path}: is not UTF-8 text (byte {error.start})",
            hint="save it again as UTF-8, for instance with: iconv -f latin1 -t utf-8",
        ) from None
    if not content.strip():
        raise failure(f"{path}: is empty")
    if "\0" in content:
        raise failure(f"{path}: is not text but binary data")
    _check_header(content, path, failure)
    try:
        table = pd.read_csv(StringIO(content), dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, csv.Error, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise failure(f"{path}: is not a table ({reason})") from None
    if not isinstance(table.index, pd.RangeIndex):
        raise failure(f"{path}: its rows have more cells than its header")
    return table


def _check_header(content: str, path: Path, failure: type[ComindError]) -> None:
    header = next(csv.reader(StringIO(content)))
    if any(not name.strip() for name in header):
        raise failure(f"{path}: a column in the header has no name")
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise failure(f"{path}: the column {min(repeated)!r} appears twice")
