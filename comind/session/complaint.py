"""What the end of a cell or a program says is wrong, in one line."""

import re

__all__ = ["error_line"]

_HEADER = "Traceback (most recent call last)"
_RAISED = re.compile(r"[^\W\d][\w.]*(:( |$)|$)")
"""The first line of an exception's own words; frames are indented, or begin with two words."""


def error_line(error: str) -> str:
    """Return the line of an error that says what is wrong.

    Of a traceback that is the first line of the exception raised last, whose message may have more of
    them; of anything else the last line.
    """
    lines = [line.rstrip() for line in error.strip().splitlines()]
    begun = [number for number, line in enumerate(lines, start=1) if _HEADER in line]
    raised = (line for line in lines[begun[-1] :] if _RAISED.match(line)) if begun else iter(())
    return next(raised, lines[-1].strip() if lines else "")
