"""A session in each sandbox that seals, here and on a node, and a host full of things worth stealing."""

import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from comind.nodes.certificate import create_certificate
from comind.nodes.driver_server import DriverServer
from comind.nodes.messages import OpenSession
from comind.nodes.remote_session import Nodes, RemoteSession, SessionRequest
from comind.session.kernel_session import KernelSession
from comind.session.quota import Quota
from comind.session.session_ports import CellResult, CellStatus, Input, Sandbox, Session
from tests.attacks.program_arena import arena, built_arena  # noqa: F401 - fixtures
from tests.contract.sandboxes import SEALED, made
from tests.doubles.session_hosts import HostThreads

SECRET = "id,label\n7,malignant-canary\n"
_ONCE = (
    "test_messages",
    "test_needed_calls",
    "test_processes",
    "test_program_attacks",
    "test_program_limits",
    "test_resources",
    "test_takein",
)
"""Attacks on what is the same for every sandbox, our end of the channel and the collector of files, and
bombs, of which one sandbox's are enough for every run."""
_ON_NODES = ("test_files", "test_messages", "test_network", "test_processes")


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave docker's turn of some, and a node's of most, to `make torture`."""
    for item in items:
        once, places = item.path.stem in _ONCE, re.findall(r"\w+", item.name)
        if (once and "docker" in places) or ("node" in places and item.path.stem != "test_network"):
            item.add_marker(pytest.mark.torture)


@dataclass
class Scene:
    """A session, its sandbox, and the host around it."""

    sandbox: Sandbox
    folder: Path
    nodes: Nodes | None = None
    opened: list[Session] = field(default_factory=list)

    @property
    def labels(self) -> Path:
        """Validation labels, beside everything else of the campaign."""
        return self.folder / "data" / "splits" / "k" / "sealed" / "validation_answers.csv"

    @property
    def public(self) -> Path:
        """What attempts may read."""
        return self.folder / "data" / "splits" / "k" / "public"

    @property
    def close_seconds(self) -> float:
        """Seconds after which nothing of a closed session runs; 0 except on a node, which is told."""
        return 0.0 if self.nodes is None else 30.0

    def open(
        self,
        name: str = "attempt-000",
        *,
        memory_bytes: int = 4 << 30,
        quota: Quota = Quota(),  # noqa: B008
    ) -> Session:
        """Open a session of an attempt; on a node with the node's own limits."""
        inputs = (Input(self.public, "input/demo"),)
        workspace = self.folder / "runs" / name / "workspace"
        if self.nodes is not None:
            opening = OpenSession(sandbox=self.sandbox.name, own_code=False, env={})
            request = SessionRequest(f"c/{name}/{len(self.opened)}", opening, inputs, workspace)
            self.opened.append(RemoteSession(self.nodes, request, seconds=60))
            return self.opened[-1]
        session = KernelSession(
            self.sandbox,
            workspace,
            inputs=inputs,
            env={},
            memory_bytes=memory_bytes,
            log=self.folder / "runs" / name / "session.log",
            quota=quota,
            grace=2.0,  # saves the tests' time
        )
        self.opened.append(session)
        return session


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each attack in each sandbox, and those that need no limits of their own on a node, too."""
    if "place" in metafunc.fixturenames:
        on_node = metafunc.module.__name__.rpartition(".")[2] in _ON_NODES
        places = (*SEALED, "node") if on_node else SEALED
        metafunc.parametrize("place", places, indirect=True, scope="package")


@pytest.fixture(scope="package")
def place(request: pytest.FixtureRequest) -> str:
    """Name of a sandbox, or `node`."""
    name: str = request.param
    return name


@pytest.fixture(scope="package")
def sandbox(place: str, request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that seals; one that does not work here is a failure, not a skip."""
    return made("bubblewrap" if place == "node" else place, request)


@pytest.fixture(scope="package")
def nodes(place: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes | None]:
    """A driver's server and hosts that dial in, for the attacks on a node."""
    if place != "node":
        yield None
        return
    folder = tmp_path_factory.mktemp("nodes")
    with DriverServer(create_certificate(folder / "tls"), address="127.0.0.1") as server:
        hosts = HostThreads(folder / "cache")
        yield Nodes(server, hosts, folder / "staging")
        hosts.join()


@pytest.fixture
def scene(sandbox: Sandbox, nodes: Nodes | None, tmp_path: Path) -> Iterator[Scene]:
    """A scene of the test's own."""
    scene = _scene(sandbox, tmp_path, nodes)
    yield scene
    for session in scene.opened:
        session.close()


@pytest.fixture(scope="module")
def shared(
    sandbox: Sandbox, nodes: Nodes | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """One scene with one session for all attacks of a module that leave the session as it was."""
    scene = _scene(sandbox, tmp_path_factory.mktemp("shared"), nodes)
    scene.open()
    yield scene
    for session in scene.opened:
        session.close()


def _scene(sandbox: Sandbox, folder: Path, nodes: Nodes | None) -> Scene:
    scene = Scene(sandbox, folder, nodes)
    scene.labels.parent.mkdir(parents=True)
    scene.labels.write_text(SECRET)
    scene.public.mkdir()
    (scene.public / "train.csv").write_text("a,b\n1,2\n")
    (scene.public / "train.csv").chmod(0o666)  # the mount must protect it, not its mode
    return scene


def said(session: Session, code: str, seconds: float = 60) -> str:
    """Return what a cell printed that has to succeed."""
    result = session.run(code, seconds=seconds)
    assert result.status is CellStatus.OK, result.error
    return result.output.strip()


def lives(session: Session) -> bool:
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
