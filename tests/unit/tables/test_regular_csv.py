"""Arrow reads regular files, and only those, with the cells that the csv module and pandas read."""

import csv
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import CompetitionError
from comind.tables.csv_tables import read_irregular, read_table
from comind.tables.regular_csv import read_regular

_CELLS = [
    "x",
    '"x"',
    '"a,b"',
    '"a""b"',
    "",
    '""',
    " y ",
    'a"b',
    '"a"b',
    '"a\nb"',
    ' "q"',
    "1",
    "NA",
    "é",
]
_PIECES = [*_CELLS, '"', ",", "\n", "\r", "\r\n", " ", "\t", "\x01", "\x01,\x01", "\0", "\ufeff"]
_ROWS = st.integers(2, 3).flatmap(
    lambda width: st.lists(st.tuples(*[st.sampled_from(_CELLS)] * width).map(",".join), max_size=5)
)


def _written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    return path


@given(body=st.lists(st.sampled_from(_PIECES), max_size=12).map("".join) | _ROWS.map("\n".join))
def test_both_readers_give_the_same_cells(body: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of any text: what Arrow reads, pandas reads the same; what the checks refuse, Arrow leaves."""
    for names in ("a,b", "a,b,c"):
        path = _written(tmp_path_factory.getbasetemp(), f"{names}\n{body}")
        found = read_regular(path)
        if found is not None:
            pd.testing.assert_frame_equal(found, read_irregular(path, CompetitionError))
            with path.open(newline="") as file:
                rows = [row for row in csv.reader(file) if row]
            assert [list(found), *found.to_numpy().tolist()] == rows


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_common_files_are_read_by_arrow(tmp_path: Path, end: str, mark: str) -> None:
    """With either end of lines, a mark, quotes, empty lines and cells, and without rows."""
    rows = ["id,text", '1,"a, ""b"""', "", "2,", '3,"two\nlines"', "007,NA"]
    found = read_regular(_written(tmp_path, mark + end.join(rows)))
    assert found is not None
    cells = [["1", 'a, "b"'], ["2", ""], ["3", "two\nlines"], ["007", "NA"]]
    assert found.to_numpy().tolist() == cells
    empty = read_regular(_written(tmp_path, f"{mark}id,text{end}"))
    assert empty is not None
    assert (list(empty.columns), len(empty)) == (["id", "text"], 0)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a,b\n1", "line 2 has 1 cells"),
        ("a,b\n1,2,3\n", "line 2 has 3 cells"),
        ('a,b\n1,"2\n3,4\n', "EOF inside string"),
        ("a,a\n1,2\n", "appears twice"),
        ("a, \n1,2\n", "has no name"),
        ("a,b\n1,\0\n", "binary"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_is_said_by_the_checks(tmp_path: Path, text: str, fault: str) -> None:
    """Arrow reads no faulty file, so the line names its fault."""
    path = _written(tmp_path, text)
    assert read_regular(path) is None
    with pytest.raises(CompetitionError, match=fault):
        read_table(path, CompetitionError)


def test_text_of_another_encoding_is_left_to_the_checks(tmp_path: Path) -> None:
    """Its first wrong byte is named."""
    path = tmp_path / "table.csv"
    path.write_bytes("a,b\n1,blå\n".encode("latin-1"))
    assert read_regular(path) is None
    with pytest.raises(CompetitionError, match="is not UTF-8 text \\(byte 8\\)"):
        read_table(path, CompetitionError)
