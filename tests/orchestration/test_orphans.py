"""Servers of dead processes are terminated; servers of live ones are not."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from comind.campaign.log.campaign_folders import ProjectFolder
from comind.servers.orphans import OWNER, terminate_orphans
from comind.system.process_identity import process_identity


@pytest.fixture
def server(tmp_path: Path) -> Iterator[object]:
    """Start processes in place of servers; they are killed after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(owner: str, project: Path = tmp_path) -> subprocess.Popen[bytes]:
        home = str(ProjectFolder(project).orchestration)
        settings = {"PATH": os.environ["PATH"], "PREFECT_HOME": home, OWNER: owner}
        started.append(subprocess.Popen(["sleep", "100"], env=settings))
        while OWNER not in psutil.Process(started[-1].pid).environ():
            time.sleep(0.01)  # exec() gives it its name first and its environment last
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def _dead() -> str:
    """Return the identity of a process that has ended."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    return _owner(str(gone.pid), "1")


def _owner(number: str, start: str) -> str:
    """Return the identity of a process of this machine with another id and start time."""
    boot, view, *_ = process_identity().split("/")
    return f"{boot}/{view}/{number}/{start}"


def test_orphans_are_ended(tmp_path: Path, server) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """A server is terminated if its owner is dead, also if another process reuses the owner's id."""
    number = os.getpid()
    orphans = [server(_dead()), server(_owner(str(number), "1"))]
    told = terminate_orphans(tmp_path)
    assert len(told) == 2
    assert all("sleep 100" in line for line in told)
    for each in orphans:
        each.wait(timeout=10)  # raises while it still runs


def test_servers_in_use_are_left_alone(tmp_path: Path, server) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Servers of a live owner, and of another project, keep running."""
    mine, theirs = server(process_identity()), server(_dead(), tmp_path / "other")
    assert terminate_orphans(tmp_path) == []
    assert mine.poll() is None
    assert theirs.poll() is None
