"""A submission may be CSV, packed or in another table format; anything else is one line."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from comind.errors import SubmissionError
from comind.layout.submission_file import submission_as_csv

_TABLE = pd.DataFrame({"id": ["1", "2"], "label": ["yes", "no"]})
_CSV = _TABLE.to_csv(index=False)


def _zip(path: Path, **files: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.csv", text)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("s.csv", lambda path: path.write_text(_CSV)),
        ("s.csv.zip", lambda path: _zip(path, inner=_CSV)),
        ("s.zip", lambda path: _zip(path, inner=_CSV)),
        ("s.csv", lambda path: _zip(path, inner=_CSV)),
        ("s.csv.gz", lambda path: path.write_bytes(gzip.compress(_CSV.encode()))),
        ("s.tsv", lambda path: path.write_text(_CSV.replace(",", "\t"))),
        ("s.parquet", _TABLE.to_parquet),
        ("best run.v2.parquet", _TABLE.to_parquet),
        ("s.feather", _TABLE.to_feather),
        ("s.jsonl", lambda path: path.write_text(_TABLE.to_json(orient="records", lines=True))),
        ("s.json", lambda path: path.write_text(json.dumps(_TABLE.to_dict("records")))),
    ],
)
def test_each_format_is_read(name: str, write: Callable[[Path], object], tmp_path: Path) -> None:
    """The rows are the same, and the file itself stays as it is."""
    path = tmp_path / name
    write(path)
    before = path.read_bytes()
    with submission_as_csv(path) as found:
        assert pd.read_csv(found, dtype=str).equals(_TABLE)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "write", "line"),
    [
        ("s.zip", lambda path: _zip(path, a=_CSV, b=_CSV), "has 2 tables, such as"),
        ("s.zip", lambda path: path.write_bytes(b"PK\x03\x04 no zip"), "the zip is corrupt"),
        ("s.parquet", lambda path: path.write_bytes(b"PAR1 cut"), "cannot be read"),
        ("s.png", lambda path: path.write_bytes(b"\x89PNG"), "has no table"),
        ("s.pkl", _TABLE.to_pickle, "is a pickle"),
        ("s.7z", lambda path: path.write_bytes(b"7z"), "7z"),
    ],
)
def test_other_files_are_one_line(
    name: str, write: Callable[[Path], object], line: str, tmp_path: Path
) -> None:
    """The line names the submission as the user did, and no temporary folder."""
    path = tmp_path / name
    write(path)
    with pytest.raises(SubmissionError, match=line) as error, submission_as_csv(path):
        pass
    assert str(error.value).startswith(f"{path}: ")
    assert "comind-" not in str(error.value)


def test_errors_inside_name_the_submission(tmp_path: Path) -> None:
    """What is wrong with the rows of a zip is said of the zip."""
    path = tmp_path / "s.zip"
    _zip(path, inner=_CSV)
    with pytest.raises(SubmissionError) as error, submission_as_csv(path) as found:
        raise SubmissionError(f"{found}: is empty")
    assert str(error.value) == f"{path}: is empty"
