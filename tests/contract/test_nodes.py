"""A session on a node is a session; a node, a link or a driver that fails costs a replay at most."""

import asyncio
import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from pydantic import ValidationError

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.outcome import DeadlineExceeded
from comind.campaign.log.work import WorkBudget
from comind.domain.environment import Machine
from comind.errors import NodeBusyError, NodeLostError, SandboxError
from comind.nodes.certificate import create_certificate, pinning_context
from comind.nodes.driver_client import Connection
from comind.nodes.driver_link import DriverLink
from comind.nodes.driver_server import DriverServer
from comind.nodes.manifest import FileEntry
from comind.nodes.messages import (
    CloseSession,
    DriverMessage,
    HostFailed,
    HostState,
    OpenSession,
    RunCell,
)
from comind.nodes.node_sessions import NodeSessions
from comind.nodes.placement import HostOrder
from comind.nodes.remote_session import Nodes, RemoteSession, SessionRequest
from comind.nodes.session_host import SEALED
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.load import CellUsage
from comind.session.session_ports import CellStatus, Input
from tests.doubles.relay import Relay
from tests.doubles.session_hosts import LOST_SECONDS, HostThreads
from tests.e2e.command import processes_of
from tests.unit.campaign.samples import code, spec

_HOST = """
import sys
from pathlib import Path
from comind.nodes.placement import HostOrder
from comind.nodes.session_host import host_session

order = HostOrder.model_validate_json(sys.stdin.read())
print(host_session(order, Path(sys.argv[1]), node=sys.argv[2], patience=8.0))
"""


class _Processes:
    """Runs session hosts in processes of their own."""

    overdue = False

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.temporary = tempfile.mkdtemp(prefix="n-")  # a long TMPDIR is not used for sessions
        self.running: list[subprocess.Popen[str]] = []

    def start(self, order: HostOrder) -> "_Processes":
        process = subprocess.Popen(
            [sys.executable, "-c", _HOST, str(self.cache), f"node-{len(self.running) + 1}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"TMPDIR": self.temporary},
        )
        self.running.append(process)
        assert process.stdin is not None
        process.stdin.write(order.model_dump_json())
        process.stdin.close()
        process.stdin = None
        return self

    def waiting(self) -> str:
        return "it is starting"

    def cancel(self) -> None:
        """Leave it alone."""

    def stop(self) -> None:
        """Kill what is left."""
        for process in self.running:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        shutil.rmtree(self.temporary)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DriverServer]:
    """A driver's server on the loopback."""
    with DriverServer(create_certificate(tmp_path / "tls"), address="127.0.0.1") as running:
        yield running


@pytest.fixture
def threads(tmp_path: Path) -> Iterator[HostThreads]:
    """Hosts in threads, which have ended when the test has."""
    placement = HostThreads(tmp_path / "cache")
    yield placement
    placement.join()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[_Processes]:
    """Hosts in processes."""
    placement = _Processes(tmp_path / "cache")
    yield placement
    placement.stop()


Open = Callable[..., RemoteSession]


def _opener(nodes: Nodes, folder: Path, **opening: object) -> Open:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    (data / "train.csv").write_text("a,b\n1,2\n")
    order = OpenSession.model_validate({"sandbox": "bubblewrap", "own_code": False, "env": {}} | opening)

    def opened(name: str = "c/attempt-001/1", **options: Any) -> RemoteSession:
        request = SessionRequest(name, order, (Input(data, "input/demo"),), folder / "workspace")
        return RemoteSession(nodes, request, **{"seconds": 60} | options)

    return opened


@pytest.fixture
def opened(server: DriverServer, threads: HostThreads, tmp_path: Path) -> Open:
    """Open a session on a host in a thread."""
    nodes = Nodes(server, threads, tmp_path / "staging", lost_seconds=LOST_SECONDS)
    return _opener(nodes, tmp_path)


def _run(session: RemoteSession, code: str, seconds: float = 30) -> str:
    result = session.run(code, seconds=seconds)
    assert result.status is CellStatus.OK, result.error
    return result.output.strip()


