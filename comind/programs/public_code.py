"""Choose what agents may see of a problem's code: what a scorer of solutions needs, and nothing else.

Constants and files beside it may hold references, or instances that are sealed.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from comind.system.syntax import parse_or_none

_SECRET = {"norm_score", "get_dev", "load_data"}
"""Functions of CO-Bench that know references, or instances that are not for development."""
_ROOTS = {"eval_func", "solve"}


def public_config(tree: ast.Module) -> str:
    """Return the code of CO-Bench's `eval_func` and `solve`, with all that they use by its name."""
    used = set(_ROOTS)
    while True:
        kept = [each for each in tree.body if _bound(each) & used and not _bound(each) & _SECRET]
        names = used.union(*map(_names, kept))
        if names == used:
            return "\n\n".join(ast.unparse(_narrowed(each, used)) for each in kept) + "\n"
        used = names


def needed_files(folder: Path, code: Iterable[str]) -> set[str]:
    """Return the names of files and folders that code in `folder` imports or names, also indirectly."""
    entries = {each.name for each in folder.iterdir()}
    found, pending = set[str](), list(code)
    while pending:
        text = pending.pop()
        imported = _imported(text)
        for name in sorted(entries - found):
            if PurePath(name).stem in imported or name in text:
                found.add(name)
                pending += _sources(folder / name)
    return found


def _sources(path: Path) -> Iterator[str]:
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.suffix == ".py" else []
    for file in files:
        yield file.read_text(encoding="utf-8", errors="replace")


def _imported(code: str) -> set[str]:
    """Return the first parts of the names of the modules that code imports."""
    tree = parse_or_none(code)
    found = set[str]()
    for each in ast.walk(tree) if tree is not None else ():
        if isinstance(each, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in each.names}
        elif isinstance(each, ast.ImportFrom):
            named = [each.module] if each.module else [alias.name for alias in each.names]
            found |= {name.partition(".")[0] for name in named}
    return found


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines in its module, or changes."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    found = _stored(statement)
    for each in ast.walk(statement):
        if isinstance(each, ast.Import | ast.ImportFrom):
            found |= _imports(each)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(each.name)
    return found


def _imports(statement: ast.Import | ast.ImportFrom) -> set[str]:
    """Return the names that an import defines; those of `*` and `__future__` count as used."""
    if isinstance(statement, ast.ImportFrom) and _is_whole(statement):
        return _ROOTS
    return {_alias(name) for name in statement.names}


def _is_whole(statement: ast.ImportFrom) -> bool:
    return statement.module == "__future__" or statement.names[0].name == "*"


def _stored(statement: ast.stmt) -> set[str]:
    """Return the names that a statement assigns to, also to an item or attribute of theirs."""
    targets: list[ast.AST] = [
        each
        for each in ast.walk(statement)
        if isinstance(each, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(each.ctx, ast.Store | ast.Del)
    ]
    match statement:
        case ast.Expr(ast.Call(func)):  # such as PARTS.append(3)
            targets.append(func)
    return set[str]().union(*map(_names, targets))


def _alias(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _narrowed(statement: ast.stmt, used: set[str]) -> ast.stmt:
    """Return an import of the used names alone; other statements as they are."""
    if isinstance(statement, ast.Import):
        return ast.Import([each for each in statement.names if _alias(each) in used])
    if isinstance(statement, ast.ImportFrom) and not _is_whole(statement):
        names = [each for each in statement.names if _alias(each) in used]
        return ast.ImportFrom(statement.module, names, statement.level)
    return statement
