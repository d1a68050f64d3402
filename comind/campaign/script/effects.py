"""Analyse statically which names a statement binds, mutates and reads, and which files it writes.

Conservative: a call that is not known to be pure may mutate whatever it is given. What the text does not
show (a library that draws from a global generator) is found by running the script.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from comind.campaign.script.paths import ANY_FILE, file_of, mode_of, named_files
from comind.campaign.script.words import (
    ADDERS,
    FILE_READERS,
    FILE_WRITERS,
    HARMLESS_BUILTINS,
    HARMLESS_METHODS,
    HARMLESS_SYSTEM,
    HOLDING_BUILTINS,
    RANDOM_MODULES,
    SEEDS,
    SHAPERS,
    SYSTEM_MODULES,
    TABLES,
    WORLD_BUILTINS,
)

__all__ = ["Effects", "Known", "effects_of"]

_RANDOM = "random:"  # the global random generators, treated as one variable
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)


@dataclass(slots=True)
class Effects:
    """Effects of one statement, or of several that share a line."""

    binds: set[str] = field(default_factory=set)
    """Names that surely get a new value."""
    touches: set[str] = field(default_factory=set)
    """Names that may be rebound or mutated."""
    uses: set[str] = field(default_factory=set)
    shares: list[set[str]] = field(default_factory=list)
    """Sets of names that may alias the same object afterwards."""
    lasting: bool = False
    """Whether global state may change that has no name."""

    def add(self, other: "Effects") -> None:
        """Merge the effects of code that is run as a part of this."""
        self.touches |= other.touches
        self.uses |= other.uses
        self.lasting |= other.lasting


class Known:
    """Symbol table of a whole program."""

    def __init__(self, trees: Iterable[ast.AST]) -> None:
        self.modules: dict[str, str] = {}
        """Imported names, with the module or attribute that they refer to."""
        self.own: dict[str, Effects] = {}
        """Effects of calling a function or class defined in the program."""
        self.objects: set[str] = set()
        """Names of class instances that a call might mutate; tables excluded."""
        nodes = [node for tree in trees for node in ast.walk(tree)]
        for node in nodes:
            self._note_import(node)
        for node in nodes:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self._define(node.name, node)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if any(isinstance(each, ast.Lambda) for each in ast.walk(value)):
                        self._define(name, value)
                    if isinstance(value, ast.Call) and _makes_object(value):
                        self.objects.add(name)

    def _note_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.modules[_bound(alias)] = alias.name if alias.asname else _bound(alias)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self.modules[_bound(alias)] = f"{node.module}.{alias.name}"

    def _define(self, name: str, node: ast.AST) -> None:
        self.own.setdefault(name, Effects()).add(_body_effects(node, self))

    def called(self, names: set[str]) -> Effects:
        """Return the effects of using `names`, through all functions that they call."""
        total, waiting, seen = Effects(), set(names), set()
        while waiting:
            name = waiting.pop()
            seen.add(name)
            if name in self.own:
                total.add(self.own[name])
                waiting |= self.own[name].uses - seen
        return total


def effects_of(statements: list[ast.stmt], known: Known) -> Effects:
    """Return the joint effects of top-level statements."""
    found = Effects()
    for statement in statements:
        _read(statement, found, known)
        found.binds |= _surely_bound(statement)
    found.touches -= found.binds
    if not all(isinstance(each, _DEFINITIONS) for each in statements):
        found.add(known.called(found.uses))
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


def _body_effects(node: ast.AST, known: Known) -> Effects:
    """Return the effects of running a function, without its local names."""
    found = Effects()
    for child in ast.iter_child_nodes(node):
        _read(child, found, known, inside=True)
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


def _read(root: ast.AST, found: Effects, known: Known, *, inside: bool = False) -> None:
    """Add the effects of all nodes below `root` to `found`; function bodies only if `inside`."""
    waiting: list[ast.AST] = [root]
    while waiting:
        node = waiting.pop()
        _read_node(node, found, known)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not inside:
            waiting += [*node.decorator_list, node.args]  # its body runs when it is called
        else:
            waiting += ast.iter_child_nodes(node)


def _read_node(node: ast.AST, found: Effects, known: Known) -> None:
    _read_sharing(node, found, known)
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
            found.lasting |= bool(changed & set(known.modules))  # a library's setting
        case ast.AugAssign(target=target):
            found.touches |= roots(target)
            found.uses |= roots(target)
        case ast.Expr(value=ast.Call() as call):
            _read_discarded(call, found, known)
        case ast.Call():
            _read_call(node, found, known)


def _read_sharing(node: ast.AST, found: Effects, known: Known) -> None:
    match node:
        case ast.Assign(targets=targets, value=value):
            _share(targets, value, found, known)
        case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value) if (
            value
        ):
            _share([target], value, found, known)
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            _share([target], value, found, known)
        case ast.withitem(context_expr=value, optional_vars=target) if target is not None:
            _share([target], value, found, known)


def _read_import(node: ast.Import | ast.ImportFrom, found: Effects) -> None:
    names = {_bound(alias) for alias in node.names}
    module = getattr(node, "module", None) or ""
    found.touches |= names
    # Some modules change others when they are imported.
    found.lasting = found.lasting or "*" in names or module == "__future__" or "experimental" in module


def _share(targets: list[ast.expr], value: ast.expr, found: Effects, known: Known) -> None:
    held = _held(value, known)
    for target in targets:
        group = roots(target) | held
        if len(group) > 1:
            found.shares.append(group)


def roots(node: ast.AST) -> set[str]:
    """Return the root variables of a target or an attribute chain."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
            return roots(inner)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return {name for part in parts for name in roots(part)}
        case ast.Call(func=function):
            return roots(function)
        case _:
            return set()


