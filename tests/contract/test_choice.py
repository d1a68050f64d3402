"""The strongest sandbox that works is taken, and it is said why no stronger one was."""

import os
import subprocess
import sys

import pytest

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
