"""Tables of text are streamed, and keep each cell."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import CompetitionError
from comind.tables import csv_tables
from comind.tables.csv_tables import read_table, write_table

_CELLS = st.text(st.sampled_from('a1.,"\n\rø \t'), max_size=5)


@given(rows=st.lists(st.tuples(_CELLS, _CELLS), max_size=8))
def test_a_table_in_blocks_has_the_bytes_of_one(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    """However many rows are written and read at a time, bytes and cells are the same."""
    folder = tmp_path_factory.mktemp("tables")
    table = pd.DataFrame(rows, columns=["first", "second"], dtype=str)
    write_table(table, folder / "whole.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_tables, "_BLOCK_ROWS", 3)
        patch.setattr(csv_tables, "_CHUNK", 7)
        write_table(table, folder / "blocks.csv")
        assert (folder / "blocks.csv").read_bytes() == (folder / "whole.csv").read_bytes()
        assert read_table(folder / "blocks.csv", CompetitionError).to_numpy().tolist() == [
            list(row) for row in rows
        ]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a,b\n1,\xc3", "is not UTF-8 text (byte 6)"),
        (b"\xef\xbb\xbfa,b\n1,\xff", "is not UTF-8 text (byte 9)"),
        (b"a,b\n1,2\n" + b"3" * 20 + b"\0", "is not text but binary data"),
        (b" \n  \n", "is empty"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 cells, but the header 2"),
    ],
)
def test_what_is_wrong_is_found_across_chunks(
    content: bytes, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault is named with its byte or line of the whole file."""
    monkeypatch.setattr(csv_tables, "_CHUNK", 3)
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(CompetitionError) as caught:
        read_table(tmp_path / "table.csv", CompetitionError)
    assert line in str(caught.value)
