"""Choose the strongest sandbox that works, and never fall back to a weaker one silently."""

from functools import cache

from comind.errors import SandboxError, UsageError
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.docker import DockerSandbox
from comind.session.process import ProcessSandbox
from comind.session.session_ports import Sandbox
from comind.system.interpreter import Interpreter, interpreter_for_agents, own_interpreter
from comind.system.progress import step

SANDBOXES: dict[str, type[DockerSandbox | BubblewrapSandbox | ProcessSandbox]] = {
    "docker": DockerSandbox,
    "bubblewrap": BubblewrapSandbox,
    "process": ProcessSandbox,
}
"""Sandbox classes by name, the strongest first; each takes the `interpreter` that code runs in."""


def choose_sandbox(
    wanted: str, *, own_code: bool, toolbox: bool = True, accepted: tuple[str, ...] = tuple(SANDBOXES)
) -> Sandbox:
    """Return the sandbox of this name; `auto` for the strongest that works here.

    If only our own code will run, `auto` may fall back to a plain process. Code runs in the toolbox if
    it is built; without `toolbox`, in our own environment. Only sandboxes that are `accepted` here are
    used.

    Raises:
        UsageError: there is no sandbox of this name.
        SandboxError: it does not work here or is not accepted, or `auto` finds none that isolates.
    """
    interpreter = interpreter_for_agents() if toolbox else own_interpreter()
    return _choose(wanted, interpreter, own_code=own_code, accepted=accepted)[0]


def explain_choice(wanted: str, *, own_code: bool) -> str:
    """Return in one line which sandbox is used, why no stronger one, and what it does not isolate.

    Raises:
        UsageError, SandboxError: as `choose_sandbox`.
    """
    sandbox, skipped = _choose(
        wanted, interpreter_for_agents(), own_code=own_code, accepted=tuple(SANDBOXES)
    )
    reasons = f" (skipped {'; '.join(skipped)})" if skipped else ""
    return f"sandbox: {sandbox.name}{reasons}{describe_gaps(sandbox)}"


def describe_gaps(sandbox: Sandbox) -> str:
    """Return what the sandbox does not isolate here, as the end of a line; empty if nothing."""
    return f"; not isolated: {', '.join(sandbox.gaps)}" if sandbox.gaps else ""


@cache
def _choose(
    wanted: str, interpreter: Interpreter, *, own_code: bool, accepted: tuple[str, ...]
) -> tuple[Sandbox, list[str]]:
    """Return a sandbox, and for each stronger one its name and what is wrong with it."""
    if wanted != "auto":
        if wanted not in SANDBOXES:
            raise UsageError(f"unknown sandbox {wanted!r}", hint=f"one of auto, {', '.join(SANDBOXES)}")
        if wanted not in accepted:
            raise SandboxError(f"the sandbox {wanted} is not accepted here, but {', '.join(accepted)}")
        return _create(wanted, interpreter), []
    reasons: list[str] = []
    for name in SANDBOXES:
        if name not in accepted:
            reasons.append(f"{name}: it is not accepted here")
            continue
        try:
            sandbox = _create(name, interpreter)
        except SandboxError as error:
            reasons.append(f"{name}: {error}")
            continue
        if sandbox.sealed or own_code:
            return sandbox, reasons
    raise SandboxError(
        f"no sandbox for code that a model wrote: {'; '.join(reasons)}",
        hint="apt-get install bubblewrap (or docker.io, then make host-image), "
        "or accept the risk with --sandbox process",
    )


@cache
def _create(name: str, interpreter: Interpreter) -> Sandbox:
    with step(f"trying the sandbox {name}"):
        return SANDBOXES[name](interpreter=interpreter)
