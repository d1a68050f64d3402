"""Define the metrics of a program (CoMind paper, appendix B)."""

from comind.domain.value import Value


class CodeMetrics(Value):
    """Metrics of one program; those that need a syntax tree are None if it does not parse."""

    code_length: int
    """Characters."""
    source_lines: int | None = None
    """Lines that hold code; comments, docstrings and blank lines do not count."""
    cyclomatic_complexity: float | None = None
    """Mean over functions, methods and classes; 0 without any (as in the paper)."""
    total_complexity: int | None = None
    """Of the whole program, with code outside functions."""
    comment_lines: int | None = None
    halstead_volume: float | None = None
    """Length of the program in operators and operands, times the bits of each (Halstead, 1977)."""
    halstead_difficulty: float | None = None
    halstead_effort: float | None = None
    """Volume times difficulty."""


class RatedProgram(CodeMetrics):
    """Metrics of a program whose style was rated."""

    pylint_score: float | None = None
    """At most 10; None where it could not be rated, and in results of older versions."""
