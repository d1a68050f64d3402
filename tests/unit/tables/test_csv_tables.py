"""Tables of text are streamed, and keep each cell."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import CompetitionError
from comind.tables.csv_tables import read_table, write_table

_CHUNK = 1 << 20  # bytes that are checked at a time
_ROWS = b"1,2\n" * (_CHUNK // 4)
_CELLS = st.text(st.sampled_from('a1.,"\n\rø \t'), max_size=5)


@given(rows=st.lists(st.tuples(_CELLS, _CELLS), max_size=8))
def test_a_table_in_blocks_has_the_bytes_of_one(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    """However many rows are written at a time, bytes and cells are the same."""
    folder = tmp_path_factory.mktemp("tables")
    table = pd.DataFrame(rows, columns=["first", "second"], dtype=str)
    write_table(table, folder / "whole.csv")
    write_table(table, folder / "blocks.csv", block_rows=3)
    assert (folder / "blocks.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert read_table(folder / "blocks.csv", CompetitionError).to_numpy().tolist() == [
        list(row) for row in rows
    ]


def test_a_character_in_two_chunks_is_one(tmp_path: Path) -> None:
    """The check of the text passes, and the cells are whole."""
    cells = ["x" + "ø" * (_CHUNK // 2), "å"]
    (tmp_path / "table.csv").write_text("\n".join(["word", *cells]) + "\n", encoding="utf-8")
    assert read_table(tmp_path / "table.csv", CompetitionError)["word"].tolist() == cells


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a,b\n" + _ROWS + b"1,\xc3", f"is not UTF-8 text (byte {_CHUNK + 6})"),
        (b"\xef\xbb\xbfa,b\n" + _ROWS + b"1,\xff", f"is not UTF-8 text (byte {_CHUNK + 9})"),
        (b"a,b\n" + _ROWS + b"3" * 20 + b"\0", "is not text but binary data"),
        (b" " * _CHUNK + b" \n  \n", "is empty"),
        (b"a,b\n" + _ROWS + b"3\n", f"line {_CHUNK // 4 + 2} has 1 cells, but the header 2"),
    ],
    ids=["cut", "after a mark", "binary", "blank", "short"],
)
def test_what_is_wrong_is_found_across_chunks(content: bytes, line: str, tmp_path: Path) -> None:
    """A fault is named with its byte or line of the whole file."""
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(CompetitionError) as caught:
        read_table(tmp_path / "table.csv", CompetitionError)
    assert line in str(caught.value)
