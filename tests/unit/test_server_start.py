"""A server that is slow to start is waited for, with progress and a limit."""

import socket
import threading
from pathlib import Path

import pytest

from comind.errors import DiskError, OrchestrationError
from comind.servers.start import await_start
from comind.system.progress import reported_to
from tests.doubles.small_disk import small_disk

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue"


class _Server:
    """A process that runs, or has ended."""

    def __init__(self, *, alive: bool = True) -> None:
        self._alive = alive

    def alive(self) -> bool:
        """Whether it runs."""
        return self._alive


def _nowhere() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/health"


def test_a_server_that_answers_is_up(tmp_path: Path) -> None:
    """Its first response ends the wait."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with listening.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(_OK)

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/health"
        assert await_start("Prefect", address, _Server(), tmp_path / "log")
        thread.join()


def test_a_server_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    """Another one may start at another port."""
    assert not await_start("Prefect", _nowhere(), _Server(alive=False), tmp_path / "log")


def test_a_server_that_does_not_answer_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    """The wait is a step of the command; its limit is named in the error, which says what to do."""
    log, lines = tmp_path / "prefect-server.log", []
    log.write_text("creating tables\n\n")
    with (
        reported_to(lambda *line: lines.append(line)),
        pytest.raises(OrchestrationError, match=r"within 2 seconds; .*: creating tables") as told,
    ):
        await_start("Prefect", _nowhere(), _Server(), log, seconds=2)
    assert lines == [("starting Prefect's server", 0, 0), ("starting Prefect's server", None, 0)]
    assert "run the same command again" in told.value.hint
    assert str(log) in told.value.hint


def test_a_full_disk_ends_the_wait(tmp_path: Path) -> None:
    """A server that cannot write its database is not waited for."""
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        disk.fill()
        with pytest.raises(DiskError, match="no space left on its disk for Prefect's database and log"):
            await_start("Prefect", _nowhere(), _Server(), disk.folder / "log")
