"""Imports for types alone, which the import contracts do not see, name no module of ours."""

import ast
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("comind", "flows", "tasks")
_MODULES = sorted(path for name in _PACKAGES for path in (_ROOT / name).rglob("*.py"))


def _type_imports(source: str) -> list[str]:
    """Return the modules of ours that a program imports below TYPE_CHECKING."""
    return [
        child.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
        if isinstance(child, ast.ImportFrom) and child.module and child.module.split(".")[0] in _PACKAGES
    ]


def test_no_ring_of_imports_hides_behind_type_checking() -> None:
    """A module that needs another's types imports it, so that a ring is found."""
    found = {str(path): _type_imports(path.read_text()) for path in _MODULES}
    assert {path: modules for path, modules in found.items() if modules} == {}


@pytest.mark.parametrize(
    ("line", "found"),
    [("from comind.llm.base import Model", ["comind.llm.base"]), ("from docker import Client", [])],
)
def test_an_import_for_types_is_found(line: str, found: list[str]) -> None:
    """Imports of libraries may be for types alone, as they take seconds."""
    assert _type_imports(f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {line}\n") == found