class _StopAt:
    """A watch that looks once, and stops the cell."""

    next_look = 0.5

    def __init__(self) -> None:
        self.seen: list[str] = []

    def look(self, output: str, seconds: float, usage: CellUsage | None = None) -> str | None:
        assert seconds >= 0.5
        assert usage is not None
        assert usage.memory_bytes > 0
        self.seen.append(output)
        return "it prints nothing new"


def test_cells_run_as_in_a_session_here(opened: Open) -> None:
    """Variables live on; errors, timeouts, stops and deaths are results; what died starts anew."""
    with contextlib.closing(opened()) as session:
        assert (session.node, session.sandbox, session.sealed) == ("node-1", "bubblewrap", True)
        assert _run(session, "x = 20; print(open('input/demo/train.csv').read())") == "a,b\n1,2"
        assert _run(session, "x + 1") == "21"
        failed = session.run("1 / 0", seconds=30)
        assert failed.status is CellStatus.ERROR
        assert "ZeroDivisionError" in failed.error
        slow = session.run("import time; time.sleep(60)", seconds=1)
        assert (slow.status, slow.state_lost) == (CellStatus.TIMEOUT, False)
        watch = _StopAt()
        stopped = session.run("print('epoch 1'); time.sleep(60)", seconds=30, watch=watch)
        assert (stopped.status, stopped.error) == (CellStatus.STOPPED, "it prints nothing new")
        assert watch.seen == ["epoch 1\n"]
        assert _run(session, "x") == "20"
        died = session.run("import os; os._exit(3)", seconds=30)
        assert (died.status, died.state_lost) == (CellStatus.DIED, True)
        assert _run(session, "'x' in globals()") == "False"
        assert session.run("'\ud800'", seconds=30).status is CellStatus.OK


def test_files_of_the_node_are_files_here(opened: Open) -> None:
    """What a cell writes, changes or removes is so here; links and hidden files stay there."""
    with contextlib.closing(opened()) as session:
        write = (
            "import os; os.makedirs('checkpoints/a'); open('checkpoints/a/m.bin', 'wb').write(b'1' * 9)"
        )
        _run(
            session,
            write + "; open('submission.csv', 'w').write('id\\n1\\n'); os.symlink('/etc', 'etc')",
        )
        _run(session, "open('.hidden', 'w').write('x'); open('twin.csv', 'w').write('id\\n1\\n')")
        here = session.workspace
        assert (here / "checkpoints/a/m.bin").read_bytes() == b"1" * 9
        before = (here / "submission.csv").stat()
        _run(session, "open('submission.csv', 'w').write('id\\n1\\n'); os.remove('twin.csv')")
        after = (here / "submission.csv").stat()
        assert (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns)
        assert (here / "submission.csv").read_text() == "id\n1\n"
        names = sorted(path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file())
        assert names == ["checkpoints/a/m.bin", "submission.csv"]


def test_a_folder_may_become_a_file_and_a_file_a_folder(opened: Open) -> None:
    """The working directory here follows whatever the code does to its paths."""
    with contextlib.closing(opened()) as session:
        _run(
            session,
            "import os, shutil; os.mkdir('a'); open('a/b', 'w').write('1'); open('c', 'w').write('2')",
        )
        _run(session, "shutil.rmtree('a'); open('a', 'w').write('3'); os.remove('c'); os.mkdir('c')")
        _run(session, "open('c/d', 'w').write('4')")
        here = session.workspace
        assert ((here / "a").read_text(), (here / "c/d").read_text()) == ("3", "4")


def test_inputs_are_fetched_once(opened: Open, threads: HostThreads) -> None:
    """A second session of the node finds them in its cache; an input is read-only there."""
    with contextlib.closing(opened()) as session:
        assert "Read-only" in session.run("open('input/demo/train.csv', 'w')", seconds=30).error
    with contextlib.closing(opened("c/attempt-002/1")):
        fetched = [path.read_bytes() for path in (threads.cache / "objects").glob("*/*")]
        assert fetched.count(b"a,b\n1,2\n") == 1


