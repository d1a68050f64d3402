"""Sessions on nodes: a cell beside a local one, bytes, a loss, and many sessions at one driver."""

import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from websockets.asyncio.client import connect

from comind.domain.environment import Machine
from comind.errors import NodeLostError
from comind.nodes.certificate import create_certificate, pinning_context
from comind.nodes.driver_server import DriverServer
from comind.nodes.messages import (
    DRIVER_MESSAGES,
    CellDone,
    CloseSession,
    HostState,
    OpenSession,
    RunCell,
    SessionReady,
)
from comind.nodes.placement import HostOrder
from comind.nodes.remote_session import Nodes, RemoteSession, SessionRequest
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.kernel_session import KernelSession
from comind.session.session_ports import CellResult, CellStatus, Input, Session

CELLS, SESSIONS, CELL_SECONDS = 200, 1_000, 1.0
ATTEMPTS, STEPS, SLOTS_A_WORKER = 64, 5, 8
_HOST = """
import sys
from pathlib import Path
from comind.nodes.placement import HostOrder
from comind.nodes.session_host import host_session
host_session(HostOrder.model_validate_json(sys.stdin.read()), Path(sys.argv[1]), node="bench")
"""


class Processes:
    """Starts session hosts as processes; a `Placement`."""

    overdue = False

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, order: HostOrder) -> "Processes":
        """Start a host."""
        command = [sys.executable, "-c", _HOST, str(self.cache)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        assert process.stdin is not None
        process.stdin.write(order.model_dump_json().encode())
        process.stdin.close()
        self.running.append(process)
        return self

    def waiting(self) -> str:
        """Return a reason."""
        return "it is starting"

    def cancel(self) -> None:
        """Do nothing."""


class ScriptedHosts:
    """Hosts without a sandbox, in one event loop, a limited number at a time; a `Placement`."""

    overdue = False

    def __init__(self, slots: int, seconds: float) -> None:
        self._slots = asyncio.Semaphore(slots)
        self._seconds = seconds
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def start(self, order: HostOrder) -> "ScriptedHosts":
        """Queue a host."""
        asyncio.run_coroutine_threadsafe(self._host(order), self._loop)
        return self

    def waiting(self) -> str:
        """Return a reason."""
        return "no free slot"

    def cancel(self) -> None:
        """Do nothing."""

    async def _host(self, order: HostOrder) -> None:
        async with (
            self._slots,
            connect(
                f"wss://{order.address}/session",
                ssl=pinning_context(order.certificate),
                additional_headers={"Authorization": f"Bearer {order.token}"},
                open_timeout=120,
                ping_timeout=None,
            ) as websocket,
        ):
            await websocket.send(HostState(node="scripted", machine=Machine()).model_dump_json())
            async for text in websocket:
                match DRIVER_MESSAGES.validate_json(text):
                    case OpenSession():
                        ready = SessionReady(sandbox="scripted", sealed=True, threads=1)
                        await websocket.send(ready.model_dump_json())
                    case RunCell(number=number):
                        await asyncio.sleep(self._seconds)
                        done = CellDone(number=number, result=CellResult(status=CellStatus.OK))
                        await websocket.send(done.model_dump_json())
                    case CloseSession():
                        return
                    case _:
                        pass


def request(folder: Path, name: str, *inputs: Input) -> SessionRequest:
    """Return a request for a session in `folder`."""
    opening = OpenSession(sandbox="bubblewrap", own_code=False, env={})
    return SessionRequest(name, opening, inputs, folder / name)


def round_trips(session: Session) -> list[float]:
    """Return the milliseconds of trivial cells."""
    session.run("x = 1", seconds=60)
    found = []
    for _ in range(CELLS):
        begun = time.perf_counter()
        session.run("x += 1", seconds=60)
        found.append(1000 * (time.perf_counter() - begun))
    return found


def compare_cells(nodes: Nodes, folder: Path) -> None:
    """Print the time of a trivial cell on a node beside that of one here, interleaved."""
    local = KernelSession(
        BubblewrapSandbox(), folder / "local", env={}, memory_bytes=4 << 30, log=folder / "log"
    )
    remote = RemoteSession(nodes, request(folder, "remote"))
    here, there = [], []
    for _ in range(3):
        here += round_trips(local)
        there += round_trips(remote)
    one, other = statistics.median(here), statistics.median(there)
    ratio = f"{other / one:.2f}x, {other - one:.1f} ms more"
    print(f"a cell here {one:.1f} ms, on a node {other:.1f} ms: {ratio}")
    local.close()
    remote.close()


def count_bytes(nodes: Nodes, folder: Path) -> None:
    """Print what an attempt with 100 MB of inputs and five files of 1 MB moves."""
    data = folder / "data"
    data.mkdir()
    for number in range(100):
        (data / f"{number}.bin").write_bytes(os.urandom(1 << 20))
    for name in ("first", "second"):
        begun = time.perf_counter()
        session = RemoteSession(nodes, request(folder, name, Input(data, "input/data")))
        opened = time.perf_counter() - begun
        for number in range(5):
            session.run(f"import os; open('{number}', 'wb').write(os.urandom(1 << 20))", seconds=60)
        link = session.link
        print(
            f"{name} attempt: opened in {opened:.2f} s, {link.sent_bytes / 2**20:.1f} MiB to the node, "
            f"{link.received_bytes / 2**20:.1f} MiB back"
        )
        session.close()


def lose_a_node(nodes: Nodes, processes: Processes, folder: Path) -> None:
    """Print the seconds from the kill of a node to the first cell on another one."""
    session = RemoteSession(nodes, request(folder, "lost"))
    session.run("x = 1", seconds=60)
    os.killpg(processes.running[-1].pid, signal.SIGKILL)
    begun = time.perf_counter()
    try:
        session.run("x", seconds=600)
    except NodeLostError:
        noticed = time.perf_counter() - begun
    session.close()
    again = RemoteSession(nodes, request(folder, "lost"))
    again.run("x = 1", seconds=60)
    took = time.perf_counter() - begun
    print(f"a killed node is noticed after {noticed:.1f} s, the first new cell ran after {took:.1f} s")
    again.close()


def many_sessions(server: DriverServer, folder: Path) -> None:
    """Print memory and rate of a driver with scripted sessions."""
    nodes = Nodes(server, ScriptedHosts(SESSIONS, 0.0), folder / "staging")
    before, begun = psutil.Process().memory_info().rss, time.perf_counter()
    with ThreadPoolExecutor(SESSIONS) as pool:
        names = [f"many-{number}" for number in range(SESSIONS)]
        sessions = list(pool.map(lambda name: RemoteSession(nodes, request(folder, name)), names))
        opened = time.perf_counter() - begun
        begun = time.perf_counter()
        for _ in range(3):
            list(pool.map(lambda session: session.run("x", seconds=60), sessions))
        took = time.perf_counter() - begun
        memory = (psutil.Process().memory_info().rss - before) / 2**20
        threads = threading.active_count()
        list(pool.map(RemoteSession.close, sessions))
    print(
        f"{SESSIONS} scripted sessions and their hosts in one process: opened in {opened:.1f} s, "
        f"{3 * SESSIONS / took:.0f} cells a second, {memory:.0f} MiB more, {threads} threads"
    )


def scale(server: DriverServer, folder: Path) -> None:
    """Print the time of scripted attempts on one, two and four workers beside the ideal one."""
    for workers in (1, 2, 4):
        slots = workers * SLOTS_A_WORKER
        nodes = Nodes(server, ScriptedHosts(slots, CELL_SECONDS), folder / "staging")
        begun = time.perf_counter()
        with ThreadPoolExecutor(ATTEMPTS) as pool:
            list(pool.map(attempt_on(nodes, folder, workers), range(ATTEMPTS)))
        took, ideal = time.perf_counter() - begun, ATTEMPTS / slots * STEPS * CELL_SECONDS
        share = f"{took:.1f} s, {ideal / took:.0%} of ideal"
        print(f"{ATTEMPTS} attempts of {STEPS} s on {workers} workers: {share}")


def attempt_on(nodes: Nodes, folder: Path, workers: int) -> Callable[[int], None]:
    """Return a function that runs one scripted attempt."""

    def attempt(number: int) -> None:
        session = RemoteSession(nodes, request(folder, f"scale-{workers}-{number}"))
        for _ in range(STEPS):
            session.run("x", seconds=60)
        session.close()

    return attempt


def main() -> None:
    """Print the figures."""
    folder = Path(tempfile.mkdtemp(prefix="b-"))
    with DriverServer(create_certificate(folder / "tls"), address="127.0.0.1") as server:
        processes = Processes(folder / "cache")
        nodes = Nodes(server, processes, folder / "staging")
        compare_cells(nodes, folder)
        count_bytes(nodes, folder)
        lose_a_node(nodes, processes, folder)
        scale(server, folder)
        many_sessions(server, folder)


if __name__ == "__main__":
    main()
