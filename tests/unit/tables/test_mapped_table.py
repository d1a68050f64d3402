"""Large tables are mapped from a temporary file: the same cells, in little memory."""

import contextlib
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.arrival import run, write_rows
from comind.errors import CompetitionError, DiskError
from comind.tables.csv_tables import read_table, write_table
from comind.tables.mapped_table import release_memory
from comind.tables.regular_csv import MAPPED_BYTES

_CELLS = ["", " 7", "007", "a,b", 'say "so"', "two\nlines", "NA", "blå"]
_MEBIBYTE = 1 << 20


@dataclass
class _Written:
    """A table and its file."""

    cells: pd.DataFrame
    path: Path


@pytest.fixture(scope="module", params=[_CELLS, [*_CELLS, "\r"]], ids=["regular", "irregular"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> _Written:
    """Return a table of strange cells that is mapped, and read and written in several blocks."""
    rows = 200_010
    cells = {"id": np.arange(rows).astype(str), "cell": (request.param * rows)[:rows], "long": "x" * 80}
    written = _Written(pd.DataFrame(cells), tmp_path_factory.mktemp("mapped") / "table.csv")
    write_table(written.cells, written.path)
    assert written.path.stat().st_size > MAPPED_BYTES
    return written


@contextlib.contextmanager
def small_files() -> Iterator[None]:
    """Let no file of this process have more than a MiB, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MEBIBYTE, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_mapped_table_has_the_cells_of_one_in_memory(table: _Written) -> None:
    """Also after its pages were released."""
    mapped = read_table(table.path, CompetitionError)
    release_memory()
    pd.testing.assert_frame_equal(mapped, table.cells)


def test_some_rows_of_a_table_are_written_like_a_table_of_them(table: _Written, tmp_path: Path) -> None:
    """Across blocks."""
    frame = read_table(table.path, CompetitionError)
    rows = np.arange(len(frame)) % 3 != 0
    write_table(frame, tmp_path / "some.csv", rows=rows)
    write_table(frame[rows], tmp_path / "expected.csv")
    assert (tmp_path / "some.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_a_full_disk_is_named_with_what_to_do(
    table: _Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder for temporary files is full, not the table's."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    full = pytest.raises(DiskError, match=f"no space left in {tmp_path}$")
    with small_files(), full as raised:
        read_table(table.path, CompetitionError)
    assert "TMPDIR" in raised.value.hint


def test_reading_a_large_table_takes_a_fraction_of_its_size(tmp_path: Path) -> None:
    """Also where the text alone would not fit."""
    block = "".join(f"{number:080d},{number:060d}\n" for number in range(100_000))
    (tmp_path / "large.csv").write_text("a,b\n" + block * 10)
    program = """
import json, sys
from pathlib import Path
from comind.errors import CompetitionError
from comind.tables.csv_tables import read_table
peak = lambda: int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1])
before = peak()
rows = len(read_table(Path(sys.argv[1]), CompetitionError))
print(json.dumps([rows, peak() - before]))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "large.csv")]
    rows, kibibytes = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert rows == 1_000_000
    assert kibibytes < 0.5 * (tmp_path / "large.csv").stat().st_size / 1024


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
