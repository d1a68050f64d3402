"""The facts of a public folder as one text: what matters most comes first, and what is cut last.

Where the text would be too long, the last columns are told in fewer words, then each section ends with a
line that says how much was left out.
"""

from pathlib import Path

from comind.evaluation.facts.budget import Measure, fitted
from comind.evaluation.splits.split_folder import Split
from comind.system.scratch import ScratchFolder

__all__ = ["TOKENS", "facts_of"]

TOKENS = 4_000
"""The most that facts take of a prompt."""


def facts_of(public: Path, split: Split | None = None, *, measure: Measure, tokens: int = TOKENS) -> str:
    """Return what the files in a public folder hold, for a prompt.

    The same files give the same text with the same version of DuckDB. A file that cannot be read is
    named with the reason.

    Args:
        public: the folder; nothing beside it is read.
        split: how it was made; None where there is no split yet.
        measure: says about how many tokens a text has.
        tokens: how many the text may have.
    """
    from comind.evaluation.facts.database import Database  # DuckDB, for whoever asks only
    from comind.evaluation.facts.reading import Facts

    with ScratchFolder("f") as scratch, Database(scratch) as database:
        return fitted(Facts(database, public, split).sections(), tokens, measure)
