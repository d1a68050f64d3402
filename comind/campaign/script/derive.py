"""Derive a script from cells: a backward slice from both submissions and probabilities beside them."""

import ast
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from comind.campaign.log.work_events import PROGRAM_NAMES, SubmissionNames, submitted_program
from comind.campaign.script.calls import ANY_FILE, Effects, file_of
from comind.campaign.script.cells import RanCell, parsed
from comind.campaign.script.effects import effects_of, symbols_of
from comind.domain.problem import PROGRAM


class ScriptOrigin(StrEnum):
    """The origin of a script."""

    DERIVED = "derived"  # the statements that the submissions, and probabilities beside them, need
    CELLS = "cells"  # all cells that ran, in order


@dataclass(frozen=True, slots=True)
class Script:
    """A standalone program that writes both submissions."""

    origin: ScriptOrigin
    text: str
    plain: bool
    """Whether it is plain Python; else it needs IPython."""
    validation: str
    test: str
    """The files that it writes, relative to its working directory."""

    @property
    def is_program(self) -> bool:
        """Whether the script itself is the submission."""
        return self.test == self.file_name

    @property
    def kept(self) -> SubmissionNames:
        """The names under which its submissions are kept."""
        return PROGRAM_NAMES if self.is_program or self.test == PROGRAM else SubmissionNames()

    @property
    def sha256(self) -> str:
        """Hash of its text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def file_name(self) -> str:
        """`script.py`, or `script.ipy` for IPython."""
        return "script.py" if self.plain else "script.ipy"

    @property
    def arguments(self) -> tuple[str, ...]:
        """Arguments of `python` that run it."""
        return (self.file_name,) if self.plain else ("-m", "IPython", "--quick", self.file_name)


@dataclass(slots=True)
class _Unit:
    """Statements that share lines, and are kept or left out together."""

    cell: RanCell
    text: str
    statements: list[ast.stmt]
    effects: Effects


def derive(cells: Sequence[RanCell]) -> Script:
    """Return the statements that the submissions of the last cell depend on, unchanged and in order.

    Falls back to `all_cells` if one cannot be parsed.
    """
    if (program := _program(cells[-1])) is not None:
        return program
    kept = _kept(cells)
    return all_cells(cells) if kept is None else _script(ScriptOrigin.DERIVED, cells, kept)


def needed_parts(cells: Sequence[RanCell]) -> dict[int, str]:
    """Return by step the statements that the submissions of the last cell depend on."""
    kept, parts = _kept(cells), dict[int, list[str]]()
    for cell, text in [(cell, cell.code) for cell in cells] if kept is None else kept:
        parts.setdefault(cell.step, []).append(text)
    return {step: "\n".join(texts) for step, texts in parts.items()}


def _kept(cells: Sequence[RanCell]) -> list[tuple[RanCell, str]] | None:
    """Return the statements that the submissions of the last cell need; None if one cannot be parsed."""
    trees = [parsed(cell.code) for cell in cells]
    symbols = symbols_of(tree for tree in trees if tree is not None)
    units: list[_Unit] = []
    for cell, tree in zip(cells, trees, strict=True):
        if tree is None:
            return None
        units += [
            _Unit(cell, text, statements, effects_of(statements, symbols))
            for text, statements in _units(cell.code, tree)
        ]
    names = cells[-1].names
    written = (names.validation, names.test, *cells[-1].beside)
    return _slice(units, {file_of(name) or ANY_FILE for name in written})


def all_cells(cells: Sequence[RanCell]) -> Script:
    """Return a script of all cells, in order."""
    if (program := _program(cells[-1])) is not None:
        return program
    return _script(ScriptOrigin.CELLS, cells, [(cell, cell.code) for cell in cells])


def _program(cell: RanCell) -> Script | None:
    """Return the script of a cell that submits its own code as a program; None of others."""
    text, own = submitted_program(cell.names, cell.code), "script.py"
    return None if text is None else Script(ScriptOrigin.DERIVED, text, True, own, own)


def _units(code: str, tree: ast.Module) -> list[tuple[str, list[ast.stmt]]]:
    """Return the statements with their text and the comments directly above."""
    lines = code.split("\n")
    found: list[tuple[int, int, list[ast.stmt]]] = []
    for statement in tree.body:
        decorators = [each.lineno for each in getattr(statement, "decorator_list", [])]
        start, end = min([statement.lineno, *decorators]), statement.end_lineno or statement.lineno
        if found and start <= found[-1][1]:
            before = found.pop()
            found.append((before[0], max(end, before[1]), [*before[2], statement]))
        else:
            found.append((start, end, [statement]))
    units, above = [], 0
    for start, end, statements in found:
        first = start
        while first - 1 > above and lines[first - 2].startswith("#"):
            first -= 1
        units.append(("\n".join(lines[first - 1 : end]), statements))
        above = end
    return units


def _slice(units: list[_Unit], wanted: set[str]) -> list[tuple[RanCell, str]]:
    groups = _Groups(share for unit in units for share in unit.effects.shares)
    live = set(wanted)
    kept: list[tuple[RanCell, str]] = []
    life = units[-1].cell.life if units else 0
    for unit in reversed(units):
        if unit.cell.life != life:  # only files survive from another interpreter
            live, life = {name for name in live if name.startswith("file:")}, unit.cell.life
        if _matters(unit.effects, live, groups):
            live -= unit.effects.binds - unit.effects.uses
            live |= unit.effects.uses
            kept.append((unit.cell, unit.text))
    return kept[::-1]


def _matters(effects: Effects, live: set[str], groups: "_Groups") -> bool:
    if effects.lasting or effects.binds & live:
        return True
    written = {name for name in effects.touches if name.startswith("file:")}
    if written and ANY_FILE in live:
        return True
    changed = {groups.of(name) for name in effects.touches}
    return bool(changed & {groups.of(name) for name in live})


class _Groups:
    """Union-find over names that may alias the same object."""

    def __init__(self, shares: Iterable[set[str]]) -> None:
        self._parent: dict[str, str] = {}
        for names in shares:
            first, *others = sorted(names)
            for other in others:
                self._parent[self.of(other)] = self.of(first)

    def of(self, name: str) -> str:
        while (parent := self._parent.get(name, name)) != name:
            name = parent
        return name


def _script(origin: ScriptOrigin, cells: Sequence[RanCell], parts: list[tuple[RanCell, str]]) -> Script:
    names = cells[-1].names
    body: list[str] = []
    future: list[str] = []
    step = -1
    for cell, text in parts:
        if cell.step != step:
            goal = " ".join(cell.goal.split())[:90]
            body.append(f"\n# --- step {cell.step}: {goal}")
            step = cell.step
        (future if text.startswith("from __future__") else body).append(text)
    whole = "\n".join(body).strip("\n")
    text = "\n".join([*future, *_prelude(whole, names.test), whole]) + "\n"
    return Script(origin, text, parsed(text) is not None, names.validation, names.test)


def _prelude(body: str, test: str) -> list[str]:
    """Return lines for what a notebook provides implicitly."""
    lines = []
    if ".py'" in body or '.py"' in body:
        lines.append("import sys; sys.path.insert(0, '')  # modules that a cell wrote")
    if "display(" in body:
        lines.append("from IPython.display import display")
    folder = PurePosixPath(test).parent
    if folder != PurePosixPath():
        lines.append(f"import os; os.makedirs({str(folder)!r}, exist_ok=True)")
    return lines
