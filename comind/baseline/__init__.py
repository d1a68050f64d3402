"""The baseline: programs that solve a competition without a language model.

They are a floor, a smoke test and code to start from: real code, real scores, nothing invented. Here
belongs which program is for which data, how a program is made from the modules of `recipes`, and these
themselves. Who runs programs, and what becomes of them, does not.
"""

from comind.baseline.programs import Program, programs
from comind.baseline.search import (
    Found,
    fit_program,
    kinds_for,
    parse_search_result,
    search_program,
    unsupported_reason,
)

__all__ = [
    "Found",
    "Program",
    "fit_program",
    "kinds_for",
    "parse_search_result",
    "programs",
    "search_program",
    "unsupported_reason",
]