def _held(value: ast.AST, known: Known) -> set[str]:
    """Return the variables whose objects an expression's value may alias or contain."""
    match value:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return roots(value) - set(known.modules)
        case ast.Call() as call:
            return _held_by_call(call.func, _arguments(call), known)
        case ast.Lambda() | ast.JoinedStr() | ast.Constant() | ast.BinOp() | ast.Compare():
            return set()
        case _:
            return {name for child in ast.iter_child_nodes(value) for name in _held(child, known)}


def _held_by_call(function: ast.expr, parts: list[ast.expr], known: Known) -> set[str]:
    given = {name for part in parts for name in _held(part, known)}
    match function:
        case ast.Name(id=name) if name in HOLDING_BUILTINS or name in known.own:
            return given
        case ast.Name(id=name) if name in HARMLESS_BUILTINS:
            return set()
        case ast.Name(id=name) if name in known.modules:
            return given if name[:1].isupper() else set()
        case ast.Attribute(attr=name) if roots(function) & set(known.modules):
            return given if name[:1].isupper() and name not in TABLES else set()
        case ast.Attribute(attr=name) if name in HARMLESS_METHODS:
            return set()
        case ast.Attribute():
            return roots(function) | (given if function.attr in ADDERS else set())
        case _:
            return roots(function) | given


def _makes_object(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return bool(name[:1].isupper()) and name not in TABLES


def _read_discarded(call: ast.Call, found: Effects, known: Known) -> None:
    """Add the effects of a call whose value is discarded, so that it must mutate something."""
    function, name = call.func, _called(call)
    imported = roots(function) & set(known.modules)
    if _is_harmless(function, name, known) or name in FILE_WRITERS:
        return  # handled by `_read_call`
    if isinstance(function, ast.Name) and not imported:
        return
    names = _given(call) - set(known.modules)
    if imported:
        found.touches |= names
        found.lasting = found.lasting or not names
    else:
        found.touches |= names & known.objects


def _is_harmless(function: ast.expr, name: str, known: Known) -> bool:
    if isinstance(function, ast.Name):
        return name in HARMLESS_BUILTINS and name not in known.own
    path = ".".join((known.modules.get(next(iter(roots(function)), ""), ""), name))
    return name in HARMLESS_METHODS or path in HARMLESS_SYSTEM


def _called(call: ast.Call) -> str:
    """Return the last part of a function's name."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else next(iter(roots(function)), "")


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _given(call: ast.Call) -> set[str]:
    """Return the root variables of a call's arguments."""
    return {name for part in _arguments(call) for name in roots(part)}


def _read_call(call: ast.Call, found: Effects, known: Known) -> None:
    function, name = call.func, _called(call)
    imported = {known.modules[each] for each in roots(function) if each in known.modules}
    found.uses.add(_RANDOM)  # any call may draw, so earlier seeding and drawing is kept
    if name in SEEDS:
        found.lasting = True
    if any(each.split(".")[0] in SYSTEM_MODULES for each in imported):
        module = next(iter(imported))
        path = f"{module}.{name}" if isinstance(function, ast.Attribute) else module
        found.lasting = found.lasting or path not in HARMLESS_SYSTEM
    if any(each.startswith(RANDOM_MODULES) for each in imported) or "random" in _path(function):
        found.touches.add(_RANDOM)
    if (name in FILE_READERS or name == "open") and not named_files(call):
        found.uses.add(ANY_FILE)
    if name in FILE_WRITERS or (name == "open" and mode_of(call) != "r"):
        _write_file(call, found)
    elif isinstance(function, ast.Attribute) and not imported:
        _read_method(call, function, found, known)
    elif isinstance(function, ast.Name) and not imported:
        _read_function(call, name, found, known)
    elif name in SHAPERS:
        found.touches |= _given(call)


def _path(function: ast.expr) -> list[str]:
    parts = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    return parts


def _read_method(call: ast.Call, function: ast.Attribute, found: Effects, known: Known) -> None:
    in_place = any(each.arg in ("inplace", "out") for each in call.keywords)
    if function.attr not in HARMLESS_METHODS or in_place:
        found.touches |= roots(function)
    if function.attr in ADDERS:
        given = {each for part in _arguments(call) for each in _held(part, known)}
        found.shares.append(roots(function) | given)


def _read_function(call: ast.Call, name: str, found: Effects, known: Known) -> None:
    if name in WORLD_BUILTINS:
        found.lasting = True
    if name not in HARMLESS_BUILTINS | HOLDING_BUILTINS or name in known.own:
        found.touches |= (_given(call) | {name}) - set(known.modules)


def _write_file(call: ast.Call, found: Effects) -> None:
    named = named_files(call)
    found.touches |= named
    if not named or any(name.endswith(".py") for name in named):
        found.lasting = True  # it may be a submission, or a module
