"""Define the environment that results depend on: code, interpreter, packages, sandbox, machine."""

import hashlib
from collections.abc import Iterator

from pydantic import Field

from comind.domain.value import Value


class Machine(Value):
    """Hardware and operating system."""

    system: str = ""
    """Operating system, its release and the architecture."""
    cpu: str = ""
    cores: int = 0
    memory_bytes: int = 0
    gpus: tuple[str, ...] = ()


class FetchedInputs(Value):
    """Inputs of a session that its node lacked and fetched."""

    size: int = 0
    """In bytes."""
    seconds: float = 0.0
    """From the first request to the last byte, with checks and copies in the node's cache."""
    store_failure: str = ""
    """Why they came from the driver and not from the store; empty if they did not, or there is none."""


class StoreItem(Value):
    """A model or dataset of the user's store, as mounted in an attempt."""

    name: str
    path: str
    """Relative to the working directory."""
    format: str = Field(alias="kind")
    """Such as `transformers`, `timm` or `file`."""
    load: str
    """How to load it, in one line of Python; for a mixed folder, what it contains."""
    about: str = Field(default="", exclude_if=lambda text: not text)
    """What a model of the shipped list is good for, and its licence."""
    recommended_for: str = Field(default="", exclude_if=lambda kind: not kind)
    """The kind of task under which the shipped list has it: images, texts, sounds, tables, molecules."""
    bytes: int = 0
    sha256: str = ""
    """Hash of its manifest (see comind/session/user_store.py)."""


class Environment(Value):
    """Everything besides data, seeds and replies that a result may depend on."""

    revision: str = ""
    """Git commit of CoMind's own code; empty outside git."""
    diff_sha256: str = ""
    """Hash of the diff to that commit; empty without one."""
    version: str = ""
    """Version of CoMind."""
    prompts_sha256: str = ""
    """Hash over all prompt files."""
    python: str = ""
    packages: tuple[str, ...] = ()
    """`name==version` of every package installed in the sandbox, sorted."""
    sandbox: str = ""
    image: str = ""
    """Digest of the container image; empty for a sandbox without one."""
    machine: Machine = Machine()
    toolbox: str = ""
    """Hash of the toolbox's lock file; empty for CoMind's own environment."""
    models: tuple[StoreItem, ...] = ()
    """The user's own models, as mounted."""
    datasets: tuple[StoreItem, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of all fields, without those that older versions lack and that are empty."""
        empty = {name for name in ("toolbox", "models", "datasets") if not getattr(self, name)}
        return hashlib.sha256(self.model_dump_json(exclude=empty).encode()).hexdigest()

    def differences(self, now: "Environment") -> tuple[str, ...]:
        """Return how `now` differs for code that runs in it, one line for each difference.

        CoMind's revision and the kind of sandbox are not compared: code does not depend on them.
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
