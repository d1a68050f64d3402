"""Read the tables in a public file of any form, and write a file without some of its rows.

Delimited text, XML, JSON, JSON lines, Parquet, Feather, Arrow, NumPy, SQLite and Excel files, and what
is in zip, tar, gzip, bzip2 and xz archives. Nothing that a file holds is run: pickles are not loaded.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import sqlite3
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

from comind.competitions.row_files import file_kind
from comind.tables.json_tables import json_tables
from comind.tables.markup_tables import markup_table
from comind.tables.text_tables import decoded, delimited, delimiter, json_lines, records
from comind.tables.workbooks import SUFFIXES as WORKBOOKS
from comind.tables.workbooks import column_letters, sheets_of

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".npz")
WHOLE_BYTES = 32 << 20
"""Files up to this size are read whole; of larger texts and Parquet files, parts."""
_PART_BYTES, _PARTS = 1 << 20, 16
_UNPACKED_BYTES = 256 << 20
_DEEPEST = 3
_MOST_ROWS = 200_000
_BROKEN = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, sqlite3.Error),
    *(csv.Error, pa.ArrowException, RecursionError),
)

Form = Literal["delimited", "lines", "json", "json lines", "parquet", "feather", "array", ""]
Mask = npt.NDArray[np.bool_]


class SideTable(NamedTuple):
    """A table in a file."""

    table: pd.DataFrame
    """Text cells."""
    form: Form
    """How the file is written again without some rows; empty if it cannot be."""
    whole: bool = True
    """Whether it has all rows."""


class UnreadableError(Exception):
    """A file that cannot be searched; the message says why."""


def shown_name(name: str) -> str:
    """Return a file's name as text, which it need not be."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


def read_side_tables(path: Path) -> list[SideTable]:
    """Return the tables of a file; none for a picture or sound.

    Raises:
        UnreadableError: it has another form, is damaged, encrypted or too large.
    """
    size = path.stat().st_size
    try:
        if size <= WHOLE_BYTES:
            return _tables(path.name, path.read_bytes(), 1)
        with path.open("rb") as file:
            head = file.read(_PART_BYTES)
        if head.startswith(b"PAR1"):
            return [_parts_of_parquet(path)]
        if head.startswith(b"\x93NUMPY"):
            return _arrays([np.load(path, mmap_mode="r", allow_pickle=False)])
        if _archive(path.name, head) or _is_binary(head) or head.lstrip().startswith(b"["):
            raise UnreadableError(f"larger than {WHOLE_BYTES >> 20} MiB")
        parts = b"".join(_text_parts(path, size))
        return [each._replace(whole=False) for each in _text_tables(parts)]
    except _BROKEN:
        raise UnreadableError("damaged") from None


def members_of(path: Path) -> list[str]:
    """Return the names of the files in an archive; none for another file, or a damaged one."""
    try:
        with path.open("rb") as file:
            kind = _archive(path.name, file.read(1 << 10))
        if kind == "zip":
            with zipfile.ZipFile(path) as archive:
                return [each.filename for each in archive.infolist() if not each.is_dir()]
        if kind:
            with tarfile.open(path) as tar:
                return [each.name for each in tar if each.isreg()]
    except _BROKEN:
        pass
    return []


def _tables(name: str, data: bytes, depth: int) -> list[SideTable]:
    suffix = PurePosixPath(name).suffix.lower()
    if file_kind(name) in ("image", "audio") or not data.strip():
        return []
    if suffix in (".pkl", ".pickle", ".joblib") or (data[:1] == b"\x80" and data[1:2] in b"\2\3\4\5"):
        raise UnreadableError("a pickle, which is not loaded")
    if data.startswith(b"PAR1"):
        return [SideTable(_frame(parquet.read_table(io.BytesIO(data))), "parquet")]
    if data.startswith((b"ARROW1", b"FEA1")):
        return [SideTable(_frame(feather.read_table(io.BytesIO(data))), "feather")]
    if data.startswith(b"\x93NUMPY"):
        return _arrays([np.load(io.BytesIO(data), allow_pickle=False)])
    if data.startswith(b"SQLite format 3\0"):
        return _database(data)
    if suffix in WORKBOOKS:
        sheets = (each.rows for each in sheets_of(data))
        return [
            SideTable(pd.DataFrame(rows, columns=column_letters(len(rows[0])), dtype=object), "")
            for rows in sheets
        ]
    if kind := _archive(name, data):
        return _archived(name, data, kind, depth)
    if _is_binary(data):
        raise UnreadableError("no form that is known")
    return _text_tables(data)


