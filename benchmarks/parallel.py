"""Four coders in parallel, each with its share of the cores, beside one after another with all of them.

Real kernels, no model: a cell that fits gradient boosting, which uses as many threads as it may.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.kernel_session import KernelSession
from comind.session.session_ports import CellStatus
from comind.system.hardware import usable_cores
from comind.system.leases import Cores

CODERS, ROUNDS, CELLS = 4, 3, 2
IMPORTS = "from sklearn.datasets import make_classification as make; import sklearn.ensemble as e"
FIT = """
x, y = make(20_000, 40, random_state=0)
print(e.HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(x, y).score(x, y))
"""


def attempt(root: Path, name: str, lease: Callable[[], int]) -> int:
    """Open a session, run the cells, close it; returns the threads it had."""
    session = KernelSession(
        BubblewrapSandbox(),
        root / name / "workspace",
        env={},
        memory_bytes=8 << 30,
        log=root / name / "session.log",
        threads=lease(),
    )
    try:
        for cell in (IMPORTS, *[FIT] * CELLS):
            result = session.run(cell, seconds=600)
            assert result.status is CellStatus.OK, result.error
    finally:
        session.close()
    return session.threads


def leased(root: Path, coders: int, *, at_once: bool, cores: int) -> tuple[float, list[int]]:
    """Return the seconds that all attempts take, and their threads."""
    shared = Cores(cores, root / "leases")
    names = [f"{time.monotonic_ns()}-{number}" for number in range(coders)]

    def one(name: str) -> int:
        return attempt(root, name, lambda: shared.lease(name))

    begun = time.perf_counter()
    threads = []
    for together in [names] if at_once else [[name] for name in names]:
        # All are present before the first asks, as coders are that wait for their first reply.
        with ExitStack() as stack, ThreadPoolExecutor(coders) as pool:
            for name in together:
                stack.enter_context(shared.holding(name))
            threads += pool.map(one, together)
    return time.perf_counter() - begun, threads


def unleased(root: Path, coders: int, cores: int) -> float:
    """Return the seconds that all attempts take at once when each believes to be alone."""
    names = [f"{time.monotonic_ns()}-{number}" for number in range(coders)]
    begun = time.perf_counter()
    with ThreadPoolExecutor(coders) as pool:
        list(pool.map(lambda name: attempt(root, name, lambda: cores), names))
    return time.perf_counter() - begun


def main() -> None:
    """Print the figures; the ways are interleaved, so that load hits them alike."""
    root, cores = Path(tempfile.mkdtemp(prefix="b-")), usable_cores()
    gains, losses = [], []
    for _ in range(ROUNDS):
        alone, all_cores = leased(root, CODERS, at_once=False, cores=cores)
        together, share = leased(root, CODERS, at_once=True, cores=cores)
        unpinned = unleased(root, CODERS, cores)
        gains.append(alone / together)
        losses.append(unpinned / together)
        print(f"one after another with {max(all_cores)} threads: {alone:.1f} s")
        print(f"at once with {max(share)} each: {together:.1f} s; with {cores} each: {unpinned:.1f} s")
    gain, loss = statistics.median(gains), statistics.median(losses)
    print(
        f"{CODERS} coders at once on {cores} cores: {gain:.2f}x the throughput of one after another "
        f"(target 1x); without leases they take {loss:.2f}x as long"
    )


if __name__ == "__main__":
    main()
