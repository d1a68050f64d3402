"""The strongest sandbox that works is taken, and it is said why no stronger one was."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.choice import describe_gaps
from comind.session.docker import DockerSandbox
from comind.session.program import run_program
from comind.session.session_ports import CellStatus
from tests.contract.sandboxes import MEMORY
from tests.doubles.keyrings import READ_SESSION_KEYRING, in_a_login
from tests.engine import ROOT

_EXPLAIN = """
import sys
from comind.errors import ComindError
from comind.session.choice import choose_sandbox, explain_choice
try:
    print(explain_choice(sys.argv[1], own_code=sys.argv[2] == "ours"))
    print(choose_sandbox(sys.argv[1], own_code=sys.argv[2] == "ours").name)
except ComindError as error:
    print("refused:", error, "|", error.hint)
"""


def _explained(wanted: str, code: str, **env: str) -> list[str]:
    """Return what is said of a choice, in a process of its own: choices are made once in a process."""
    done = subprocess.run(
        [sys.executable, "-c", _EXPLAIN, wanted, code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
    )
    return done.stdout.splitlines()


def test_docker_is_taken_where_it_works(engine: str) -> None:
    """With an engine and an image, `auto` runs a model's code in a container and names the image."""
    said, name = _explained("auto", "model", DOCKER_HOST=engine)
    assert said == f"sandbox: {name}"
    assert name.startswith("docker comind-sandbox")


def test_a_weaker_one_is_taken_with_the_reason() -> None:
    """Without an engine `auto` takes bubblewrap, and the line says what was skipped and why."""
    said, name = _explained("auto", "model", DOCKER_HOST="unix:///nowhere.sock")
    assert name == "bubblewrap"
    assert said.startswith("sandbox: bubblewrap (skipped docker: no container engine answers at /now")


@pytest.mark.parametrize("wanted", ["docker", "bubblewrap"])
def test_a_wanted_one_is_not_replaced(wanted: str) -> None:
    """A sandbox that was asked for by name and does not work is an error, not another sandbox."""
    said = _explained(wanted, "ours", DOCKER_HOST="unix:///nowhere.sock", PATH="/nowhere")
    assert len(said) == 1
    assert said[0].startswith("refused: ")


def test_a_models_code_never_runs_beside_us_by_itself() -> None:
    """Where nothing seals, `auto` refuses a model's code and says how to get a sandbox; ours may run."""
    nothing = {"DOCKER_HOST": "unix:///nowhere.sock", "PATH": "/nowhere"}
    (said,) = _explained("auto", "model", **nothing)
    assert said.startswith(
        "refused: no sandbox for code that a model wrote: docker: no container engine"
    )
    assert "apt-get install bubblewrap" in said
    assert "--sandbox process" in said
    assert _explained("auto", "ours", **nothing)[1] == "process"


def test_a_process_says_what_it_does_not_isolate() -> None:
    """The line of a campaign that runs without isolation names what code can reach."""
    said, _ = _explained("process", "model")
    assert said == ("sandbox: process; not isolated: files, network, keys, system calls, limits by user")


@pytest.mark.parametrize(
    ("call_filter", "reason"),
    [(b"", "no table for "), (b"\xff" * 8, "EINVAL")],
    ids=["architecture", "kernel"],
)
def test_a_missing_filter_is_named(call_filter: bytes, reason: str, tmp_path: Path) -> None:
    """Where calls cannot be filtered code runs, without the login's keys, and the gap is named."""
    sandbox = BubblewrapSandbox(call_filter=call_filter)
    line = describe_gaps(sandbox)
    assert line.startswith("; not isolated: system calls and the keys of its user (")
    assert reason in line
    arguments, workspace = ("-c", READ_SESSION_KEYRING), tmp_path / "workspace"
    ran = in_a_login(
        lambda: run_program(
            sandbox, arguments, workspace, inputs=(), env={}, seconds=60, memory_bytes=MEMORY
        )
    )
    assert (ran.status, ran.output) == (CellStatus.OK, "")


def test_the_filter_of_an_engine_is_named(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container without our filter the engine's remains, which is named."""
    monkeypatch.setenv("DOCKER_HOST", engine)
    sandbox = DockerSandbox("comind-sandbox-host", call_filter=b"")
    assert sandbox.gaps[0].startswith("system calls that the engine's filter allows (no table for ")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="it can name itself i686")
def test_an_architecture_without_a_table_is_named() -> None:
    """On a machine without a table the campaign's line says that calls are not filtered."""
    argv = ["setarch", "i686", sys.executable, "-c", _EXPLAIN, "bubblewrap", "model"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env)
    assert "system calls and the keys of its user (no table for i686)" in done.stdout
