"""Make one self-contained program of a recipe and the modules that it imports from `recipes`.

A program runs where comind is not installed, and people read it, so the modules are put one after
another as they stand: imports of each other are dropped, all others stand once at the top. A module's
docstring becomes the comment above its first statement: the script that a campaign derives from a
notebook keeps comments with their statements, and a docstring with none.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from comind.system.syntax import parse_python

__all__ = ["RECIPES", "bundle"]

_LINE_LENGTH = 105
_PACKAGE = "comind.baseline.recipes."
_OURS = re.compile(r"from \.|(from|import) .*\bcomind\b")
RECIPES: Traversable = resources.files("comind.baseline") / "recipes"
"""Where the modules lie."""


class _Module(NamedTuple):
    """A module, taken apart."""

    siblings: list[str]
    """The modules of ours that it imports."""
    names: dict[str, str]
    """What the names at its top stand for: a definition, or else an import statement."""
    comment: str
    body: str
    """What is neither docstring nor import nor `__all__`."""


def bundle(
    recipe: str, ending: str, folder: Traversable = RECIPES, *, beside: Sequence[str] = ()
) -> str:
    """Return the program of a recipe, which ends with the statements `ending`; no module is imported.

    Modules `beside` it, which it does not import, are there for the ending.

    Raises:
        ValueError: a name would stand for two things, or a module has what no program can have.
        SyntaxError: it would be no Python.
    """
    seen: set[str] = set()
    modules = [module for name in (*beside, recipe) for module in _in_order(name, folder, seen)]
    last = {name: "the ending's" for each in parse_python(ending).body if (name := _defined(each))}
    meanings = _joined([*(module.names for module in modules), last])
    imports = {meaning for meaning in meanings.values() if meaning.startswith(("import ", "from "))}
    head = f"{modules[-1].comment}\n{_statements(imports)}"
    shared = [f"{module.comment}\n{module.body}" for module in modules[:-1]]
    code = "\n\n\n".join(part.strip("\n") for part in (head, *shared, modules[-1].body, ending)) + "\n"
    for node in ast.walk(parse_python(code, recipe)):
        if isinstance(node, ast.Import | ast.ImportFrom) and _OURS.match(text := ast.unparse(node)):
            raise ValueError(f"{recipe}: where programs run, nobody can `{text}`")
    return code


def _in_order(name: str, folder: Traversable, seen: set[str]) -> Iterator[_Module]:
    """Yield the modules that `name` leads to, each after those that it imports."""
    if name not in seen:
        seen.add(name)
        module = _taken_apart(name, (folder / f"{name}.py").read_text("utf-8"))
        for sibling in module.siblings:
            yield from _in_order(sibling, folder, seen)
        yield module


@cache  # a search plans many programs of the same modules
def _taken_apart(module: str, source: str) -> _Module:
    tree, lines = parse_python(source, module), source.splitlines()
    siblings: list[str] = []
    names: dict[str, str] = {}
    for statement in tree.body:
        if name := _defined(statement):
            names[name] = f"{module}.py's"
            continue
        renamed = any(each.asname for each in getattr(statement, "names", ()))
        match statement:
            case ast.ImportFrom(module=str(origin)) if origin.startswith(_PACKAGE) and not renamed:
                siblings.append(origin.removeprefix(_PACKAGE))
            case ast.Import() | ast.ImportFrom():
                names |= _imported(statement)
            case ast.Expr(value=ast.Constant(value=str())) if statement is tree.body[0]:
                pass
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                pass
            case _:
                raise ValueError(f"{module}.py, line {statement.lineno}: no import and no definition")
        for number in range(statement.lineno - 1, statement.end_lineno or statement.lineno):
            lines[number] = ""
    comment = "\n".join(f"# {line}".rstrip() for line in (ast.get_docstring(tree) or "").splitlines())
    return _Module(siblings, names, comment, "\n".join(lines).strip("\n"))


def _defined(statement: ast.stmt) -> str | None:
    """Return the name that a definition or a plain assignment binds."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name if name != "__all__" else None
        case _:
            return None


def _imported(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Return the names that an import binds, each with the statement that imports it alone."""
    origin = ast.unparse(statement).partition("import ")[0]  # "from x " or nothing
    texts = ((each, f"{origin}{ast.unparse(ast.Import([each]))}") for each in statement.names)
    return {each.asname or each.name.partition(".")[0]: text for each, text in texts}


def _joined(parts: Iterable[dict[str, str]]) -> dict[str, str]:
    """Return what all names stand for.

    Raises:
        ValueError: one would stand for two things.
    """
    meanings: dict[str, str] = {}
    for name, meaning in (pair for part in parts for pair in part.items()):
        if meanings.setdefault(name, meaning) != meaning:
            raise ValueError(f"{name!r} would stand for two things: {meanings[name]} and {meaning}")
    return meanings


def _statements(imports: Iterable[str]) -> str:
    """Return imports, one statement for all names of a module, the standard library first."""
    parts = sorted((line.rpartition("import ")[::2] for line in imports), key=_place)
    lines = []
    for origin, group in groupby(parts, key=itemgetter(0)):
        names = [name for _, name in group]
        if not origin:
            lines += [f"import {name}" for name in names]
        elif len(line := f"{origin}import {', '.join(names)}") <= _LINE_LENGTH:
            lines.append(line)
        else:
            lines += [f"{origin}import (", *(f"    {name}," for name in names), ")"]
    return "\n".join(lines)


def _place(parts: tuple[str, str]) -> tuple[bool, str, str]:
    """Return what the parts around `import` are sorted by."""
    origin, name = parts
    module = origin.removeprefix("from ") or name
    return re.split(r"\W", module)[0] not in sys.stdlib_module_names, module, name