def test_an_input_with_labels_is_not_kept(
    server: DriverServer, threads: HostThreads, tmp_path: Path
) -> None:
    """A refit learns from all rows; the node has them while its session runs, and not in its cache."""
    data = tmp_path / "all"
    data.mkdir()
    (data / "train.csv").write_text("sealed,1\n")
    nodes = Nodes(server, threads, tmp_path / "staging")
    opening = OpenSession(sandbox="bubblewrap", own_code=False, env={})
    given, name = (Input(data, "input/demo"),), "c/refit-000/1"
    request = SessionRequest(
        name, opening, given, tmp_path / "workspace", uncached=frozenset({"input/demo"})
    )
    with contextlib.closing(RemoteSession(nodes, request)) as session:
        assert _run(session, "print(open('input/demo/train.csv').read())") == "sealed,1"
    threads.join()
    kept = [path.read_bytes() for path in threads.cache.rglob("*") if path.is_file()]
    assert not any(b"sealed" in content for content in kept)


def test_another_node_goes_on_with_the_files(opened: Open) -> None:
    """A session that is opened again has the working directory of the one before."""
    with contextlib.closing(opened()) as session:
        _run(session, "open('kept.txt', 'w').write('kept')")
    with contextlib.closing(opened("c/attempt-001/2")) as session:
        assert session.node == "node-2"
        assert _run(session, "print(open('kept.txt').read())") == "kept"


def test_a_host_that_ends_at_once_is_not_cancelled(threads: HostThreads, tmp_path: Path) -> None:
    """A host may have disconnected before the driver's next step; its run ends as completed."""

    class _Slow(DriverServer):
        def remove(self, link: DriverLink) -> None:
            threads.join()
            _await(lambda: not link.connected)
            super().remove(link)

    with _Slow(create_certificate(tmp_path / "tls"), address="127.0.0.1") as server:
        _opener(Nodes(server, threads, tmp_path / "staging"), tmp_path)().close()
    assert threads.ended == ["the driver closed the session"]
    assert threads.cancelled == 0


def test_a_link_that_is_down_for_a_moment_costs_nothing(
    opened: Open, server: DriverServer, threads: HostThreads
) -> None:
    """The cell goes on meanwhile, and its result arrives once."""
    with Relay(server.port) as threads.relay, contextlib.closing(opened()) as session:
        _run(session, "import time; ran = 0")
        threading.Timer(0.5, threads.relay.cut).start()
        threading.Timer(1.5, threads.relay.mend).start()
        assert _run(session, "ran += 1; time.sleep(2.5); open('a', 'w').write('a'); ran") == "1"
        assert (session.workspace / "a").read_text() == "a"
        threads.relay.cut()
        threading.Timer(1.0, threads.relay.mend).start()
        assert _run(session, "ran += 1; ran") == "2"


def test_a_link_that_stays_down_is_a_lost_node(
    opened: Open, server: DriverServer, threads: HostThreads
) -> None:
    """The driver gives up after a while; the node ends its sandbox by itself."""
    with Relay(server.port) as threads.relay, contextlib.closing(opened()) as session:
        threading.Timer(0.5, threads.relay.cut).start()
        begun = time.monotonic()
        with pytest.raises(NodeLostError, match=r"^node node-1 is lost: no connection for 8 seconds$"):
            session.run("import time; time.sleep(60)", seconds=60)
        assert time.monotonic() - begun < 30
    threads.join()
    assert threads.ended == ["the driver was not reachable for 8 seconds"]


def test_a_node_that_comes_back_late_is_refused(
    opened: Open, server: DriverServer, threads: HostThreads
) -> None:
    """Its token ended with its session, so it can neither write nor read."""
    with Relay(server.port) as threads.relay:
        session = opened()
        threads.relay.cut()
        with pytest.raises(NodeLostError):
            session.run("x = 1", seconds=30)
        session.close()
        threads.relay.mend()
        threads.join()
    assert threads.ended[0].startswith(("the driver has closed this session", "the driver was not"))
    assert _request(threads.orders[0], "POST", "/objects", json=[]).status_code == 403


