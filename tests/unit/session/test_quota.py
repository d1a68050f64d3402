"""Disk usage of a session is measured from outside, whatever the code does to hide it."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from comind.errors import DiskError
from comind.session.quota import Quota, QuotaWatch
from comind.system.supervisor import remove_tree

_AT_ONCE = Quota(look_seconds=0, cost=0)
"""Every check is due."""
_SMALL = replace(_AT_ONCE, disk_bytes=1 << 20, files=50, free_bytes=0)


def test_bytes_are_counted_where_they_are_on_disk(tmp_path: Path) -> None:
    """Allocated blocks count; holes of sparse files do not, and links count as themselves."""
    watch = QuotaWatch(_SMALL, [tmp_path])
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "link").symlink_to("/usr")
    assert watch.exceeded() == ""
    (tmp_path / "bytes").write_bytes(b"x" * (2 << 20))
    assert "GiB of disk" in watch.exceeded()


def test_a_file_of_many_names_counts_once(tmp_path: Path) -> None:
    """Hard links take no more disk space, but each is an entry."""
    watch = QuotaWatch(_SMALL, [tmp_path])
    (tmp_path / "0").write_bytes(b"x" * (1 << 19))
    for number in range(1, 10):
        os.link(tmp_path / "0", tmp_path / str(number))
    assert watch.exceeded() == ""
    for number in range(10, 60):
        os.link(tmp_path / "0", tmp_path / str(number))
    assert watch.exceeded() == "it has more than 50 files and folders"


@pytest.mark.parametrize("name", ["d", "d" * 100])
def test_folders_without_end_are_seen(tmp_path: Path, name: str) -> None:
    """Folders that are nested too deep are a reason of their own."""
    watch = QuotaWatch(replace(_AT_ONCE, free_bytes=0), [tmp_path])
    here = Path.cwd()
    os.chdir(tmp_path)
    for _ in range(400):
        Path(name).mkdir()
        os.chdir(name)
    os.chdir(here)
    assert "nested" in watch.exceeded()
    remove_tree(str(tmp_path))


def test_a_cell_that_begins_above_may_make_room(tmp_path: Path) -> None:
    """A cell that starts above the quota gets a little more space to clean up."""
    (tmp_path / "bytes").write_bytes(b"x" * (2 << 20))
    watch = QuotaWatch(_SMALL, [tmp_path])
    assert watch.exceeded() == ""
    (tmp_path / "more").write_bytes(b"x" * (70 << 20))
    assert "GiB of disk" in watch.exceeded()


def test_inputs_are_not_counted(tmp_path: Path) -> None:
    """Mounted inputs do not count."""
    (tmp_path / "input").mkdir()
    watch = QuotaWatch(_SMALL, [tmp_path], [tmp_path / "input"])
    (tmp_path / "input" / "big").write_bytes(b"x" * (2 << 20))
    assert watch.exceeded() == ""


def _fill(path: Path, size: int) -> None:
    """Occupy disk space without writing all of it."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def test_a_disk_that_fills_ends_the_cell(tmp_path: Path) -> None:
    """A cell is stopped when the disk is nearly full, whatever fills it."""
    floor = shutil.disk_usage(tmp_path).free - (128 << 20)
    (tmp_path / "session").mkdir()
    watch = QuotaWatch(replace(_AT_ONCE, free_bytes=floor), [tmp_path / "session"])
    assert watch.exceeded() == ""
    _fill(tmp_path / "elsewhere", 256 << 20)
    assert watch.exceeded() == "the disk is nearly full"


def test_a_session_that_filled_the_disk_goes_on(tmp_path: Path) -> None:
    """If a session's own files fill the disk, its next cell may start and free space."""
    floor = shutil.disk_usage(tmp_path).free - (128 << 20)
    _fill(tmp_path / "own", 256 << 20)
    watch = QuotaWatch(replace(_AT_ONCE, free_bytes=floor), [tmp_path])
    assert watch.exceeded() == "the disk is nearly full"
    (tmp_path / "own").unlink()
    assert watch.exceeded() == ""


def test_a_disk_that_was_full_before_is_no_fault_of_the_code(tmp_path: Path) -> None:
    """If others fill the disk no cell starts, and DiskError says what to do."""
    with pytest.raises(DiskError, match="of its disk are free") as told:
        QuotaWatch(replace(_AT_ONCE, free_bytes=1 << 60), [tmp_path])
    assert str(tmp_path) in str(told.value)
    assert "free disk space" in told.value.hint


def test_a_folder_that_goes_away_is_empty(tmp_path: Path) -> None:
    """A folder that is removed during a check counts as empty."""
    (tmp_path / "gone").mkdir()
    watch = QuotaWatch(_AT_ONCE, [tmp_path / "gone"])
    (tmp_path / "gone").rmdir()
    assert watch.exceeded() == ""


def test_the_last_change_of_a_file_is_known(tmp_path: Path) -> None:
    """A file that is written anew without growing is a change; inputs are not looked at."""
    for name, at in (("a/model.bin", 1_000), ("input/train.csv", 9_000)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (at, at))
    watch = QuotaWatch(replace(_AT_ONCE, free_bytes=0), [tmp_path], [tmp_path / "input"])
    assert watch.written_at == 1_000
    (tmp_path / "a" / "model.bin").write_text("y")
    os.utime(tmp_path / "a" / "model.bin", (2_000, 2_000))
    assert watch.exceeded() == ""
    assert watch.written_at == 2_000
