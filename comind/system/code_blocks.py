"""Replace lines of a program that a model copied."""

import re

from comind.system.syntax import parse_or_none

_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+|\s+\Z")


def replace_block(program: str, block: str, new: str) -> str | None:
    """Return a program with another version of a block; None if it has no such lines, once.

    None as well if the result is no Python. Empty lines around both are ignored.
    """
    lines = [_EMPTY_LINES.sub("", each) for each in (block, new)]
    if not lines[0] or f"\n{program}\n".count(f"\n{lines[0]}\n") != 1:
        return None
    replaced = f"\n{program}\n".replace(f"\n{lines[0]}\n", f"\n{lines[1]}\n")[1:-1]
    return None if parse_or_none(replaced) is None else replaced
