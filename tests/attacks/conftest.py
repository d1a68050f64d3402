"""A session in each sandbox that seals, with inputs, and a host full of things worth stealing."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from comind.session import kernel_session
from comind.session.kernel_session import KernelSession
from comind.session.quota import Quota
from comind.session.session_ports import CellResult, CellStatus, Input, Sandbox
from tests.contract.sandboxes import SEALED, made

SECRET = "id,label\n7,malignant-canary\n"
_OUTSIDE = ("test_messages", "test_processes", "test_takein")
"""Attacks on what is the same for every sandbox, our end of the channel and the collector of files."""


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave docker's turn of these attacks to `make torture`; bubblewrap's is in every run."""
    for item in items:
        if item.path.stem in _OUTSIDE and "docker" in item.name:
            item.add_marker(pytest.mark.torture)


@dataclass
class Scene:
    """A session, its sandbox, and the host around it."""

    sandbox: Sandbox
    folder: Path
    opened: list[KernelSession] = field(default_factory=list)

    @property
    def labels(self) -> Path:
        """Validation labels, beside everything else of the campaign."""
        return self.folder / "data" / "splits" / "k" / "sealed" / "validation_answers.csv"

    @property
    def public(self) -> Path:
        """What attempts may read."""
        return self.folder / "data" / "splits" / "k" / "public"

    def open(
        self,
        name: str = "attempt-000",
        *,
        memory_bytes: int = 4 << 30,
        quota: Quota = Quota(),  # noqa: B008
    ) -> KernelSession:
        """Open a session of an attempt."""
        session = KernelSession(
            self.sandbox,
            self.folder / "runs" / name / "workspace",
            inputs=(Input(self.public, "input/demo"),),
            env={},
            memory_bytes=memory_bytes,
            log=self.folder / "runs" / name / "session.log",
            quota=quota,
        )
        self.opened.append(session)
        return session


@pytest.fixture(scope="package", params=SEALED)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that seals; one that does not work here is a failure, not a skip."""
    return made(request.param, request)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grace between an interrupt and the kill is short, to save the tests' time."""
    monkeypatch.setattr(kernel_session, "_GRACE_SECONDS", 2.0)


@pytest.fixture
def scene(sandbox: Sandbox, tmp_path: Path) -> Iterator[Scene]:
    """A scene of the test's own."""
    scene = _scene(sandbox, tmp_path)
    yield scene
    for session in scene.opened:
        session.close()


@pytest.fixture(scope="module")
def shared(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One scene with one session for all attacks of a module that leave the session as it was."""
    scene = _scene(sandbox, tmp_path_factory.mktemp("shared"))
    scene.open()
    yield scene
    for session in scene.opened:
        session.close()


def _scene(sandbox: Sandbox, folder: Path) -> Scene:
    scene = Scene(sandbox, folder)
    scene.labels.parent.mkdir(parents=True)
    scene.labels.write_text(SECRET)
    scene.public.mkdir()
    (scene.public / "train.csv").write_text("a,b\n1,2\n")
    (scene.public / "train.csv").chmod(0o666)  # the mount must protect it, not its mode
    return scene


def said(session: KernelSession, code: str, seconds: float = 60) -> str:
    """Return what a cell printed that has to succeed."""
    result = session.run(code, seconds=seconds)
    assert result.status is CellStatus.OK, result.error
    return result.output.strip()


def lives(session: KernelSession) -> bool:
    """Say whether the session still does what it is for."""
    return said(session, "print(6 * 7)") == "42"


def ended(result: CellResult, reason: str) -> None:
    """Check that the interpreter was ended for this reason, and that the reason is told."""
    assert result.status is CellStatus.DIED, result
    assert reason in result.error, result.error
    assert result.state_lost


def processes_with(mark: str) -> list[int]:
    """Return the processes of the whole machine whose command line holds `mark`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(mark in part for part in process.cmdline()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


class Listener(threading.Thread):
    """Counts who connects to a socket of ours."""

    def __init__(self, listening: object) -> None:
        super().__init__(daemon=True)
        self._socket = listening
        self.visits = 0
        self.start()

    def run(self) -> None:
        """Accept until the socket is closed."""
        while True:
            try:
                connection, _ = self._socket.accept()  # type: ignore[attr-defined]
            except OSError:
                return
            self.visits += 1
            connection.close()
