"""Processor time and memory of a process are those of its whole tree."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from comind.system.process_load import ProcessLoad, load_of_tree

_FORKS = """
import os, sys
held = bytearray(os.urandom(1 << 20) * 200)  # 200 MB, shared by forks until they write
for _ in range(3):
    if not os.fork():
        sys.stdin.read()
        os._exit(0)
print("ready", flush=True)
sys.stdin.read()
"""
_BUSY = """
import subprocess, sys, time
spin = "import time; end = time.process_time() + 0.4\\nwhile time.process_time() < end: pass"
subprocess.run([sys.executable, "-c", spin])
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def _running(program: str) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.communicate()


def _load(pid: int) -> ProcessLoad:
    found = load_of_tree(pid)
    assert found is not None
    return found


def test_pages_that_processes_share_count_once() -> None:
    """Four processes that share 200 MB do not have 800."""
    with _running(_FORKS) as pid:
        assert 200 << 20 < _load(pid).memory_bytes < 400 << 20


def test_a_child_that_has_exited_has_used_its_time() -> None:
    """The time of a program that has ended is that of the process which started it."""
    with _running(_BUSY) as pid:
        assert _load(pid).cpu_seconds >= 0.4


def test_a_process_that_is_gone_has_no_load() -> None:
    """There is nothing to measure after its exit."""
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    assert load_of_tree(process.pid) is None


def test_our_own_process_has_used_some_time() -> None:
    """Time only grows."""
    before = _load(os.getpid())
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert _load(os.getpid()).cpu_seconds > before.cpu_seconds
