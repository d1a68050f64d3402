"""Where work was done: code, interpreter, packages, sandbox, machine."""

import hashlib
from collections.abc import Iterator

from comind.domain.value import Value

__all__ = ["Environment", "Machine"]


class Machine(Value):
    """The hardware and the system on it."""

    system: str = ""
    """Operating system, its version and the processor's architecture."""
    cpu: str = ""
    cores: int = 0
    memory_bytes: int = 0
    gpus: tuple[str, ...] = ()


class Environment(Value):
    """Everything that a result may depend on beside data, seeds and replies."""

    revision: str = ""
    """Commit of CoMind's own code; empty where it is not in git."""
    diff_sha256: str = ""
    """Hash of what differs from that commit; empty where nothing does."""
    version: str = ""
    """Of CoMind."""
    prompts_sha256: str = ""
    """Hash over all prompt files."""
    python: str = ""
    packages: tuple[str, ...] = ()
    """`name==version` of everything installed where the code runs, in order."""
    sandbox: str = ""
    image: str = ""
    """Digest of the image that the code runs in; empty for a sandbox without one."""
    machine: Machine = Machine()

    @property
    def sha256(self) -> str:
        """Hash of all of it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def differences(self, now: "Environment") -> tuple[str, ...]:
        """Return what code that runs in `now` would find otherwise than here, a line each.

        CoMind's own revision and the sandbox's kind are no part of it: a script knows neither.
        """
        lines = []
        if self.python != now.python:
            lines.append(f"Python {now.python or 'unknown'} instead of {self.python or 'unknown'}")
        if self.image != now.image:
            lines.append(f"image {now.image or 'none'} instead of {self.image or 'none'}")
        lines += _package_differences(self.packages, now.packages)
        for name in ("system", "cpu", "gpus"):
            before, after = getattr(self.machine, name), getattr(now.machine, name)
            if before != after:
                lines.append(f"{name} {after or 'none'} instead of {before or 'none'}")
        return tuple(lines)


def _package_differences(before: tuple[str, ...], now: tuple[str, ...]) -> Iterator[str]:
    old, new = _versions(before), _versions(now)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {new.get(name, 'missing')} instead of {old.get(name, 'missing')}"


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return dict(package.split("==", 1) for package in packages if "==" in package)
