"""Temporary folders beside data are removed with the block or at the next start, unless in use."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from comind.system.temporary_folders import remove_stale_folders, temporary_folder

_PROGRAM = """
import sys, time
from pathlib import Path
from comind.system.temporary_folders import temporary_folder
with temporary_folder(Path(sys.argv[1]), "again") as place:
    (place / "labels.csv").write_text("secret")
    print(place, flush=True)
    time.sleep(300)
"""


@contextmanager
def _at_work(home: Path) -> Iterator[Path]:
    """Another process has a folder in `home`; it is killed at the end of the block."""
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(home)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        yield Path(child.stdout.readline().strip())
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()


def test_a_folder_is_private_and_goes(tmp_path: Path) -> None:
    """It is private, and it is removed at the end of the block."""
    with temporary_folder(tmp_path / "home", "again") as place:
        assert place.stat().st_mode & 0o777 == 0o700
        (place / "labels.csv").write_text("secret")
    assert not place.exists()


def test_what_a_killed_process_left_goes_at_the_next_start(tmp_path: Path) -> None:
    """After a kill -9 the folder is removed when the next one is created; other folders stay."""
    (tmp_path / "other").mkdir()
    with _at_work(tmp_path) as left:
        pass
    assert (left / "labels.csv").exists()
    with temporary_folder(tmp_path, "again") as place:
        assert place.exists()
        assert not left.exists()
    assert (tmp_path / "other").exists()


def test_a_folder_in_use_stays(tmp_path: Path) -> None:
    """While its process lives, neither a new folder nor `remove_stale_folders` removes it."""
    with _at_work(tmp_path) as used:
        assert remove_stale_folders(tmp_path, "again") == []
        with temporary_folder(tmp_path, "again"):
            assert (used / "labels.csv").exists()
    assert remove_stale_folders(tmp_path, "again") == [used]
    assert not used.exists()
    assert remove_stale_folders(tmp_path / "nowhere", "again") == []
