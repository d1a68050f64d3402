"""Locks of other processes are waited for, for a limited time."""

import fcntl
import os
from pathlib import Path

import pytest
from filelock import FileLock

from comind.errors import ServiceError
from comind.system.leases import Cores
from comind.system.locks import exclusive, flock_within
from comind.system.progress import reported_to


def test_a_lock_that_is_not_released_is_an_error(tmp_path: Path) -> None:
    """Waiting is reported as progress; the error names the lock and says how to go on."""
    lines: list[tuple[str, int | None, int | None]] = []
    with FileLock(tmp_path / "lock"), reported_to(lambda *line: lines.append(line)):
        held = exclusive(tmp_path / "lock", 1, "create the tables")
        with (
            pytest.raises(ServiceError, match=r"lock: another process has held this lock") as told,
            held,
        ):
            pass
    assert "run the command again" in told.value.hint
    assert lines[0] == ("waiting for another process to create the tables", 0, 0)
    with exclusive(tmp_path / "lock", 1, "create the tables"):
        pass


def test_a_held_file_is_locked_when_it_is_released(tmp_path: Path) -> None:
    """Without time, a held file is not waited for."""
    (tmp_path / "file").touch()
    one, other = (os.open(tmp_path / "file", os.O_RDONLY) for _ in range(2))
    assert flock_within(one, fcntl.LOCK_EX, 0.0)
    assert not flock_within(other, fcntl.LOCK_EX, 0.1)
    os.close(one)
    assert flock_within(other, fcntl.LOCK_EX, 0.0)
    os.close(other)


def test_a_registry_that_another_user_holds_is_an_error(tmp_path: Path) -> None:
    """The folder of leases is shared by all users: a process that stopped there holds up nobody."""
    (tmp_path / "registry").touch()
    held = os.open(tmp_path / "registry", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    cores = Cores(2, tmp_path, patience=0.1)
    with (
        pytest.raises(ServiceError, match="registry: another process has held this lock"),
        cores.holding("a"),
    ):
        pass
    os.close(held)
    with cores.holding("a"):
        assert cores.lease("a") == 2
