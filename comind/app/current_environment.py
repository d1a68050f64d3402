"""Read the environment of a campaign: code, interpreter, packages, sandbox, machine."""

import json
from pathlib import Path

import comind
from comind.adapters.git.refs import code_revision
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.domain.environment import Environment, Machine
from comind.domain.resources import StoreFolders
from comind.errors import SandboxError
from comind.session.choice import choose_sandbox
from comind.session.program import run_program
from comind.session.session_ports import CellStatus, Sandbox
from comind.session.user_store import list_store
from comind.system.hardware import describe_machine
from comind.system.interpreter import PROGRAM, own_interpreter, python_and_packages
from comind.system.temporary_folders import scratch_folder
from comind.wiring.agents import agent_class, prompts_sha256, runs_own_code

_TIMEOUT_SECONDS = 120.0
_MEMORY_BYTES = 8 << 30


def environment_of(spec: CampaignSpec) -> tuple[Environment, str]:
    """Return the current environment of a campaign's work, as `current_environment` does."""
    own_code, prompts = runs_own_code(spec), agent_class(spec).prompts
    return current_environment(spec.sandbox, own_code=own_code, prompts=prompts, store=spec.store)


def current_environment(
    wanted: str,
    *,
    own_code: bool,
    prompts: tuple[str, ...] = (),
    store: StoreFolders = StoreFolders(),  # noqa: B008 - frozen, safe to share
) -> tuple[Environment, str]:
    """Return the current environment, and the diff of CoMind's code to its commit.

    `wanted` is the name of a sandbox, or `auto`; `prompts` are packages with the prompts of the
    campaign's agent, `store` the user's own models and datasets.

    Raises:
        UsageError: a folder of the store is missing or unreadable.
        SandboxError: the sandbox does not work on this machine.
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
        models=list_store("models", Path(store.models)) if store.models else (),
        datasets=list_store("datasets", Path(store.datasets)) if store.datasets else (),
        machine=Machine(**describe_machine()),
    )
    return environment, diff


def _inside(sandbox: Sandbox) -> tuple[str, tuple[str, ...]]:
    """Return Python's version and the packages inside the sandbox."""
    if sandbox.python == own_interpreter().python:
        return python_and_packages()
    with scratch_folder("e") as scratch:
        result = run_program(
            sandbox,
            ("-c", PROGRAM),
            scratch / "w",  # only this process may read the folder itself
            inputs=(),
            env={},
            seconds=_TIMEOUT_SECONDS,
            memory_bytes=_MEMORY_BYTES,
        )
    if result.status is not CellStatus.OK:
        raise SandboxError(f"the sandbox {sandbox.name} cannot list its packages: {result.error[-200:]}")
    python, packages = json.loads(result.output.strip().splitlines()[-1])
    return str(python), tuple(packages)
