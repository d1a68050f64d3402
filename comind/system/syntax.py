"""Python's parser, one text at a time: in CPython before 3.11.9 its depth is shared by all threads."""

import ast
import threading

__all__ = ["parse_python"]

_ONE_AT_A_TIME = threading.RLock()  # the garbage collector may run code of ours within the parser


def parse_python(code: str, name: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of `code`, as `ast.parse` does.

    Two threads that parse at once get `SystemError: AST constructor recursion depth mismatch`, now and
    then: while a tree is built the garbage collector may hand over to another thread, and both count
    their depth in one place (python/cpython#106905).

    Raises:
        SyntaxError: it is no Python.
        ValueError, RecursionError, MemoryError: nor can it be read as Python.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(code, name)