def _is_binary(data: bytes) -> bool:
    return b"\0" in data[:_PART_BYTES] and not data.startswith((b"\xff\xfe", b"\xfe\xff"))


def _archive(name: str, data: bytes) -> str:
    """Return the kind of an archive; empty for another file."""
    magic = {b"PK\3\4": "zip", b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ": "xz"}
    found = next((kind for start, kind in magic.items() if data.startswith(start)), "")
    return found or ("tar" if data[257:262] == b"ustar" or name.endswith(".tar") else "")


def _archived(name: str, data: bytes, kind: str, depth: int) -> list[SideTable]:
    """Return the tables in an archive; arrays of one length are columns of one table."""
    if depth > _DEEPEST:
        raise UnreadableError("archives in archives")
    found: list[SideTable] = []
    arrays: list[npt.NDArray[Any]] = []
    for member, content in _contents(name, data, kind):
        if content.startswith(b"\x93NUMPY"):
            arrays.append(np.load(io.BytesIO(content), allow_pickle=False))
        else:
            found += [each._replace(form="") for each in _tables(member, content, depth + 1)]
    return found + [each._replace(form="") for each in _arrays(arrays)]


def _contents(name: str, data: bytes, kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names and bytes of the files in an archive."""
    if kind == "zip":
        yield from _zipped(data)
        return
    if kind != "tar":
        with _unpacked(kind, io.BytesIO(data)) as unpacked:
            data = unpacked.read(_UNPACKED_BYTES + 1)
        if len(data) > _UNPACKED_BYTES:
            raise UnreadableError(f"larger than {_UNPACKED_BYTES >> 20} MiB")
        if _archive("", data) != "tar":
            yield PurePosixPath(name).stem, data
            return
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for member in tar:
            stream = tar.extractfile(member) if member.isreg() else None
            if stream is not None:
                yield member.name, stream.read()


def _unpacked(kind: str, packed: io.BytesIO) -> IO[bytes]:
    if kind == "gz":
        return cast("IO[bytes]", gzip.open(packed))
    return bz2.open(packed) if kind == "bz2" else lzma.open(packed)


def _zipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    left = _UNPACKED_BYTES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or file_kind(entry.filename) in ("image", "audio"):
                continue
            if entry.flag_bits & 1:
                raise UnreadableError("encrypted")
            left -= entry.file_size
            if left < 0:
                raise UnreadableError(f"larger than {_UNPACKED_BYTES >> 20} MiB")
            yield entry.filename, archive.read(entry)


def _frame(table: "pa.Table") -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas()
    if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    return _as_text(frame)


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    names = [str(name) for name in frame.columns]
    texts = [frame.iloc[:, place].astype(str).to_numpy(object) for place in range(len(names))]
    return pd.DataFrame(dict(enumerate(texts))).set_axis(names, axis="columns")


def _parts_of_parquet(path: Path) -> SideTable:
    with parquet.ParquetFile(path) as file:
        groups = file.num_row_groups
        some = sorted({0, groups // 2, groups - 1})
        table = file.read_row_groups(some)
    return SideTable(_frame(table.slice(0, _MOST_ROWS)), "parquet", whole=False)


def _arrays(arrays: Sequence[npt.NDArray[Any]]) -> list[SideTable]:
    """Return the vectors and matrices of one length as a table."""
    by_length: dict[int, dict[str, npt.NDArray[Any]]] = {}
    for number, array in enumerate(arrays):
        columns: dict[str, npt.NDArray[Any]] = {}
        if array.dtype.names:
            columns = {name: array[name] for name in array.dtype.names}
        elif array.ndim == 1:
            columns = {f"array {number}": array}
        elif array.ndim == 2:  # noqa: PLR2004 - a matrix
            width = array.shape[1]
            places = [*range(min(width, 380)), *range(max(380, width - 20), width)]
            columns = {f"array {number} column {place}": array[:, place] for place in places}
        if columns:
            by_length.setdefault(len(array), {}).update(columns)
    return [
        SideTable(_as_text(pd.DataFrame(columns)), "array" if len(arrays) == 1 else "")
        for columns in by_length.values()
    ]


def _database(data: bytes) -> list[SideTable]:
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(data)
        file.flush()
        with sqlite3.connect(f"file:{file.name}?mode=ro&immutable=1", uri=True) as opened:
            found = opened.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            tables = []
            for (name,) in found.fetchall():
                quoted = '"' + name.replace('"', '""') + '"'
                rows = opened.execute(f"SELECT * FROM {quoted} LIMIT {_MOST_ROWS}")  # noqa: S608 - quoted
                names = [each[0] for each in rows.description]
                tables.append(pd.DataFrame(rows.fetchall(), columns=names))
    return [SideTable(_as_text(table), "") for table in tables if len(table)]


def _text_parts(path: Path, size: int) -> Iterator[bytes]:
    """Yield the first part of a text, and others, of whole lines, in equal distances."""
    with path.open("rb") as file:
        for number in range(_PARTS):
            file.seek(number * (size // _PARTS))
            part = file.read(_PART_BYTES)
            start = part.find(b"\n") + 1 if number else 0
            yield part[start : part.rfind(b"\n") + 1]


def _text_tables(data: bytes) -> list[SideTable]:
    text, _ = decoded(data)
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except ValueError:
            pass
        else:
            is_list = isinstance(value, list)
            return [SideTable(_as_text(each), "json" if is_list else "") for each in json_tables(value)]
        if (lines := json_lines(text)) is not None:
            return [SideTable(_as_text(each), "json lines") for each in json_tables(lines)[:1]]
    if text.lstrip()[:1] == "<" and (table := markup_table(text)) is not None:
        return [SideTable(_as_text(table), "")]
    mark = delimiter(text)
    found = [SideTable(delimited(text, mark), "delimited")]
    if mark == " ":  # or words
        found.append(SideTable(delimited(text, ""), "lines"))
    return found


def without_rows(path: Path, form: Form, held_out: Callable[[pd.DataFrame], Mask]) -> bytes:
    """Return the bytes of a file without the rows that are held out."""
    data = path.read_bytes()
    out = io.BytesIO()
    if form == "parquet":
        whole = parquet.read_table(io.BytesIO(data))
        parquet.write_table(whole.filter(pa.array(~held_out(_frame(whole)))), out)
    elif form == "feather":
        whole = feather.read_table(io.BytesIO(data))
        feather.write_feather(whole.filter(pa.array(~held_out(_frame(whole)))), out)
    elif form == "array":
        array = np.load(io.BytesIO(data), allow_pickle=False)
        np.save(out, array[~held_out(_arrays([array])[0].table)])
    else:
        text, encoding = decoded(data)
        if form in ("delimited", "lines"):
            kept = _kept_records(text, delimiter(text) if form == "delimited" else "", held_out)
        else:
            values = json.loads(text) if form == "json" else json_lines(text)
            assert isinstance(values, list)
            mask = held_out(_as_text(json_tables(values)[0]))
            left = [value for value, gone in zip(values, mask, strict=True) if not gone]
            lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in left)
            kept = json.dumps(left, ensure_ascii=False) if form == "json" else lines
        out.write(kept.encode(encoding))
    return out.getvalue()


def _kept_records(text: str, mark: str, held_out: Callable[[pd.DataFrame], Mask]) -> str:
    mask = held_out(delimited(text, mark))
    texts = (own for _, own in records(text, mark))
    return "".join(own for own, gone in zip(texts, mask, strict=True) if not gone)
