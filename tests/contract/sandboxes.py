"""The sandboxes that the contract suites run over."""

from typing import Any

import pytest

from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.process import ProcessSandbox
from comind.session.session_ports import Sandbox

__all__ = ["ALL", "SEALED", "made"]

SEALED = ("bubblewrap", "docker")
ALL = (*SEALED, "process")


def made(name: str, request: pytest.FixtureRequest) -> Sandbox:
    """Return a sandbox; one that does not work here is a failure, except docker without an engine."""
    if name == "docker":
        sandbox: Any = request.getfixturevalue("docker_sandbox")
        return sandbox
    return {"bubblewrap": BubblewrapSandbox, "process": ProcessSandbox}[name]()
