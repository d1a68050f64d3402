"""Our sessions beside bare `jupyter_client` on the same kernel: start, cell, interrupt, kill.

All ways are interleaved in one run, so that load hits them alike; a line a figure.
"""

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.manager import KernelManager

from comind.errors import SandboxError
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.docker import DockerSandbox
from comind.session.kernel_session import KernelSession
from comind.session.process import ProcessSandbox
from comind.session.session_ports import CellStatus, Sandbox

ROUNDS, CELLS = 5, 60
TARGET = 2.0
STEP_TARGET_MS = 60
BARE = "bare jupyter_client"
SLEEP = "import time; time.sleep(60)"


@dataclass
class Way:
    """One kernel: how to run a cell, and how to end it."""

    run: Callable[[], None]
    interrupted: Callable[[], float]
    """Seconds from the interrupt to the end of the cell."""
    end: Callable[[], None]


def bare() -> Way:
    """Start a kernel without us."""
    manager = KernelManager(transport="ipc", ip=f"{tempfile.mkdtemp(prefix='b-')}/s")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)

    def run() -> None:
        client.execute_interactive("1 + 1", output_hook=lambda _: None)

    def interrupted() -> float:
        client.execute(SLEEP, stop_on_error=False)
        time.sleep(0.5)
        begun = time.perf_counter()
        manager.interrupt_kernel()
        client.get_shell_msg(timeout=30)
        return time.perf_counter() - begun

    def end() -> None:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

    run()
    return Way(run, interrupted, end)


def ours(make: Callable[[], Sandbox]) -> Way:
    """The same through a session."""
    root = Path(tempfile.mkdtemp(prefix="b-"))
    session = KernelSession(make(), root / "workspace", env={}, memory_bytes=8 << 30, log=root / "log")

    def run() -> None:
        assert session.run("1 + 1", seconds=60).status is CellStatus.OK

    def interrupted() -> float:
        result = session.run(SLEEP, seconds=0.5)
        assert result.status is CellStatus.TIMEOUT
        return result.seconds - 0.5

    run()
    return Way(run, interrupted, session.close)


WAYS: dict[str, Callable[[], Way]] = {
    BARE: bare,
    "process": lambda: ours(ProcessSandbox),
    "bubblewrap": lambda: ours(BubblewrapSandbox),
}


def with_docker() -> None:
    """Measure docker, too, where an engine answers."""
    try:
        sandbox = DockerSandbox()
    except SandboxError as error:
        print(f"docker is left out: {error}")
    else:
        WAYS["docker"] = lambda: ours(lambda: sandbox)


def measured() -> dict[str, dict[str, list[float]]]:
    """Return seconds by what was done and by whom."""
    took: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(ROUNDS):
        opened = {}
        for name, start in WAYS.items():
            begun = time.perf_counter()
            opened[name] = start()
            took["start to first reply"][name].append(time.perf_counter() - begun)
        for _ in range(CELLS):
            for name, way in opened.items():
                begun = time.perf_counter()
                way.run()
                took["cell"][name].append(time.perf_counter() - begun)
        for name, way in opened.items():
            took["interrupt to end of cell"][name].append(way.interrupted())
        for name, way in opened.items():
            begun = time.perf_counter()
            way.end()
            took["kill"][name].append(time.perf_counter() - begun)
    return took


def main() -> None:
    """Print the figures."""
    with_docker()
    took = measured()
    for what, figures in took.items():
        base = statistics.median(figures[BARE])
        for name, seconds in figures.items():
            middle = statistics.median(seconds)
            target = f", target {TARGET:g}x" if what == "cell" and name != BARE else ""
            print(f"{what}, {name}: {1000 * middle:.1f} ms ({middle / base:.2f}x{target})")
    cells = {name: statistics.median(seconds) for name, seconds in took["cell"].items()}
    for name in [name for name in WAYS if name != BARE]:
        extra = 1000 * (cells[name] - cells[BARE])
        print(f"our layer's part of a step, {name}: {extra:.1f} ms (target < {STEP_TARGET_MS} ms)")


if __name__ == "__main__":
    main()
