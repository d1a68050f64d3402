"""Analyse statically which names a statement binds, mutates and reads, and which files it writes.

Conservative: a call that is not known to be pure may mutate whatever it is given. What the text does not
show (a library that draws from a global generator) is found by running the script.
"""

import ast
from collections.abc import Iterable, Iterator

from comind.campaign.script.calls import (
    Effects,
    Symbols,
    file_of,
    held,
    makes_object,
    read_call,
    read_discarded,
    roots,
)

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)


def symbols_of(trees: Iterable[ast.AST]) -> Symbols:
    """Return the symbol table of a program."""
    symbols = Symbols()
    nodes = [node for tree in trees for node in ast.walk(tree)]
    for node in nodes:
        _note_import(node, symbols)
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                _define(node.name, node, symbols)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if any(isinstance(each, ast.Lambda) for each in ast.walk(value)):
                    _define(name, value, symbols)
                if isinstance(value, ast.Call) and makes_object(value):
                    symbols.objects.add(name)
    return symbols


def _note_import(node: ast.AST, symbols: Symbols) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            symbols.modules[_bound(alias)] = alias.name if alias.asname else _bound(alias)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            symbols.modules[_bound(alias)] = f"{node.module}.{alias.name}"


def _define(name: str, node: ast.AST, symbols: Symbols) -> None:
    symbols.own.setdefault(name, Effects()).add(_body_effects(node, symbols))


def effects_of(statements: list[ast.stmt], symbols: Symbols) -> Effects:
    """Return the joint effects of top-level statements."""
    found = Effects()
    for statement in statements:
        _read(statement, found, symbols)
        found.binds |= _surely_bound(statement)
    found.touches -= found.binds
    if not all(isinstance(each, _DEFINITIONS) for each in statements):
        found.add(symbols.called(found.uses))
    return found


def _surely_bound(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.Assign(targets=targets):
            return {name for target in targets for name in _plain_names(target)}
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            return {name}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {_bound(alias) for alias in aliases}
        case _:
            return set()


def _bound(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.split(".")[0]


def _plain_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _plain_names(part)
        case ast.Starred(value=inner):
            yield from _plain_names(inner)


def _body_effects(node: ast.AST, symbols: Symbols) -> Effects:
    """Return the effects of running a function, without its local names."""
    found = Effects()
    for child in ast.iter_child_nodes(node):
        _read(child, found, symbols, inside=True)
    local: set[str] = set()
    shared: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                local.add(name)
            case ast.Global(names=names):
                shared |= set(names)
    local -= shared
    found.uses -= local
    found.touches -= local
    return found


def _read(root: ast.AST, found: Effects, symbols: Symbols, *, inside: bool = False) -> None:
    """Add the effects of all nodes below `root` to `found`; function bodies only if `inside`."""
    waiting: list[ast.AST] = [root]
    while waiting:
        node = waiting.pop()
        _read_node(node, found, symbols)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not inside:
            waiting += [*node.decorator_list, node.args]  # its body runs when it is called
        else:
            waiting += ast.iter_child_nodes(node)


def _read_node(node: ast.AST, found: Effects, symbols: Symbols) -> None:
    _read_sharing(node, found, symbols)
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            found.uses.add(name)
        case ast.Name(id=name):
            found.touches.add(name)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found.touches.add(name)
        case ast.Import() | ast.ImportFrom():
            _read_import(node, found)
        case ast.Constant(value=str(text)) if file := file_of(text):
            found.uses.add(file)
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            changed = roots(node)
            found.touches |= changed
            found.lasting |= bool(changed & set(symbols.modules))  # a library's setting
        case ast.AugAssign(target=target):
            found.touches |= roots(target)
            found.uses |= roots(target)
        case ast.Expr(value=ast.Call() as call):
            read_discarded(call, found, symbols)
        case ast.Call():
            read_call(node, found, symbols)


def _read_sharing(node: ast.AST, found: Effects, symbols: Symbols) -> None:
    match node:
        case ast.Assign(targets=targets, value=value):
            _share(targets, value, found, symbols)
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value) if (
            value
        ):
            _share([target], value, found, symbols)
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            _share([target], value, found, symbols)
        case ast.withitem(context_expr=value, optional_vars=target) if target is not None:
            _share([target], value, found, symbols)


def _read_import(node: ast.Import | ast.ImportFrom, found: Effects) -> None:
    names = {_bound(alias) for alias in node.names}
    module = getattr(node, "module", None) or ""
    found.touches |= names
    # Some modules change others when they are imported.
    found.lasting = found.lasting or "*" in names or module == "__future__" or "experimental" in module


def _share(targets: list[ast.expr], value: ast.expr, found: Effects, symbols: Symbols) -> None:
    aliased = held(value, symbols)
    for target in targets:
        group = roots(target) | aliased
        if len(group) > 1:
            found.shares.append(group)
