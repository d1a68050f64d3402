"""Dependencies: what is imported is declared, with bounds that hold for the tested versions."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
OURS = {"comind", "flows", "tasks"}

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_REQUIREMENTS = ROOT / "requirements"
_IMPORTED_BY_OTHERS = {
    "fastapi",  # Prefect's server
    "pylint",  # nobody: it is run as a program
    "python-multipart",  # Starlette, for the forms of requests
    "six",  # kaggle, which does not declare it
    "sqlalchemy",  # Prefect's server
}
_OF_THE_TOOLBOX = {  # recipes import them in functions, where a program's environment has them
    "pytabkit",
    "safetensors",
    "sentence_transformers",
    "tabicl",
    "tabpfn",
    "timm",
    "tokenizers",
    "transformers",
}


def _parsed(lines: Iterable[str]) -> dict[str, Requirement]:
    """Return requirements by name, those for other extras of ours left out."""
    found = {canonicalize_name(one.name): one for one in map(Requirement, lines)}
    return {name: one for name, one in found.items() if name != _PROJECT["name"]}


CORE = _parsed(_PROJECT["dependencies"])
EXTRAS = {extra: _parsed(lines) for extra, lines in _PROJECT["optional-dependencies"].items()}
DECLARED = CORE | {name: one for extra in EXTRAS.values() for name, one in extra.items()}


def _imported() -> set[str]:
    """Return the top-level names of other distributions that our modules and recipes import."""
    names = set()
    for path in (file for package in OURS for file in (ROOT / package).rglob("*.py")):
        if {"communities", "recordings"} & {*path.parts}:  # programs of the demos are data
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - OURS - sys.stdlib_module_names


def _pinned(lock: str) -> dict[str, Version]:
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", (_REQUIREMENTS / lock).read_text(), re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in pins}


def test_what_is_imported_is_declared() -> None:
    """Every distribution that our code imports is declared, and no other but those with a reason."""
    installed = packages_distributions()
    names = _imported() - _OF_THE_TOOLBOX
    providers = {name: {*map(canonicalize_name, installed[name])} & {*DECLARED} for name in names}
    assert not [name for name, declared in providers.items() if not declared]
    assert set().union(*providers.values()) | _IMPORTED_BY_OTHERS == {*DECLARED}


def test_an_extra_repeats_no_dependency() -> None:
    """A package is in the core or in one extra."""
    names = [*CORE, *(name for extra in EXTRAS.values() for name in extra)]
    assert len(names) == len({*names})


def test_the_extra_all_has_every_other() -> None:
    """The extra `all` names the others."""
    (line,) = _PROJECT["optional-dependencies"]["all"]
    assert Requirement(line).extras == {*EXTRAS} - {"all"}


def test_packages_of_extras_are_imported_by_their_name() -> None:
    """The name of a package that cannot be imported is that of the distribution to install."""
    optional = {name for extra in EXTRAS.values() for name in extra}
    assert optional <= _imported()


@pytest.mark.parametrize("requirement", DECLARED.values(), ids=str)
def test_bounds_hold_for_the_tested_version(requirement: Requirement) -> None:
    """Every dependency has a lower bound, and the version that is tested is within its bounds."""
    pinned = _pinned("dev.txt") | _pinned("base.txt")
    assert any(bound.operator == ">=" for bound in requirement.specifier)
    assert pinned[canonicalize_name(requirement.name)] in requirement.specifier


def test_limits_of_the_lock_are_limits_of_the_package() -> None:
    """A limit in requirements/base.in excludes as much in pyproject.toml."""
    lines = (_REQUIREMENTS / "base.in").read_text().splitlines()
    limits = [Requirement(line.partition("#")[0]) for line in lines if re.match(r"[\w-]+[<=]", line)]
    assert limits
    for limit in limits:
        bounds = DECLARED[canonicalize_name(limit.name)].specifier
        upper = next(bound.version for bound in bounds if bound.operator == "<")
        excluded = next(iter(limit.specifier))
        assert Version(upper) <= Version(excluded.version) or Version(excluded.version) in bounds