def test_a_killed_node_is_lost_and_leaves_nothing(
    server: DriverServer, processes: _Processes, tmp_path: Path
) -> None:
    """Killed in a cell with all its threads, it takes the sandbox along; another node goes on."""
    nodes = Nodes(server, processes, tmp_path / "staging", lost_seconds=1.0)
    opened = _opener(nodes, tmp_path)
    with contextlib.closing(opened()) as session:
        _run(session, "open('kept.txt', 'w').write('kept')")
        assert processes_of(processes.cache.parent)
        folders = {path.parent for path in Path(processes.temporary).glob("**/kept.txt")}
        assert folders
        host = processes.running[0]
        threading.Timer(0.5, lambda: os.killpg(host.pid, signal.SIGKILL)).start()
        with pytest.raises(NodeLostError, match="node node-1 is lost"):
            session.run("import time; time.sleep(60)", seconds=60)
    with contextlib.closing(opened("c/attempt-001/2")) as session:
        assert session.node == "node-2"
        assert _run(session, "print(open('kept.txt').read())") == "kept"
    assert processes.running[1].communicate()[0] == "the driver closed the session\n"
    _await(lambda: not _sandboxes(tmp_path))
    _await(lambda: not any(folder.exists() for folder in folders))  # a refit's would hold labels


def test_a_node_without_its_driver_ends(processes: _Processes, tmp_path: Path) -> None:
    """A driver that is gone for good leaves no cell running anywhere."""
    with DriverServer(create_certificate(tmp_path / "tls"), address="127.0.0.1") as server:
        nodes = Nodes(server, processes, tmp_path / "staging")
        session = _opener(nodes, tmp_path)()
        thread = threading.Thread(target=lambda: _ignore(session, "import time; time.sleep(600)"))
        thread.start()
        time.sleep(1.0)
        server.stop()
    said = processes.running[0].communicate(timeout=60)[0]
    assert said == "the driver was not reachable for 8 seconds\n"
    _await(lambda: not _sandboxes(tmp_path))
    session.close()


def test_another_toolbox_is_refused_in_one_line(
    server: DriverServer, threads: HostThreads, tmp_path: Path
) -> None:
    """Results would depend on the node."""
    nodes = Nodes(server, threads, tmp_path / "staging")
    with pytest.raises(SandboxError, match=r"^node node-1: its toolbox is \S+, the driver's is abcabc$"):
        _opener(nodes, tmp_path, toolbox="abcabc")()


def test_a_node_without_the_gpus_it_promised_is_busy(
    server: DriverServer, threads: HostThreads, tmp_path: Path
) -> None:
    """The session may fit another node, or this one later."""
    nodes = Nodes(server, threads, tmp_path / "staging")
    with pytest.raises(NodeBusyError, match=r"^node node-1: 0 of 8 GPUs are free$"):
        _opener(nodes, tmp_path, gpus=8)()


def test_a_node_with_less_memory_than_needed_is_busy(
    server: DriverServer, threads: HostThreads, tmp_path: Path
) -> None:
    """A draft that needs much memory waits for another node."""
    nodes = Nodes(server, threads, tmp_path / "staging")
    with pytest.raises(NodeBusyError, match=r"^node node-1: it has \d+ of 1000000 GB of memory$"):
        _opener(nodes, tmp_path, memory_gb=1_000_000)()


class _OlderHosts(HostThreads):
    """Hosts that say that their CoMind is of version 0.0.1."""

    def host(self, order: HostOrder, node: str) -> str:
        return asyncio.run(self._talk(order, node))

    async def _talk(self, order: HostOrder, node: str) -> str:
        state = HostState(node=node, version="0.0.1", machine=Machine())
        connection = Connection(order, lambda: [state], patience=LOST_SECONDS)
        ends: list[asyncio.Future[None]] = []

        def take(message: DriverMessage) -> None:
            assert isinstance(message, CloseSession)
            ends.append(asyncio.ensure_future(connection.end("it was refused")))

        return await connection.receive(take)


