"""Bundle a recipe and the modules that it imports from `recipes`, or of competitions, into one program.

Programs run where comind is not installed, and people read them, so definitions are copied unchanged:
those that the ending needs, by name, with the imports that these need, merged at the top. A module's
docstring becomes a comment above its first definition, as scripts that campaigns derive keep comments
only.
"""

import ast
import re
import symtable
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from comind.system.syntax import parse_python

_LINE_LENGTH = 105
_PACKAGE = "comind.baseline.recipes."
_SHARED = {"comind.competitions.row_files": resources.files("comind.competitions") / "row_files.py"}
"""Modules outside of the recipes' folder that programs may contain."""
_OURS = re.compile(r"from \.|(from|import) .*\bcomind\b")
_ANNOTATION = re.compile(r"(\w+\.)+\w+(\[.*\])?")
RECIPES: Traversable = resources.files("comind.baseline") / "recipes"
"""The folder of the recipe modules."""


class _Definition(NamedTuple):
    """A top-level function, class or constant."""

    name: str
    source: str
    """With the blank lines and comments above it."""
    needs: frozenset[str]
    """The global names that it mentions, annotations as text included."""


class _Module(NamedTuple):
    """A parsed module."""

    siblings: list[str]
    """The recipe modules, by name, and shared modules that it imports."""
    names: dict[str, str]
    """The origin of each top-level name: a definition or an import statement."""
    comment: str
    definitions: list[_Definition]

    def text(self, needed: Iterable[str]) -> str:
        """Return the source of the definitions that are needed, without the comment."""
        found = "\n".join(each.source for each in self.definitions if each.name in needed)
        return found.strip("\n")


def bundle(recipe: str, ending: str, folder: Traversable = RECIPES, *, extra: Sequence[str] = ()) -> str:
    """Return the source of a program: a recipe, its imports, and the statements `ending`.

    Modules are parsed, not imported; `extra` ones are used by the ending alone.

    Raises:
        ValueError: two modules define one name, or a module cannot be bundled.
        SyntaxError: a module or the ending is not valid Python.
    """
    seen: set[str] = set()
    modules = [module for name in (*extra, recipe) for module in _dependencies_first(name, folder, seen)]
    tree = parse_python(ending)
    last = {name: "the ending's" for each in tree.body if (name := _bound_name(each))}
    origins = _merge_names([*(module.names for module in modules), last])
    needed = _reachable(_global_names(ending, tree), modules)
    imports = {
        origin
        for name, origin in origins.items()
        if name in needed and origin.startswith(("import ", "from "))
    }
    head = f"{modules[-1].comment}\n{_import_statements(imports)}"
    texts = [(module.comment, module.text(needed)) for module in modules]
    shared = [f"{comment}\n{text}" for comment, text in texts[:-1] if text]
    parts = (head, *shared, texts[-1][1], ending)
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _reachable(names: Iterable[str], modules: Iterable[_Module]) -> set[str]:
    """Return the names that the definitions of these names need, directly or through others."""
    needs = {each.name: each.needs for module in modules for each in module.definitions}
    found: set[str] = set()
    left = [*names]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += needs.get(name, ())
    return found


def _dependencies_first(name: str, folder: Traversable, seen: set[str]) -> Iterator[_Module]:
    """Yield a module and its imports recursively, each after those that it imports."""
    if name not in seen:
        seen.add(name)
        module = _parse_module(name, _SHARED.get(name, folder / f"{name}.py").read_text("utf-8"))
        for sibling in module.siblings:
            yield from _dependencies_first(sibling, folder, seen)
        yield module


@cache  # a search bundles many programs of the same modules
def _parse_module(module: str, source: str) -> _Module:
    tree, lines = parse_python(source, module), source.splitlines()
    siblings: list[str] = []
    names: dict[str, str] = {}
    definitions: list[_Definition] = []
    end = 0  # of the statement before
    for statement in tree.body:
        start, end = end, statement.end_lineno or statement.lineno
        if name := _bound_name(statement):
            _refuse_ours(module, statement)
            names[name] = f"{module}.py's"
            text = "\n".join(lines[start:end])
            definitions.append(_Definition(name, text, frozenset(_global_names(text, statement))))
            continue
        renamed = any(each.asname for each in getattr(statement, "names", ()))
        match statement:
            case ast.ImportFrom(module=str(origin)) if origin.startswith(_PACKAGE) and not renamed:
                siblings.append(origin.removeprefix(_PACKAGE))
            case ast.ImportFrom(module=str(origin)) if origin in _SHARED and not renamed:
                siblings.append(origin)
            case ast.Import() | ast.ImportFrom():
                _refuse_ours(module, statement)
                names |= _imported(statement)
            case ast.Expr(value=ast.Constant(value=str())) if statement is tree.body[0]:
                pass
            case _:
                raise ValueError(f"{module}.py, line {statement.lineno}: no import and no definition")
    comment = "\n".join(f"# {line}".rstrip() for line in (ast.get_docstring(tree) or "").splitlines())
    return _Module(siblings, names, comment, definitions)


def _refuse_ours(module: str, statement: ast.stmt) -> None:
    """Raise ValueError where a statement imports what a program does not contain."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom) and _OURS.match(text := ast.unparse(node)):
            raise ValueError(f"{module}: programs run without comind and cannot `{text}`")


def _global_names(source: str, tree: ast.AST) -> set[str]:
    """Return the global names that statements mention, those of annotations written as text too."""
    tables = [symtable.symtable(source, "program", "exec")]
    found: set[str] = set()
    for table in tables:  # grows while it is read
        tables += table.get_children()
        top = table.get_type() == "module"
        found |= {
            each.get_name()
            for each in table.get_symbols()
            if each.is_referenced() and (top or each.is_global())
        }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            found |= set(re.findall(r"\w+", node.value)) if _ANNOTATION.fullmatch(node.value) else set()
    return found


def _bound_name(statement: ast.stmt) -> str | None:
    """Return the name that a definition or assignment binds; None for other statements."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _imported(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Return the names that an import binds, each with a statement that imports only this name."""
    origin = ast.unparse(statement).partition("import ")[0]  # "from x " or nothing
    texts = ((each, f"{origin}{ast.unparse(ast.Import([each]))}") for each in statement.names)
    return {each.asname or each.name.partition(".")[0]: text for each, text in texts}


def _merge_names(parts: Iterable[dict[str, str]]) -> dict[str, str]:
    """Merge the top-level names of modules with their origins.

    Raises:
        ValueError: a name has two origins.
    """
    origins: dict[str, str] = {}
    for name, origin in (pair for part in parts for pair in part.items()):
        if origins.setdefault(name, origin) != origin:
            raise ValueError(f"{name!r} is defined twice: {origins[name]} and {origin}")
    return origins


def _import_statements(imports: Iterable[str]) -> str:
    """Return sorted imports, one statement a module, the standard library first."""
    parts = sorted((line.rpartition("import ")[::2] for line in imports), key=_sort_key)
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


def _sort_key(parts: tuple[str, str]) -> tuple[bool, str, str]:
    """Return the sort key of an import statement, given its parts before and after `import`."""
    origin, name = parts
    module = origin.removeprefix("from ") or name
    return re.split(r"\W", module)[0] not in sys.stdlib_module_names, module, name
