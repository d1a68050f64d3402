"""After a kill -9 of the orchestrator nothing of a session is left: process, mount, folder or group."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from comind.session.session_ports import Sandbox
from tests.attacks.conftest import processes_with

_PROGRAM = """
import sys, time
from pathlib import Path
from comind.session.choice import SANDBOXES
from comind.session.kernel_session import KernelSession
folder, name, mark = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
session = KernelSession(SANDBOXES[name](), folder / 'workspace', env={}, memory_bytes=4 << 30,
                        log=folder / 'log')
session.run(f'''
import os, sys, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}])
        os._exit(0)
''', seconds=60)
print(session._runtime, flush=True)
session.run('while True: pass', seconds=600)
"""


def _groups(pid: int) -> list[Path]:
    return list(Path("/sys/fs/cgroup").glob(f"**/comind-{pid}.*"))


def _mounts(folder: Path) -> list[str]:
    return [line for line in Path("/proc/mounts").read_text().splitlines() if str(folder) in line]


def test_nothing_survives_a_kill(
    tmp_path: Path, sandbox: Sandbox, request: pytest.FixtureRequest
) -> None:
    """Daemons, namespaces, temporary folders and groups are gone seconds after us."""
    mark = f"afterlife-{os.getpid()}"
    name = sandbox.name.partition(" ")[0]
    engine = {"DOCKER_HOST": request.getfixturevalue("engine")} if name == "docker" else {}
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path), name, mark]
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **engine},
    )
    assert child.stdout is not None
    runtime = Path(child.stdout.readline().strip())
    assert runtime.is_dir()
    assert len(processes_with(mark)) >= 3
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    end = time.monotonic() + 20
    while time.monotonic() < end and (processes_with(mark) or runtime.parent.exists()):
        time.sleep(0.1)
    assert processes_with(mark) == []
    assert not runtime.parent.exists()
    assert _groups(child.pid) == []
    assert _mounts(tmp_path) == _mounts(runtime.parent) == []
