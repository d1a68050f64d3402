"""Submissions in files that are not one table: data for the tests and for docs/bad-input.md."""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

__all__ = ["BAD_FILES", "TABLE", "BadFile", "write_zip"]

TABLE = pd.DataFrame({"id": ["1", "2"], "label": ["yes", "no"]})


@dataclass(frozen=True)
class BadFile:
    """A file that is handed in under a name; in the line, `{file}` is its path."""

    name: str
    wrong: str
    file: str
    write: Callable[[Path], object]
    line: str
    hint: str = ""


def write_zip(path: Path, **files: str) -> None:
    """Write a zip of CSV files."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.csv", text)


_FORMATS = (
    "a submission is .csv, .tsv, .parquet, .feather or .jsonl, also as .gz, or a zip with one of these"
)

BAD_FILES = (
    BadFile(
        "zip of two tables",
        "a zip has two CSV files",
        "s.zip",
        lambda path: write_zip(path, a="id,label\n1,yes\n", b="id,label\n1,no\n"),
        "{file}: has 2 tables, such as submission/a.csv and submission/b.csv",
        _FORMATS,
    ),
    BadFile(
        "corrupt zip",
        "the file only begins as a zip",
        "s.zip",
        lambda path: path.write_bytes(b"PK\x03\x04 no zip"),
        "{file}: the zip is corrupt (it has no end)",
    ),
    BadFile(
        "Parquet cut off",
        "the end of a Parquet file is missing",
        "s.parquet",
        lambda path: path.write_bytes(b"PAR1 cut"),
        (
            "{file}: cannot be read (Parquet magic bytes not found in footer. "
            "Either the file is corrupted or this is not a parquet file.)"
        ),
    ),
    BadFile(
        "image as submission",
        "the file is an image",
        "s.png",
        lambda path: path.write_bytes(b"\x89PNG"),
        "{file}: has no table",
        _FORMATS,
    ),
    BadFile(
        "pickle as submission",
        "a data frame was pickled; loading it could run any program",
        "s.pkl",
        TABLE.to_pickle,
        "{file}: is a pickle, which can run code",
        "save it as parquet or csv",
    ),
    BadFile(
        "7z as submission",
        "an archive that is not unpacked here",
        "s.7z",
        lambda path: path.write_bytes(b"7z"),
        "{file}: cannot be unpacked here",
        "unpack it and name the folder",
    ),
)
