"""A submission may be CSV, packed or in another table format; anything else is one line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from comind.competitions.download.submission_file import submission_as_csv
from comind.errors import SubmissionError
from tests.unit.competitions.download.bad_submission_files import BAD_FILES, TABLE, BadFile, write_zip

_CSV = TABLE.to_csv(index=False)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("s.csv", lambda path: path.write_text(_CSV)),
        ("s.csv.zip", lambda path: write_zip(path, inner=_CSV)),
        ("s.zip", lambda path: write_zip(path, inner=_CSV)),
        ("s.csv", lambda path: write_zip(path, inner=_CSV)),
        ("s.csv.gz", lambda path: path.write_bytes(gzip.compress(_CSV.encode()))),
        ("s.tsv", lambda path: path.write_text(_CSV.replace(",", "\t"))),
        ("s.parquet", TABLE.to_parquet),
        ("best run.v2.parquet", TABLE.to_parquet),
        ("s.feather", TABLE.to_feather),
        ("s.jsonl", lambda path: path.write_text(TABLE.to_json(orient="records", lines=True))),
        ("s.json", lambda path: path.write_text(json.dumps(TABLE.to_dict("records")))),
    ],
)
def test_each_format_is_read(name: str, write: Callable[[Path], object], tmp_path: Path) -> None:
    """The rows are the same, and the file itself stays as it is."""
    path = tmp_path / name
    write(path)
    before = path.read_bytes()
    with submission_as_csv(path) as found:
        assert pd.read_csv(found, dtype=str).equals(TABLE)
    assert path.read_bytes() == before


@pytest.mark.parametrize("case", BAD_FILES, ids=lambda case: case.name)
def test_other_files_are_one_line(case: BadFile, tmp_path: Path) -> None:
    """The line names the submission as the user did, and no temporary folder."""
    path = tmp_path / case.file
    case.write(path)
    with pytest.raises(SubmissionError) as error, submission_as_csv(path):
        pass
    assert str(error.value) == case.line.format(file=path)
    assert (error.value.hint or "") == case.hint


def test_errors_inside_name_the_submission(tmp_path: Path) -> None:
    """What is wrong with the rows of a zip is said of the zip."""
    path = tmp_path / "s.zip"
    write_zip(path, inner=_CSV)
    with pytest.raises(SubmissionError) as error, submission_as_csv(path) as found:
        raise SubmissionError(f"{found}: is empty")
    assert str(error.value) == f"{path}: is empty"
