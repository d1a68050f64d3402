"""Parse Python in one thread at a time: before CPython 3.11.9 all threads share the parser's depth."""

import ast
import threading

_LOCK = threading.RLock()  # reentrant: the garbage collector may run our code within the parser


def parse_python(code: str, name: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of `code`, as `ast.parse` does.

    Two threads that parse at once sometimes get `SystemError: AST constructor recursion depth mismatch`:
    the garbage collector may switch threads within the parser, and both count in one depth
    (python/cpython#106905).

    Raises:
        SyntaxError: `code` is not Python.
        ValueError, RecursionError, MemoryError: `code` cannot be parsed.
    """
    with _LOCK:
        return ast.parse(code, name)


def parse_or_none(code: str) -> ast.Module | None:
    """Return the syntax tree of `code`; None where it is not Python or cannot be parsed."""
    try:
        return parse_python(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def defined_functions(code: str) -> frozenset[str]:
    """Return the names of the functions that `code` defines at its top level; none without Python."""
    tree = parse_or_none(code)
    statements = [] if tree is None else tree.body
    return frozenset(each.name for each in statements if isinstance(each, ast.FunctionDef))
