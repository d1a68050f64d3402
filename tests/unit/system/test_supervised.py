"""Supervised processes are killed when their parent exits, whatever ends it."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from comind.system.supervised import SupervisedProcess, start_supervised

_ENV = {"PATH": os.environ["PATH"]}


def _ends(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def _wait_for(path: Path) -> str:
    for _ in range(200):
        if path.exists() and path.read_text().strip():
            return path.read_text().strip()
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written")


def test_a_child_that_ends_tells_its_exit_code(tmp_path: Path) -> None:
    """The exit code is passed on, and output is logged."""
    log = tmp_path / "log"
    child = start_supervised([sys.executable, "-c", "print('hi'); exit(7)"], env=_ENV, log=log)
    for _ in range(200):
        if not child.alive():
            break
        time.sleep(0.05)
    assert child.exit_code() == 7
    assert log.read_text() == "hi\n"


def test_stopping_ends_the_whole_group(tmp_path: Path) -> None:
    """A child and its own child are gone when stop returns."""
    script = f"sleep 300 & echo $! > {tmp_path}/pid; wait"
    child = start_supervised(["/bin/sh", "-c", script], env=_ENV)
    grandchild = int(_wait_for(tmp_path / "pid"))
    child.stop(grace=0.1)
    assert not child.alive()
    assert _ends(grandchild)


def test_several_threads_may_stop_it() -> None:
    """One of them reads the report, which comes late; the others find that done."""
    report, end = os.pipe()
    child = SupervisedProcess(subprocess.Popen("cat", stdin=subprocess.PIPE), report, None, None)
    with ThreadPoolExecutor(8) as threads:
        stops = [threads.submit(child.stop) for _ in range(8)]
        time.sleep(0.3)
        os.write(end, b"memory")
        os.close(end)
    assert [stop.result() for stop in stops] == [None] * 8
    assert not child.alive()
    assert child.exit_reason().startswith("out of memory")


def test_a_stubborn_child_is_killed(tmp_path: Path) -> None:
    """A child that ignores SIGTERM is killed after the grace period."""
    script = f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done"
    child = start_supervised(["/bin/sh", "-c", script], env=_ENV, grace=0.2)
    pid = int(_wait_for(tmp_path / "pid"))
    child.stop(grace=0.2)
    assert _ends(pid)


def test_a_child_ends_when_we_are_killed(tmp_path: Path) -> None:
    """A kill -9 of the parent kills the child and removes its scratch folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = (
        "import time, pathlib, os\n"
        "from comind.system.supervised import start_supervised\n"
        f"start_supervised(['/bin/sh', '-c', 'echo $$ > {tmp_path}/pid; sleep 300'],"
        f" env=dict(os.environ), scratch=pathlib.Path({str(scratch)!r}))\n"
        "time.sleep(300)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    pid = int(_wait_for(tmp_path / "pid"))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert _ends(pid)
    for _ in range(100):
        if not scratch.exists():
            break
        time.sleep(0.05)
    assert not scratch.exists()


def test_a_child_gets_no_environment_of_ours() -> None:
    """Our environment is not inherited."""
    os.environ["COMIND_CANARY"] = "secret"
    try:
        done = start_supervised(
            ["/bin/sh", "-c", '[ -z "$COMIND_CANARY" ]'], env={"PATH": "/usr/bin:/bin"}
        )
        while done.alive():
            time.sleep(0.02)
    finally:
        del os.environ["COMIND_CANARY"]
    assert done.exit_code() == 0


def test_daemons_do_not_slip_away(tmp_path: Path) -> None:
    """A daemon in another process group and session is killed with the child."""
    daemon = (
        "import os, time, pathlib\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "        time.sleep(300)\n"
        "    os._exit(0)\n"
        "time.sleep(1)\n"
    )
    child = start_supervised([sys.executable, "-c", daemon], env=_ENV)
    pid = int(_wait_for(tmp_path / "pid"))
    while child.alive():
        time.sleep(0.02)
    assert _ends(pid)


def test_a_log_is_bounded(tmp_path: Path) -> None:
    """The log of a child that prints without end has beginning and end, and a limited size."""
    log = tmp_path / "log"
    program = "print('first')\nfor _ in range(3000): print('x' * 1000)\nprint('last')"
    child = start_supervised([sys.executable, "-c", program], env=_ENV, log=log, log_bytes=10_000)
    while child.alive():
        time.sleep(0.02)
    said = log.read_text()
    assert len(said) < 10_200
    assert said.startswith("first\n")
    assert said.endswith("x\nlast\n")
    assert "bytes left out" in said


def test_a_program_goes_with_its_keeper(tmp_path: Path) -> None:
    """If the supervisor is killed, so is the program."""
    told = tmp_path / "pid"
    program = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    process = start_supervised([sys.executable, "-c", program], env=_ENV)
    pid = int(_wait_for(told))
    supervisor = psutil.Process(pid).parent()
    assert supervisor is not None
    supervisor.kill()
    assert _ends(pid)
    process.stop()
