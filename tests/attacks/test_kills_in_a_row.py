"""Fifty attempts in a row, each with one thing killed while it works: nothing of any of them is left."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from comind.system.cgroups import create_cgroup
from comind.system.process_identity import start_ticks
from tests.engine import ROOT, Engine, folder_of_the_run

pytestmark = pytest.mark.torture

_ATTEMPTS = 50
_SECONDS = 60
_PROGRAM = """
import sys
from pathlib import Path
from comind.errors import SandboxError
from comind.session.session_ports import CellStatus, Input
from comind.session.choice import SANDBOXES
from comind.session.kernel_session import KernelSession
folder, name, mark = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
inputs = (Input(folder / 'data', 'input/d'),)
session = KernelSession(SANDBOXES[name](), folder / 'workspace', inputs=inputs, env={'MARK': mark},
                        memory_bytes=2 << 30, log=folder / 'log')
daemon = 'import os; os.fork() or (os.setsid(), os.fork() or __import__("time").sleep(600))'
print('up', session.run(daemon, seconds=60).status.value, session._runtime, flush=True)
try:
    said = session.run('import time; time.sleep(600)', seconds=600)
    print('ended', said.status.value, said.error, flush=True)
    again = session.run('print(6 * 7)', seconds=60)
    print('again', again.status.value, flush=True)
except SandboxError as error:
    print('refused', error, flush=True)
session.close()
"""


@pytest.fixture(scope="module")
def own_engine(engine: str) -> Iterator[Engine]:
    """An engine of this module's own."""
    own = Engine(folder_of_the_run().with_name(f"comind-k-{os.getpid()}"))
    yield own
    own.stop()
    shutil.rmtree(own.folder)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_nothing_is_left_of_fifty_killed_attempts(name: str, own_engine: Engine, tmp_path: Path) -> None:
    """Kernel, sandbox, its keeper, the engine or the orchestrator is killed; the rest cleans up."""
    draw = random.Random(0)
    victims = ["kernel", "driver", "keeper", "orchestrator"] + ["engine"] * (name == "docker")
    counts: Counter[str] = Counter()
    mounts = own_engine.mounts()
    (tmp_path / "data").mkdir()
    for number in range(_ATTEMPTS):
        victim = draw.choice(victims)
        counts[f"{victim}: {_one_attempt(name, victim, number, own_engine, tmp_path)}"] += 1
        _until(lambda: _groups_of_the_dead() == [] and own_engine.mounts() == mounts)
    _until(lambda: own_engine.containers() == [])
    print(f"\n{name}: {dict(sorted(counts.items()))}")  # noqa: T201 - what a torture run counts


def _one_attempt(name: str, victim: str, number: int, engine: Engine, folder: Path) -> str:
    """Start an attempt, kill something of it, and return how it took that once nothing is left."""
    mark = f"fifty-{os.getpid()}-{number}"
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(folder), name, mark],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": engine.address},
    )
    assert child.stdout is not None
    up, status, runtime = child.stdout.readline().split()
    assert (up, status) == ("up", "ok")
    inside = _marked(mark)
    assert len(inside) >= 3, inside  # driver, kernel, daemon
    time.sleep(random.Random(number).random())
    if victim == "engine":
        engine.kill()
    else:
        _find(victim, child, inside).kill()
    said = child.stdout.read().split() if victim != "orchestrator" else []
    child.wait(_SECONDS)
    child.stdout.close()
    _until(lambda: _marked(mark) == [] and not Path(runtime).parent.exists())
    if victim == "engine":
        engine.stop()
        engine.start()
    return "again" if "again" in said else "refused" if "refused" in said else "gone"


def _find(victim: str, child: "subprocess.Popen[str]", inside: list[psutil.Process]) -> psutil.Process:
    """Return the process to kill."""
    if victim == "orchestrator":
        return psutil.Process(child.pid)
    if victim == "keeper":
        own = psutil.Process(child.pid).children()
        return next(p for p in reversed(own) if any("supervisor.py" in part for part in p.cmdline()))
    program = {"kernel": "kernel.py", "driver": "driver.py"}[victim]
    return next(p for p in inside if any(part.endswith(program) for part in p.cmdline()[:4]))


def _marked(mark: str) -> list[psutil.Process]:
    """Return the processes inside the sandbox: those whose environment holds the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _groups_of_the_dead() -> list[Path]:
    """Return the control groups whose process has ended; the next session of anyone removes them."""
    group = create_cgroup(memory_bytes=1 << 30, processes=10)
    if group is not None:
        group.remove()
    found = []
    for path in Path("/sys/fs/cgroup").glob("**/comind-*"):
        pid, _, start = path.name.removeprefix("comind-").rpartition("-")[0].partition(".")
        if pid.isdigit() and start_ticks(int(pid)) != start:
            found.append(path)
    return found


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + _SECONDS
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
