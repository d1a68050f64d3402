"""The sandboxes that the contract suites run over."""

from pathlib import Path
from typing import Any

import pytest

from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.process import ProcessSandbox
from comind.session.session_ports import Sandbox, SandboxSpec

__all__ = ["ALL", "MEMORY", "SEALED", "STUBBORN", "made", "spec_of"]

SEALED = ("bubblewrap", "docker")
ALL = (*SEALED, "process")
MEMORY = 1 << 30
STUBBORN = """
import signal, subprocess, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
child = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)  # {mark}"
subprocess.Popen([sys.executable, '-c', child], start_new_session={own_group})
open('/workspace/up' if {inside} else 'up', 'w').close()
time.sleep(600)
"""
"""A program that ignores SIGTERM, as does its child; its fields are mark, own_group and inside."""


def made(name: str, request: pytest.FixtureRequest) -> Sandbox:
    """Return a sandbox; one that does not work here is a failure, except docker without an engine."""
    if name == "docker":
        sandbox: Any = request.getfixturevalue("docker_sandbox")
        return sandbox
    return {"bubblewrap": BubblewrapSandbox, "process": ProcessSandbox}[name]()


def spec_of(sandbox: Sandbox, folder: Path, code: str) -> SandboxSpec:
    """Return the specification of a Python program below `folder`."""
    workspace, scratch = folder / "workspace", folder / "scratch"
    workspace.mkdir(exist_ok=True)
    (scratch / "r").mkdir(parents=True, exist_ok=True)
    return SandboxSpec(
        argv=(sandbox.python, "-P", "-c", code),
        env={"PATH": "/usr/bin:/bin"},
        workspace=workspace,
        runtime=scratch / "r",
        scratch=scratch,
        inputs=(),
        log=folder / "log",
        memory_bytes=MEMORY,
    )
