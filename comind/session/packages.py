"""Install packages that an agent's code requests, outside the sandbox, from a list of allowed ones.

Code requests them as in a notebook, with lines `%pip install NAME` at the start of a cell, which are
removed from the cell. Only wheels are installed, so no code of a package runs outside; each name must be
allowed, those of dependencies too. The folder of packages is read-only for the code.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from comind.domain.value import Value
from comind.system.files import write_atomically

PACKAGES_AT = "input/.packages"
"""Folder of the packages, relative to the working directory."""

_ASKING = re.compile(r"^[%!]\s*(?:uv\s+|python3?\s+-m\s+)?pip3?\s+install\s+(.+?)\s*(?:#.*)?$")
_NAME = re.compile(r"^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)((?:==|>=|<=|~=|<|>)[\w.!+]+)?$")
_HARMLESS = {"-q", "-qq", "--quiet", "-U", "--upgrade", "--no-cache-dir", "--user"}
_SECONDS = 300
_PASSED_ON = re.compile(r"^(PATH|PIP_\w+|\w+_proxy|\w+_PROXY|SSL_CERT_FILE|SSL_CERT_DIR)$")


class InstalledPackage(Value):
    """An installed package and the hash of its wheel."""

    name: str
    version: str
    sha256: str


_INSTALLED = TypeAdapter(tuple[InstalledPackage, ...])


def split_installs(code: str) -> tuple[tuple[str, ...], str]:
    """Split a cell into the requirements of its first `pip install` lines and the remaining code.

    Empty lines and comments may precede these lines. The other lines keep their numbers.
    """
    wanted: list[str] = []
    lines = code.split("\n")
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        asking = _ASKING.match(line.strip())
        if asking is None:
            break
        wanted += [word for word in asking[1].split() if word not in _HARMLESS]
        lines[number] = ""
    return tuple(word.strip("\"'") for word in wanted), "\n".join(lines)


class Packages:
    """Installer of one attempt."""

    def __init__(self, folder: Path, record: Path, *, allowed: Sequence[str] = ()) -> None:
        """Load what is installed in `folder` from its `record`, a JSON file."""
        self.folder = folder
        self._record = record
        self._allowed = frozenset(map(_normalized, allowed))
        self.installed = read_installed(record)
        folder.mkdir(parents=True, exist_ok=True)

    def install(self, wanted: Sequence[str], *, seconds: float = _SECONDS) -> str:
        """Install requirements; return the answer to the agent, one line for each."""
        end = time.monotonic() + min(seconds, _SECONDS)
        return "".join(f"pip install {each[:100]}: {self._install_one(each, end)}\n" for each in wanted)

    def _install_one(self, requirement: str, end: float) -> str:
        named = _NAME.match(requirement)
        if not self._allowed:
            return "refused, no packages can be installed in this campaign"
        if named is None:
            return "refused, only NAME or NAME==VERSION can be asked for"
        if _normalized(named[1]) not in self._allowed:
            allowed = ", ".join(sorted(self._allowed))
            return f"refused, not on the list of allowed packages ({allowed})"
        before = {package.name: package for package in self.installed}.get(_normalized(named[1]))
        if before is not None and named[2] in (None, "", f"=={before.version}"):
            return f"{before.name} {before.version} is installed"
        if before is not None:
            return f"refused, {before.version} is installed and in use"
        try:
            package = self._install_wheel(requirement, end - time.monotonic())
        except subprocess.TimeoutExpired:
            return "failed, it took too long"
        except (OSError, ValueError) as error:
            return f"failed, {error}"
        self.installed = (*self.installed, package)
        write_atomically(self._record, _INSTALLED.dump_json(self.installed, indent=2) + b"\n")
        return f"installed {package.name} {package.version}, without dependencies"

    def _install_wheel(self, requirement: str, seconds: float) -> InstalledPackage:
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self.folder.parent) as name:
            staged = Path(name) / "packages"
            package = unpack_wheel(requirement, staged, seconds=seconds)
            for entry in sorted(staged.iterdir()):
                if entry.name != "bin":
                    _move_new(entry, self.folder / entry.name)
        return package


def unpack_wheel(requirement: str, target: Path, *, seconds: float) -> InstalledPackage:
    """Download a wheel by pip and its settings, and unpack it, without running any of its code.

    Raises:
        ValueError: pip does not find it, or cannot unpack it.
        subprocess.TimeoutExpired: it takes longer.
    """
    report = target.with_name("report.json")
    command = [sys.executable, "-P", "-m", "pip", "install", requirement]
    command += ["--target", str(target)]
    command += ["--no-deps", "--only-binary", ":all:", "--no-compile", "--no-input"]
    command += ["--disable-pip-version-check", "--quiet", "--report", str(report)]
    done = subprocess.run(
        command,
        env={name: value for name, value in os.environ.items() if _PASSED_ON.match(name)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=max(1.0, seconds),
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["pip gave no reason"]
        raise ValueError(lines[-1][:200])
    return _read_report(report)


def read_installed(record: Path) -> tuple[InstalledPackage, ...]:
    """Return the packages in a record; none if it is missing or invalid."""
    try:
        return _INSTALLED.validate_json(record.read_bytes())
    except (OSError, ValueError):
        return ()


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read_report(report: Path) -> InstalledPackage:
    try:
        (entry,) = json.loads(report.read_text())["install"]
        metadata, archive = entry["metadata"], entry["download_info"]["archive_info"]
        name, version = _normalized(metadata["name"]), metadata["version"]
        return InstalledPackage(name=name, version=version, sha256=archive["hashes"]["sha256"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"pip's report cannot be read: {error}") from None


def _move_new(source: Path, target: Path) -> None:
    """Move entries that do not exist yet; namespace packages share folders."""
    if source.is_dir() and target.is_dir():
        for entry in source.iterdir():
            _move_new(entry, target / entry.name)
    elif not target.exists():
        shutil.move(source, target)
