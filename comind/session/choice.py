"""Which sandbox to use: the strongest that works, and never a weaker one in silence."""

from collections.abc import Callable
from functools import cache

from comind.errors import SandboxError, UsageError
from comind.session.base import Sandbox
from comind.session.bubblewrap import BubblewrapSandbox
from comind.session.process import ProcessSandbox

__all__ = ["SANDBOXES", "choose_sandbox"]

SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    "bubblewrap": BubblewrapSandbox,
    "process": ProcessSandbox,
}
"""By name, the strongest first."""


@cache
def choose_sandbox(wanted: str, *, own_code: bool) -> Sandbox:
    """Return the sandbox to run code in.

    Args:
        wanted: a name, or `auto` for the strongest that works here.
        own_code: whether only code of ours will run; `auto` then falls back to a plain process.

    Raises:
        UsageError: there is no such sandbox.
        SandboxError: the wanted one does not work here, or `auto` finds none that seals.
    """
    if wanted != "auto":
        if wanted not in SANDBOXES:
            raise UsageError(f"unknown sandbox {wanted!r}", hint=f"one of auto, {', '.join(SANDBOXES)}")
        return SANDBOXES[wanted]()
    reasons = []
    for make in SANDBOXES.values():
        try:
            sandbox = make()
        except SandboxError as error:
            reasons.append(str(error))
            continue
        if sandbox.sealed or own_code:
            return sandbox
    raise SandboxError(
        f"no sandbox for code that a model wrote: {'; '.join(reasons)}",
        hint="apt-get install bubblewrap, or accept the risk with --sandbox process",
    )
