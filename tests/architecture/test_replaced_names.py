"""Tests replace no name of ours: they pass arguments, or bring about the real state."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_OURS = ("comind", "flows", "tasks", "benchmarks")
_OF_ATTRIBUTES = ("setattr", "delattr")
_OF_ITEMS = ("setitem", "delitem")


def _root(target: ast.expr) -> str:
    """Return the first part of a dotted name, of an expression or a string."""
    while isinstance(target, ast.Attribute):
        target = target.value
    named = target.value if isinstance(target, ast.Constant) else ast.unparse(target)
    return str(named).partition(".")[0]


def _imported_from_us(tree: ast.Module) -> set[str]:
    """Return the names by which a module knows what is ours."""
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (node.module or "" if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0] in _OURS
    }


def _replaced(node: ast.AST, ours: set[str]) -> bool:
    """Return whether a statement or call replaces a name that is not of the standard library."""
    match node:
        case ast.Call(func=ast.Attribute(attr=method), args=[target, *_]) if method in _OF_ATTRIBUTES:
            return _root(target) not in sys.stdlib_module_names
        case ast.Call(func=ast.Attribute(attr=method), args=[target, *_]) if method in _OF_ITEMS:
            return _root(target) in ours
        case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=target), *_]):
            return function in _OF_ATTRIBUTES and target in ours
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return _root(node) in ours
        case ast.Import(names=names):
            return any(each.name == "unittest.mock" for each in names)
        case ast.ImportFrom(module="unittest.mock"):
            return True
        case ast.ImportFrom(module="unittest", names=names):
            return any(each.name == "mock" for each in names)
        case _:
            return False


def _replacements(text: str) -> list[str]:
    """Return what a test replaces that is, or may be, of ours."""
    tree = ast.parse(text)
    ours = _imported_from_us(tree)
    return [ast.unparse(node) for node in ast.walk(tree) if _replaced(node, ours)]


def test_no_test_replaces_a_name_of_ours() -> None:
    """What tests replace is of the standard library, such as `sys.stdin` and `shutil.disk_usage`."""
    found = {
        path.relative_to(ROOT).as_posix(): replaced
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (replaced := _replacements(path.read_text()))
    }
    assert not found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("from comind.tables import csv_tables as t\nmonkeypatch.setattr(t, '_CHUNK', 3)", True),
        ("monkeypatch.setattr('flows.solve.solve', None)", True),
        ("monkeypatch.setattr('comind.session.load.os.read', None)", True),
        ("monkeypatch.delattr(session.link, 'send')", True),
        ("from comind.demos.make import DEMOS\npatch.setitem(DEMOS, 'demo', None)", True),
        ("from comind.wiring import proof\nproof.rerun = None", True),
        ("import tasks.sharing\ndel tasks.sharing.share", True),
        ("from comind.wiring import proof\nsetattr(proof, 'rerun', None)", True),
        ("from unittest import mock", True),
        ("import unittest.mock as m", True),
        ("from unittest.mock import patch", True),
        ("import shutil\nmonkeypatch.setattr(shutil, 'disk_usage', None)", False),
        ("monkeypatch.setattr('sys.stdin', None)", False),
        ("monkeypatch.setitem(_VALUES, 'x', 1)\nmonkeypatch.setenv('TMPDIR', '/tmp')", False),
        ("from comind.live import kaggle_types\nx = kaggle_types.Row()\nx.id = 1", False),
    ],
)
def test_a_replaced_name_is_found(text: str, is_found: bool) -> None:
    """Whatever replaces it: pytest's methods, an assignment, or a mock."""
    assert bool(_replacements(text)) is is_found
