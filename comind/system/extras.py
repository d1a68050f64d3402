"""Extras of this distribution: which one has a package that cannot be imported."""

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, requires

from comind.errors import ServiceError

DISTRIBUTION = "comind-pipeline"
"""Our own, as it is installed."""


def missing_extra(error: ImportError) -> ServiceError | None:
    """Return the error that names the extra to install; None if no extra has the package."""
    package = (error.name or "").partition(".")[0]
    command = install_command(package)
    if command is None:
        return None
    return ServiceError(f"the package {package} is needed for this, and is not installed", hint=command)


def install_command(package: str) -> str | None:
    """Return the command that installs the smallest extra with a package; None if none has it."""
    extras = [name for name, packages in _extras().items() if package in packages]
    if not extras:
        return None
    return f"pip install '{DISTRIBUTION}[{min(extras, key=lambda name: len(_extras()[name]))}]'"


@cache
def _extras() -> dict[str, list[str]]:
    """Return the packages of each extra."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:  # run from its folder, not installed
        return {}
    extras: dict[str, list[str]] = {}
    for line in lines:
        if match := re.match(r"""([\w.-]+).*; extra == ["']([\w-]+)["']""", line):
            extras.setdefault(match[2], []).append(match[1])
    return extras