def test_a_node_with_another_version_is_refused_in_one_line(
    server: DriverServer, tmp_path: Path
) -> None:
    """Their messages may differ."""
    hosts = _OlderHosts(tmp_path / "cache")
    nodes = Nodes(server, hosts, tmp_path / "staging")
    with pytest.raises(SandboxError, match=r"^node node-1: its CoMind is 0.0.1, the driver's is \S+$"):
        _opener(nodes, tmp_path)()
    hosts.join()
    assert hosts.ended == ["it was refused"]


def test_a_cell_that_ignores_its_timeout_is_killed_on_its_node(opened: Open) -> None:
    """At its timeout its interpreter ends within the grace period; the next cell has a new one."""
    stubborn = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    time.sleep(1)
"""
    with contextlib.closing(opened()) as session:
        begun = time.monotonic()
        result = session.run(stubborn, seconds=2)
        assert (result.status, result.state_lost) == (CellStatus.DIED, True)
        assert time.monotonic() - begun < 30
        assert _run(session, "print(6 * 7)") == "42"


def test_a_campaign_that_ends_leaves_no_cell_on_a_node(
    processes: _Processes, server: DriverServer, tmp_path: Path
) -> None:
    """Closing a session ends a cell that ignores interrupts, whatever the pool's engine does."""
    session = _opener(Nodes(server, processes, tmp_path / "staging"), tmp_path)()
    stubborn = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"
    thread = threading.Thread(target=lambda: _ignore(session, stubborn))
    thread.start()
    _await(lambda: bool(_sandboxes(Path(processes.temporary))))
    session.close()
    assert processes.running[0].wait(60) == 0
    assert not _sandboxes(Path(processes.temporary))


