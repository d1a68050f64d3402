"""Solve a competition without a language model, by programs from recipes.

They are a reference score, a smoke test and code to start from. Here belongs which program suits which
data, how it is bundled from the modules of `recipes`, and these modules. Running programs does not.
"""

from comind.baseline.recipe_programs import Program, programs
from comind.baseline.search_programs import (
    SearchResult,
    fit_program,
    kinds_for,
    parse_search_result,
    search_program,
    unsupported_reason,
)

__all__ = [
    "Program",
    "SearchResult",
    "fit_program",
    "kinds_for",
    "parse_search_result",
    "programs",
    "search_program",
    "unsupported_reason",
]
