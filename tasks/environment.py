"""What work runs in: code, interpreter, packages, sandbox, machine."""

import json
from pathlib import Path

import comind
from comind.domain.environment import Environment, Machine
from comind.domain.resources import StoreFolders
from comind.errors import SandboxError
from comind.session.base import CellStatus, Sandbox
from comind.session.choice import choose_sandbox
from comind.session.program import run_program
from comind.session.store import list_datasets, list_models
from comind.system import machine
from comind.system.cores import usable_cores
from comind.system.interpreter import OWN_PYTHON, PROGRAM, installed_packages, python_version
from comind.system.scratch import ScratchFolder
from comind.wiring.agents import prompts_sha256
from tasks.git import code_revision

__all__ = ["read_environment"]

_SECONDS = 120.0
_MEMORY_BYTES = 8 << 30


def read_environment(
    wanted: str,
    *,
    own_code: bool,
    prompts: tuple[str, ...] = (),
    store: StoreFolders = StoreFolders(),  # noqa: B008 - frozen, safe to share
) -> tuple[Environment, str]:
    """Return what code would run in here and now, and what differs from the commit of CoMind's code.

    `prompts` are packages with the prompts of the campaign's agent, `store` the user's own models and
    datasets.

    Raises:
        UsageError: a folder of the store is not there, or something in it cannot be read.
        SandboxError: the sandbox does not work here.
    """
    sandbox = choose_sandbox(wanted, own_code=own_code)
    revision, diff_sha256, diff = code_revision(Path(comind.__file__).parents[1])
    python, packages = _inside(sandbox)
    environment = Environment(
        revision=revision,
        diff_sha256=diff_sha256,
        version=comind.__version__,
        prompts_sha256=prompts_sha256(prompts),
        python=python,
        packages=packages,
        sandbox=sandbox.name,
        image=str(getattr(sandbox, "digest", "")),
        toolbox=sandbox.toolbox,
        models=list_models(Path(store.models)) if store.models else (),
        datasets=list_datasets(Path(store.datasets)) if store.datasets else (),
        machine=Machine(
            system=machine.system_name(),
            cpu=machine.cpu_name(),
            cores=usable_cores(),
            memory_bytes=machine.memory_bytes(),
            gpus=machine.gpu_names(),
        ),
    )
    return environment, diff


def _inside(sandbox: Sandbox) -> tuple[str, tuple[str, ...]]:
    """Return the interpreter's version and the packages that code in the sandbox finds."""
    if sandbox.python == OWN_PYTHON:
        return python_version(), installed_packages()
    with ScratchFolder("e") as scratch:
        told = run_program(
            sandbox,
            ("-c", PROGRAM),
            scratch / "w",  # the folder itself is for us alone
            inputs=(),
            env={},
            seconds=_SECONDS,
            memory_bytes=_MEMORY_BYTES,
        )
    if told.status is not CellStatus.OK:
        raise SandboxError(f"the sandbox {sandbox.name} cannot list its packages: {told.error[-200:]}")
    python, packages = json.loads(told.output.strip().splitlines()[-1])
    return str(python), tuple(packages)
