"""A full disk is recognized behind the errors of all tools, and named with what needs space."""

import errno
import sqlite3
from pathlib import Path

import pytest

from comind.errors import DiskError, OrchestrationError
from comind.system.disk import full_disk, require_room
from tests.doubles.small_disk import small_disk


def _chained(cause: Exception) -> Exception:
    error = RuntimeError("a tool failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        sqlite3.OperationalError("database or disk is full"),
        _chained(sqlite3.OperationalError("database or disk is full")),
        OrchestrationError("fatal: write error: No space left on device"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_full_disk_is_recognized(error: Exception, tmp_path: Path) -> None:
    """Whoever meets it, the error names the folder, what needs space and how to go on."""
    found = full_disk(error, tmp_path, "MLflow's database")
    assert found is not None
    assert str(found) == f"{tmp_path}: no space left on its disk for MLflow's database"
    assert found.exit_code == 4
    assert "free disk space, then run the command again" in found.hint


def test_a_file_that_is_named_is_said(tmp_path: Path) -> None:
    """The disk that is full may be another one than the project's, such as that of TMPDIR."""
    error = OSError(errno.ENOSPC, "No space left on device", "/elsewhere/file")
    assert str(full_disk(error, tmp_path, "a file")).startswith("/elsewhere/file: no space left")


def test_other_errors_are_no_full_disk(tmp_path: Path) -> None:
    """Other errors on a disk with space stay what they are."""
    assert full_disk(OSError(errno.EACCES, "denied"), tmp_path, "a file") is None
    assert full_disk(_chained(ValueError("wrong")), tmp_path, "a file") is None


def test_space_is_required_before_anything_is_started(tmp_path: Path) -> None:
    """With less than the least free, and nothing to be freed, the error says both numbers."""
    require_room(tmp_path, "a campaign is run", 1)
    require_room(tmp_path, "a campaign is run", 1 << 60, may_free=1 << 60)
    with pytest.raises(DiskError, match=r"only \d+ MiB .* a campaign is run with \d+ or more"):
        require_room(tmp_path, "a campaign is run", 1 << 60)


def test_any_error_on_a_disk_without_space_is_a_full_disk(tmp_path: Path) -> None:
    """Tools that hide the reason, as a server's response 500 does, meet the same disk."""
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        disk.fill()
        found = full_disk(RuntimeError("500"), disk.folder, "Prefect's database")
        assert str(found) == f"{disk.folder}: no space left on its disk for Prefect's database"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # DVC leaves a file open
def test_git_and_dvc_say_a_full_disk(tmp_path: Path) -> None:
    """What they print, or raise, becomes the same error."""
    from comind.adapters.dvc.versioning import ensure_repository, version
    from comind.adapters.git.refs import campaign_ref, commit_files

    with small_disk(tmp_path / "disk", 64 << 20) as disk:
        ensure_repository(disk.folder)
        data = disk.folder / "data"
        data.mkdir()
        (data / "file").write_bytes(b"x" * (1 << 20))
        disk.fill()
        with pytest.raises(DiskError, match="no space left on its disk for git"):
            commit_files(disk.folder, campaign_ref("c"), [data / "file"], "a commit")
        with pytest.raises(DiskError, match="no space left on its disk for DVC's cache"):
            version(disk.folder, [data])
        disk.resize(64 << 20)
        version(disk.folder, [data])
        commit_files(disk.folder, campaign_ref("c"), [data / "file"], "a commit")
