"""Functions that run within limits, in a process of their own, all of whose children are killed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Protocol

import pytest

from comind.programs.inside.limits import Ended, unpacked
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.session_ports import Sandbox

_SERVER = """
import json, os, signal, sys, time
from comind.programs.inside.limits import run_limited

for line in sys.stdin:
    body, seconds, memory_mb = json.loads(line)
    names = {"os": os, "signal": signal, "sys": sys, "time": time}
    exec(body, names)
    if "packed" in names:
        content = names["packed"]
    else:
        content = run_limited(names["function"], seconds, memory_mb).packed()
    sys.stdout.buffer.write(len(content).to_bytes(8) + content)
    sys.stdout.buffer.flush()
"""


class Limited(Protocol):
    """Runs the function `function` of a text within limits, or takes its `packed` as the answer."""

    def __call__(self, body: str, *, seconds: float = 1.0, memory_mb: int = 256) -> Ended:
        """Return how it ends."""
        ...


@pytest.fixture(scope="session")
def limited() -> Iterator[Limited]:
    """Run functions within limits."""
    argv = [sys.executable, "-c", _SERVER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        write, flush, read = server.stdin.write, server.stdin.flush, server.stdout.read

        def run(body: str, *, seconds: float = 1.0, memory_mb: int = 256) -> Ended:
            write(json.dumps([body, seconds, memory_mb]).encode() + b"\n")
            flush()
            return unpacked(read(int.from_bytes(read(8))))

        yield run


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The sandbox of programs and scorers."""
    return BubblewrapSandbox()