def test_a_full_disk_on_a_node_is_an_answer(
    opened: Open, threads: HostThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inputs that do not fit are one line, and the next session there opens once there is room."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(shutil, "copytree", full)
        with pytest.raises(SandboxError, match=r"^node node-1: .*No space left on device"):
            opened()
    opened().close()


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_is_an_hour_off_connects(hours: int, threads: HostThreads, tmp_path: Path) -> None:
    """Clocks matter to the certificate alone, which is valid from two days before its campaign."""
    made = create_certificate(tmp_path / "tls", datetime.now(UTC) + timedelta(hours=hours))
    with DriverServer(made, address="127.0.0.1") as server:
        _opener(Nodes(server, threads, tmp_path / "staging"), tmp_path)().close()
        threads.join()


@pytest.mark.parametrize("failures", [2, 9])
def test_hosts_that_do_not_start_are_requested_again(
    failures: int, server: DriverServer, threads: HostThreads, tmp_path: Path
) -> None:
    """A run that was cancelled costs a new request; five in a row end the campaign with a line."""

    class _Ended(HostThreads):
        def waiting(self) -> str:
            raise NodeLostError("the session host in pool 'gpu' has ended: cancelled")

    class _Failing(HostThreads):
        requests = 0

        def start(self, order: HostOrder) -> "HostThreads":
            self.requests += 1
            return threads.start(order) if self.requests > failures else _Ended(tmp_path / "cache")

    placement = _Failing(tmp_path / "cache")
    work = code().model_copy(update={"budget": WorkBudget(steps=1, seconds=60, cell_seconds=1)})
    sessions = NodeSessions(
        Nodes(server, placement, tmp_path / "staging"),
        spec(sandbox="bubblewrap"),
        busy_seconds=0.1,
    )

    def opened() -> RemoteSession:
        folder = CampaignFolder(tmp_path / "c1").work("attempt-001")
        return sessions.open(
            work,
            folder,
            (),
            BubblewrapSandbox(),
            own_code=False,
            seconds_left=60.0,
            notify=lambda _: None,
        )

    if failures < 5:
        opened().close()
        assert placement.requests == failures + 1
    else:
        with pytest.raises(SandboxError, match=r"^5 session hosts in a row failed: .* cancelled$"):
            opened()


class _LateFirst(HostThreads):
    """The first host is overdue, and dials in only when a second one was requested."""

    @property
    def overdue(self) -> bool:  # type: ignore[override]
        return len(self.orders) == 1

    def start(self, order: HostOrder) -> "HostThreads":
        if self.orders:
            self.second = order
            super().start(self.orders[0])
        else:
            self.orders.append(order)
        return self


def test_a_host_that_comes_late_is_taken(server: DriverServer, tmp_path: Path) -> None:
    """Another host is requested where one is overdue; the first that connects gets the session."""
    placement = _LateFirst(tmp_path / "cache")
    nodes = Nodes(server, placement, tmp_path / "staging", lost_seconds=LOST_SECONDS)
    with contextlib.closing(_opener(nodes, tmp_path)()) as session:
        first, second = placement.orders[0], placement.second
        assert session.link.token == first.token != second.token
        assert _run(session, "print(1)") == "1"
        assert placement.cancelled == 1
        HostThreads.start(placement, second)  # it is refused, as the session has a host
    placement.join()
    assert len(placement.ended) == 2
    assert "the driver closed the session" in placement.ended


def test_an_attempts_time_begins_with_its_first_session(server: DriverServer, tmp_path: Path) -> None:
    """It waits for a node longer than its own time, and gets the seconds in addition."""
    placement = HostThreads(tmp_path / "cache", delay=2.0)
    work = code().model_copy(update={"budget": WorkBudget(steps=1, seconds=1, cell_seconds=1)})
    folder = CampaignFolder(tmp_path / "c1").work("attempt-001")
    sessions = NodeSessions(Nodes(server, placement, tmp_path / "staging"), spec(sandbox="bubblewrap"))
    session = sessions.open(
        work, folder, (), BubblewrapSandbox(), own_code=False, seconds_left=600.0, notify=lambda _: None
    )
    session.close()
    placement.join()
    assert session.waited >= 2.0


def test_a_node_refuses_sandboxes_that_its_owner_does_not_accept(
    server: DriverServer, tmp_path: Path
) -> None:
    """Whatever the driver asks for, no code runs in a sandbox that the node's owner did not name."""
    for accepted, opening, line in (
        (SEALED, {"sandbox": "process"}, "the sandbox process is not accepted here"),
        (SEALED, {"sandbox": "process", "own_code": True}, "the sandbox process is not accepted here"),
        (("docker",), {"sandbox": "bubblewrap"}, "the sandbox bubblewrap is not accepted here"),
        ((), {"sandbox": "auto", "own_code": True}, "process: it is not accepted here"),
    ):
        placement = HostThreads(tmp_path / "cache", accepted=accepted)
        nodes = Nodes(server, placement, tmp_path / "staging", lost_seconds=LOST_SECONDS)
        with pytest.raises(SandboxError, match=line):
            _opener(nodes, tmp_path, **opening)()
        placement.join()


def test_a_host_that_fails_says_so(opened: Open) -> None:
    """Whatever goes wrong on a node is an answer; nobody waits for a cell that will not end."""
    with contextlib.closing(opened()) as session:
        session.link.run(RunCell(number=1, code="1", seconds=9, packages="0" * 64))
        answer = session.link.receive(20)
    assert isinstance(answer, HostFailed)
    assert answer.message == "the driver refuses inputs (404)"


@pytest.mark.parametrize("gpus", [0, 8])
def test_an_attempt_without_a_node_in_its_time_is_over(
    gpus: int, server: DriverServer, threads: HostThreads, tmp_path: Path
) -> None:
    """It ends as one whose time is up, so the campaign continues; the reason was passed on before."""

    class _Nowhere(HostThreads):
        def start(self, order: HostOrder) -> "HostThreads":
            self.orders.append(order)
            return self

    placement = threads if gpus else _Nowhere(tmp_path / "cache")
    work = code().model_copy(update={"budget": WorkBudget(steps=1, seconds=4, cell_seconds=1)})
    sessions = NodeSessions(
        Nodes(server, placement, tmp_path / "staging"),
        spec(sandbox="bubblewrap", gpus=gpus),
        busy_seconds=1.0,
    )
    reasons: list[str] = []
    with pytest.raises(DeadlineExceeded):
        sessions.open(
            work,
            CampaignFolder(tmp_path / "c1").work("attempt-001"),
            (),
            BubblewrapSandbox(),
            own_code=False,
            seconds_left=4.0,
            notify=reasons.append,
        )
    assert reasons[:1] == (["node node-1: 0 of 8 GPUs are free"] if gpus else [])


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a/../b", "a//b", "", ".", "a\0b"])
def test_a_node_names_no_file_elsewhere(name: str) -> None:
    """Paths of files that a node sends stay below the working directory."""
    with pytest.raises(ValidationError):
        FileEntry(name=name, size=0, sha256="0" * 64)


def test_a_cell_reaches_neither_driver_nor_node(
    opened: Open, server: DriverServer, tmp_path: Path
) -> None:
    """Code on a node has no network, no token, and no files but its own."""
    with contextlib.closing(opened()) as session:
        tries = f"""
import os, socket
def tried(act):
    try:
        return act()
    except OSError as error:
        return type(error).__name__
print(tried(lambda: socket.create_connection(("127.0.0.1", {server.port}), 1)))
print(tried(lambda: os.listdir({str(tmp_path)!r})))
print([name for name in os.environ if "TOKEN" in name or "PREFECT" in name])
"""
        assert _run(session, tries) == "ConnectionRefusedError\nFileNotFoundError\n[]"


def test_no_node_in_time_is_said(server: DriverServer, tmp_path: Path) -> None:
    """An attempt waits for a node until its time is over."""

    class _Nowhere(HostThreads):
        def start(self, order: HostOrder) -> "HostThreads":
            self.orders.append(order)
            return self

    nodes = Nodes(server, _Nowhere(tmp_path / "cache"), tmp_path / "staging")
    with pytest.raises(SandboxError, match="no node opened a session in 1 seconds: it is starting"):
        _opener(nodes, tmp_path)(seconds=1)


def test_a_wait_for_a_node_is_reported_once(
    server: DriverServer, threads: HostThreads, tmp_path: Path
) -> None:
    """A long wait for a node has a reason, which is passed on when it changes."""

    class _Busy(HostThreads):
        def start(self, order: HostOrder) -> "HostThreads":
            threading.Timer(6.5, lambda: threads.start(order)).start()
            return self

        def waiting(self) -> str:
            return "no free worker in pool 'gpu'"

    reasons: list[str] = []
    nodes = Nodes(server, _Busy(tmp_path / "cache"), tmp_path / "staging")
    _opener(nodes, tmp_path)(notify=reasons.append).close()
    assert reasons == ["no free worker in pool 'gpu'"]


def test_a_token_reaches_its_own_session_alone(opened: Open, threads: HostThreads) -> None:
    """Neither objects of others, nor paths, nor anything without a token."""
    with contextlib.closing(opened()) as session:
        _run(session, "x = 1")
        order = threads.orders[0]
        assert _request(order, "POST", "/objects", json=["0" * 64]).status_code == 404
        assert _request(order, "PUT", "/files/..%2F..%2Fevil", content=b"x").status_code == 404
        assert _request(order, "PUT", f"/files/{'0' * 64}", content=b"x").status_code == 409
        stranger = order.model_copy(update={"token": "guessed"})
        assert _request(stranger, "POST", "/objects", json=[]).status_code == 403
        assert _request(stranger, "PUT", f"/files/{'0' * 64}", content=b"x").status_code == 403


def _request(order: HostOrder, method: str, path: str, **content: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {order.token}"}
    with httpx.Client(verify=pinning_context(order.certificate), trust_env=False) as client:
        return client.request(
            method,
            f"https://127.0.0.1:{order.address.rpartition(':')[2]}{path}",
            headers=headers,
            **content,  # type: ignore[arg-type]
        )


def _ignore(session: RemoteSession, code: str) -> None:
    with contextlib.suppress(SandboxError):
        session.run(code, seconds=5)


def _sandboxes(folder: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if str(folder) in line:
            found.append(line)
    return found


def _await(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
