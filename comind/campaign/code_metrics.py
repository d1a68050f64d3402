"""How large and how branched a program is; the one module that knows radon.

The measures are those of the CoMind paper's appendix B, so that agents can be compared as it does.
"""

import ast
import io
import tokenize
import warnings
from functools import lru_cache

from comind.domain.value import Value
from comind.system.syntax import parse_python

__all__ = ["CodeMetrics", "measure"]

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


class CodeMetrics(Value):
    """Measures of one program; those that need its syntax are None where it has none."""

    code_length: int
    """Characters."""
    source_lines: int | None = None
    """Lines that hold code; comments, docstrings and blank lines do not count."""
    cyclomatic_complexity: float | None = None
    """Paths through a function, method or class, on average; 0 where there is none (as in the paper)."""
    total_complexity: int | None = None
    """Paths through the whole program, with what stands outside functions."""


@lru_cache(maxsize=256)
def measure(code: str) -> CodeMetrics:
    """Return the measures of `code`, whatever it is."""
    from radon.complexity import average_complexity
    from radon.visitors import ComplexityVisitor

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program's own, such as an odd escape in a string
            tree = parse_python(code)
            visitor = ComplexityVisitor.from_ast(tree)
            source_lines = _source_lines(code, tree)
    # Anyone may have written it: half a statement, no text at all, or too deep for the parser.
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError, MemoryError):
        return CodeMetrics(code_length=len(code))
    return CodeMetrics(
        code_length=len(code),
        source_lines=source_lines,
        cyclomatic_complexity=round(float(average_complexity(visitor.blocks)), 3),
        total_complexity=int(visitor.total_complexity),
    )


def _source_lines(code: str, tree: ast.Module) -> int:
    """Count lines of code in one pass; radon's own count is quadratic in the length of a statement."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)
