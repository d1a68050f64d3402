"""Write arrays that were saved by NumPy as tables and pictures; refuse pickles.

Arrays are memory-mapped, members of an `.npz` after they are unpacked, and rows are written in blocks: a
table larger than memory is no obstacle. Nothing that a file holds is run.
"""

import csv
import re
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comind.competitions.download.archives import check_free_space, extract_each, safe_name
from comind.errors import CompetitionError

ARRAY_SUFFIXES = (".npy", ".npz")
PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib")

Array = npt.NDArray[Any]

_BLOCK = 4_096  # rows in memory
_LEAST_SIDE = 4  # pixels
_CHANNELS = (1, 3, 4)
_PART = re.compile(r"(?:^|_)(train|test)(?:_|$)", re.IGNORECASE)
_DIGITS = 16  # characters of a number, for the check of free space


def check_no_pickle(path: Path) -> None:
    """Refuse a pickle by its suffix; it is never opened.

    Raises:
        CompetitionError: it is one.
    """
    if path.suffix.lower() in PICKLE_SUFFIXES:
        raise CompetitionError(
            f"{path}: is a pickle, which can run code", hint="save it as parquet or csv"
        )


def unpack_arrays(path: Path, target: Path) -> tuple[str, ...]:
    """Write the arrays of an `.npy` or `.npz` file below `target`; return the names of the files.

    Arrays of one part (train or test, by their names) and length are the columns of one CSV file with a
    column `id`: the row's number, as arrays have no ids. A vector is one column of its name, a matrix
    many, records one for each field. Bytes (rows, height, width[, 1, 3 or 4]) are written as PNG files
    with their paths in a column `file`.

    Raises:
        CompetitionError: an array holds Python objects, has another shape, or the file is corrupt.
        DiskError: there is not enough disk space.
    """
    target.mkdir(parents=True, exist_ok=True)
    made: list[str] = []
    with tempfile.TemporaryDirectory(prefix=".arrays-", dir=target) as scratch:
        tables: dict[tuple[str, int], dict[str, Array]] = defaultdict(dict)
        for name, array in _arrays(path, Path(scratch)):
            part = _PART.search(name)
            short = _PART.sub("_", name).strip("_") or name
            table = part[1].lower() if part else path.stem
            tables[table, len(array)][short if part else name] = array
        for (stem, rows), columns in sorted(tables.items()):
            several = sum(other == stem for other, _ in tables) > 1
            made += _write_table(f"{stem}_{rows}" if several else stem, columns, target)
    return tuple(sorted(made))


def _arrays(path: Path, scratch: Path) -> Iterator[tuple[str, Array]]:
    """Yield the name and the memory-mapped values of each array."""
    if path.suffix.lower() == ".npy":
        yield path.stem, _mapped(path, path.name)
        return
    if not zipfile.is_zipfile(path):
        raise _unreadable(path.name, "no zip")
    for number, (name, file) in enumerate(extract_each(path, scratch / "member")):
        kept = file.rename(scratch / f"{number}.npy")
        yield re.sub(r"\W+", "_", name.removesuffix(".npy")), _mapped(kept, f"{path.name}: {name}")


def _mapped(file: Path, name: str) -> Array:
    """Map an array of numbers or texts into memory.

    Raises:
        CompetitionError: it holds Python objects, is corrupt, or is neither a table nor pictures.
    """
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, OverflowError, MemoryError, SyntaxError) as error:
        if "pickle" in str(error).lower():
            raise CompetitionError(
                f"{name}: holds Python objects, which can run code", hint="save numbers or texts only"
            ) from None
        raise _unreadable(name, str(error)) from None
    if not isinstance(array, np.ndarray):
        raise _unreadable(name, "an archive")
    plain = array.dtype.kind in "biufU" and array.ndim in (1, 2)
    records = array.dtype.names is not None and array.ndim == 1
    if not (plain or records or _is_pictures(array)):
        raise CompetitionError(
            f"{name}: {array.dtype} of shape {array.shape} is neither a table nor pictures",
            hint="save a matrix, or pictures as bytes (rows, height, width, channels)",
        )
    return array


def _unreadable(name: str, why: str) -> CompetitionError:
    return CompetitionError(f"{name}: is no array that can be read ({why})", hint="download it again")


def _is_pictures(array: Array) -> bool:
    """Return whether rows are pictures of bytes, grey or with channels last."""
    if array.dtype != np.uint8 or array.ndim not in (3, 4) or min(array.shape[1:3]) < _LEAST_SIDE:
        return False
    return array.ndim == 3 or array.shape[3] in _CHANNELS  # noqa: PLR2004 - rows, height, width


def _write_table(stem: str, arrays: dict[str, Array], target: Path) -> list[str]:
    """Write arrays of one length as a table, and their pictures below a folder of its name."""
    pictures = {name: array for name, array in arrays.items() if _is_pictures(array)}
    names = [f"{safe_name(stem)}.csv"]
    if (target / names[0]).exists():
        raise CompetitionError(f"two data files are called {names[0]}")
    rows = len(next(iter(arrays.values())))
    cells = sum(array.size for name, array in arrays.items() if name not in pictures)
    needed = cells * _DIGITS + sum(array.nbytes for array in pictures.values())
    check_free_space(target, needed, names[0])
    header = ["id"]
    for name, array in arrays.items():
        header += _columns(name, array, alone=len(pictures) == 1)
    with (target / names[0]).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for first in range(0, rows, _BLOCK):
            block = range(first, min(first + _BLOCK, rows))
            parts: list[Sequence[Sequence[object]]] = [[(row,) for row in block]]
            for name, array in arrays.items():
                if name in pictures:
                    place = stem if name == stem else f"{stem}/{name}"
                    files = [_write_picture(array[row], f"{place}/{row}.png", target) for row in block]
                    names += files
                    parts.append([(each,) for each in files])
                else:
                    parts.append(_cells(array[first : block.stop]))
            for row in zip(*parts, strict=True):
                writer.writerow([cell for part in row for cell in part])
    return names


def _columns(name: str, array: Array, *, alone: bool) -> list[str]:
    """Return the names of an array's columns; `alone` says that no other array has pictures."""
    if _is_pictures(array):
        return ["file"] if alone else [f"{name}_file"]
    if array.dtype.names:
        return list(array.dtype.names)
    return [name] if array.ndim == 1 else [f"{name}_{column}" for column in range(array.shape[1])]


def _cells(block: Array) -> Sequence[Sequence[object]]:
    """Return the cells of some rows; a missing number is empty."""
    if block.dtype.names:
        return [tuple(row) for row in block.tolist()]
    table = block.reshape(len(block), -1).astype(object)
    if block.dtype.kind == "f":
        table[np.isnan(block.reshape(len(block), -1))] = ""
    cells: list[list[object]] = table.tolist()
    return cells


def _write_picture(pixels: Array, name: str, target: Path) -> str:
    """Write one picture as PNG; return its name."""
    from PIL import Image

    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    values = pixels[..., 0] if pixels.shape[2:] == (1,) else pixels
    Image.fromarray(np.ascontiguousarray(values)).save(path, compress_level=1)
    return name
