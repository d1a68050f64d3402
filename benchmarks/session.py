"""One cell through our sessions, beside bare `jupyter_client` on the same kernel."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jupyter_client.manager import KernelManager

from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.kernel import KernelSession
from comind.session.process import ProcessSandbox

CELLS = 200


def bare() -> tuple[float, Callable[[], None], Callable[[], None]]:
    """Start a kernel without us; returns seconds to its first reply, how to run a cell, how to end."""
    begun = time.perf_counter()
    manager = KernelManager(transport="ipc", ip=f"{tempfile.mkdtemp(prefix='b-')}/s")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)

    def run() -> None:
        client.execute_interactive("1 + 1", output_hook=lambda _: None)

    run()

    def end() -> None:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

    return time.perf_counter() - begun, run, end


def ours(sandbox: object) -> tuple[float, Callable[[], None], Callable[[], None]]:
    """The same through a session."""
    root = Path(tempfile.mkdtemp(prefix="b-"))
    begun = time.perf_counter()
    session = KernelSession(
        sandbox,  # type: ignore[arg-type]
        root / "workspace",
        env={},
        memory_bytes=8 << 30,
        log=root / "log",
    )

    def run() -> None:
        session.run("1 + 1", seconds=60)

    run()
    return time.perf_counter() - begun, run, session.close


def main() -> None:
    """Print the figures; cells of all three are interleaved, so that load hits them alike."""
    opened = {
        "bare jupyter_client": bare(),
        "process": ours(ProcessSandbox()),
        "bubblewrap": ours(BubblewrapSandbox()),
    }
    times: dict[str, list[float]] = {name: [] for name in opened}
    for _ in range(CELLS):
        for name, (_, run, _) in opened.items():
            begun = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - begun)
    base = statistics.median(times["bare jupyter_client"])
    start = opened["bare jupyter_client"][0]
    for name, (started, _, end) in opened.items():
        middle = statistics.median(times[name])
        print(
            f"{name}: first reply {started:.2f} s ({started / start:.1f}x), "
            f"cell {1000 * middle:.1f} ms ({middle / base:.2f}x, target 2x)"
        )
        end()


if __name__ == "__main__":
    main()
