"""Large tables are mapped from a temporary file: the same cells, in little memory."""

import contextlib
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.arrival import run, write_rows
from comind.errors import CompetitionError, DiskError
from comind.tables import csv_tables, regular_csv
from comind.tables.csv_tables import read_table, write_table
from comind.tables.mapped_table import release_memory

_CELLS = ["", " 7", "007", "a,b", 'say "so"', "two\nlines", "NA", "blå"]
_MEBIBYTE = 1 << 20


def _map_from(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    for module in (csv_tables, regular_csv):
        monkeypatch.setattr(module, "MAPPED_BYTES", size)


@pytest.fixture(params=[_CELLS, [*_CELLS, "\r"]], ids=["regular", "irregular"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a table of strange cells that is longer than a block; all tables are mapped."""
    _map_from(monkeypatch, 0)
    monkeypatch.setattr(regular_csv, "_JOINED_BYTES", 1 << 20)
    rows = csv_tables._BLOCK_ROWS + 10
    frame = pd.DataFrame({"id": np.arange(rows).astype(str), "cell": (request.param * rows)[:rows]})
    write_table(frame, tmp_path / "table.csv")
    return tmp_path / "table.csv"


@contextlib.contextmanager
def small_files() -> Iterator[None]:
    """Let no file of this process have more than a MiB, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MEBIBYTE, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_mapped_table_has_the_cells_of_one_in_memory(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after its pages were released."""
    mapped = read_table(table, CompetitionError)
    release_memory()
    _map_from(monkeypatch, table.stat().st_size + 1)
    pd.testing.assert_frame_equal(mapped, read_table(table, CompetitionError))


def test_some_rows_of_a_table_are_written_like_a_table_of_them(table: Path, tmp_path: Path) -> None:
    """Across blocks."""
    frame = read_table(table, CompetitionError)
    rows = np.arange(len(frame)) % 3 != 0
    write_table(frame, tmp_path / "some.csv", rows=rows)
    write_table(frame[rows], tmp_path / "expected.csv")
    assert (tmp_path / "some.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_a_full_disk_is_named_with_what_to_do(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder for temporary files is full, not the table's."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    full = pytest.raises(DiskError, match=f"no space left in {tmp_path}$")
    with small_files(), full as raised:
        read_table(table, CompetitionError)
    assert "TMPDIR" in raised.value.hint


def test_reading_a_large_table_takes_a_fraction_of_its_size(tmp_path: Path) -> None:
    """Also where the text alone would not fit."""
    block = "".join(f"{number:040d},{number:030d}\n" for number in range(100_000))
    (tmp_path / "large.csv").write_text("a,b\n" + block * 10)
    program = """
import json, sys
from pathlib import Path
from comind.errors import CompetitionError
from comind.tables import regular_csv
from comind.tables.csv_tables import read_table
peak = lambda: int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1])
regular_csv.MAPPED_BYTES, regular_csv._JOINED_BYTES = 0, 1 << 20
before = peak()
rows = len(read_table(Path(sys.argv[1]), CompetitionError))
print(json.dumps([rows, peak() - before]))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "large.csv")]
    rows, kibibytes = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert rows == 1_000_000
    assert kibibytes < 0.7 * (tmp_path / "large.csv").stat().st_size / 1024


@pytest.mark.torture
def test_a_million_rows_are_inspected_and_split_within_the_memory_that_is_documented(
    tmp_path: Path,
) -> None:
    """The peak of resident memory is below 1.25 GiB; see `docs/plain-downloads.md`."""
    source, project = tmp_path / "download", tmp_path / "project"
    source.mkdir()
    project.mkdir()
    write_rows(source, 1_000_000)
    run("arrange", source, project)
    for stage in ("inspect", "split, sealed"):
        assert run(stage, source, project).mebibytes < 1.25 * 1024
