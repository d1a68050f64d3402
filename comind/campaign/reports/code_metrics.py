"""Measure size, cyclomatic complexity and Halstead metrics of programs with radon, imported only here.

The metrics are those of the CoMind paper, appendix B.
"""

import ast
import io
import tokenize
from functools import lru_cache

from comind.campaign.script.cells import parsed
from comind.domain.code_metrics import CodeMetrics

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


@lru_cache(maxsize=256)
def measure(code: str) -> CodeMetrics:
    """Return the metrics of `code`; never raises."""
    from radon.complexity import average_complexity
    from radon.metrics import h_visit_ast
    from radon.visitors import ComplexityVisitor

    tree = parsed(code)
    if tree is None:
        return CodeMetrics(code_length=len(code))
    try:
        visitor = ComplexityVisitor.from_ast(tree)
        source_lines, comment_lines = _lines(code, tree)
        halstead = h_visit_ast(tree).total
    # Untrusted code, such as nesting too deep for the visitor.
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError, MemoryError):
        return CodeMetrics(code_length=len(code))
    return CodeMetrics(
        code_length=len(code),
        source_lines=source_lines,
        cyclomatic_complexity=round(float(average_complexity(visitor.blocks)), 3),
        total_complexity=int(visitor.total_complexity),
        comment_lines=comment_lines,
        halstead_volume=round(halstead.volume, 3),
        halstead_difficulty=round(halstead.difficulty, 3),
        halstead_effort=round(halstead.effort, 3),
    )


def _lines(code: str, tree: ast.Module) -> tuple[int, int]:
    """Count lines of code, and lines with a comment, in one pass.

    Radon's own count is quadratic in the length of a statement.
    """
    lines, comments = set[int](), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines), len(comments)
