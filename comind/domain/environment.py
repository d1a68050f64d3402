"""Where work was done: code, interpreter, packages, sandbox, machine."""

import hashlib
from collections.abc import Iterator

from comind.domain.value import Value

__all__ = ["Environment", "Machine", "StoreItem"]


class Machine(Value):
    """The hardware and the system on it."""

    system: str = ""
    """Operating system, its version and the processor's architecture."""
    cpu: str = ""
    cores: int = 0
    memory_bytes: int = 0
    gpus: tuple[str, ...] = ()


class StoreItem(Value):
    """A model or dataset of the user's own store, as an attempt finds it."""

    name: str
    path: str
    """Below the working directory of the code."""
    kind: str
    """Such as `transformers`, `timm` or `file`."""
    load: str
    """How to load it, in one line of Python; of a folder of many things, what is in it."""
    bytes: int = 0
    sha256: str = ""
    """Hash of its manifest (comind/session/store.py says of what)."""


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
    toolbox: str = ""
    """Hash of the lock file of the toolbox that the code runs in; empty: in CoMind's own environment."""
    models: tuple[StoreItem, ...] = ()
    """The user's own, as they are mounted."""
    datasets: tuple[StoreItem, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of all of it; what an older version did not record is left out where it is empty."""
        empty = {name for name in ("toolbox", "models", "datasets") if not getattr(self, name)}
        return hashlib.sha256(self.model_dump_json(exclude=empty).encode()).hexdigest()

    def differences(self, now: "Environment") -> tuple[str, ...]:
        """Return what code that runs in `now` would find otherwise than here, a line each.

        CoMind's own revision and the sandbox's kind are no part of it: a script knows neither.
        """
        lines = []
        if self.python != now.python:
            lines.append(f"Python {now.python or 'unknown'} instead of {self.python or 'unknown'}")
        if self.image != now.image:
            lines.append(f"image {now.image or 'none'} instead of {self.image or 'none'}")
        if self.toolbox != now.toolbox:
            before, after = (each.toolbox[:12] or "none" for each in (self, now))
            lines.append(f"toolbox {after} instead of {before}")
        lines += _package_differences(self.packages, now.packages)
        for kind in ("models", "datasets"):
            old, new = _hashes(getattr(self, kind)), _hashes(getattr(now, kind))
            changed = sorted(name for name in old if new.get(name) != old[name])
            lines += [f"{kind}: {name} is {'another' if name in new else 'missing'}" for name in changed]
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


def _hashes(items: tuple[StoreItem, ...]) -> dict[str, str]:
    return {item.name: item.sha256 for item in items}


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return dict(package.split("==", 1) for package in packages if "==" in package)
