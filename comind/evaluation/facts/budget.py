"""Sections of a text that have to share a number of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Measure", "Section", "fitted"]

Measure = Callable[[str], int]
"""Says about how many tokens a text has."""

_CUT_LINE = 12
"""Tokens of the line that says how much was left out, and of a title."""


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a title."""

    title: str
    lines: Sequence[str]
    share: float
    """What it may take at least of all tokens, where all sections together have too many."""
    brief: Sequence[str] = ()
    """The same lines in fewer words, where there are such; the last lines are the first to give way."""


def fitted(sections: Sequence[Section], tokens: int, measure: Measure) -> str:
    """Return the sections within so many tokens, in order.

    Each has its share; what one leaves goes to the others, the first ones first.
    """
    sections = [section for section in sections if section.lines]
    wanted = [_size(section.lines, measure) + _CUT_LINE for section in sections]
    given = [
        min(want, int(section.share * tokens)) for want, section in zip(wanted, sections, strict=True)
    ]
    left = tokens - sum(given)
    for number, want in enumerate(wanted):
        more = max(0, min(left, want - given[number]))
        given[number] += more
        left -= more
    parts = (_within(section, room, measure) for section, room in zip(sections, given, strict=True))
    return "\n".join(line for part in parts for line in part)


def _size(lines: Sequence[str], measure: Measure) -> int:
    return sum(measure(line) + 1 for line in lines)


def _within(section: Section, tokens: int, measure: Measure) -> list[str]:
    room = tokens - _CUT_LINE
    title = [f"{section.title}:"] if section.title else []
    lines = section.lines
    over = _size(lines, measure) - room
    for number in reversed(range(len(section.brief) if over > 0 else 0)):  # the last ones first
        over -= measure(lines[number]) - measure(section.brief[number])
        if over <= 0 or not number:
            lines = [*lines[:number], *section.brief[number:]]
            break
    kept: list[str] = []
    for number, line in enumerate(lines):
        room -= measure(line) + 1
        if room < 0:
            if not kept:
                return []
            return [*title, *kept, f"  ... and {len(lines) - number} more lines"]
        kept.append(line)
    return [*title, *kept]
