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
    told = [section for section in sections if section.lines]
    wanted = [_size(section.lines, measure) + _beside(section, measure) for section in told]
    given = [min(want, int(section.share * tokens)) for want, section in zip(wanted, told, strict=True)]
    left = tokens - sum(given)
    for number, want in enumerate(wanted):
        more = min(left, want - given[number])
        given[number] += more
        left -= more
    parts = (_within(section, room, measure) for section, room in zip(told, given, strict=True))
    return "\n".join(line for part in parts for line in part)


def _size(lines: Sequence[str], measure: Measure) -> int:
    return sum(measure(line) + 1 for line in lines)


def _beside(section: Section, measure: Measure) -> int:
    """Return what a section takes beside its lines."""
    return measure(section.title) + _CUT_LINE


def _within(section: Section, tokens: int, measure: Measure) -> list[str]:
    """Return what fits of a section; a line that is too long leaves its place to the next ones."""
    room = tokens - _beside(section, measure)
    kept = []
    for line in _shortened(section, room, measure):
        if measure(line) < room:
            room -= measure(line) + 1
            kept.append(line)
    if not kept:
        return []
    title = [f"{section.title}:"] if section.title else []
    lost = len(section.lines) - len(kept)
    return [*title, *kept, *([f"  ... and {lost} more lines"] if lost else [])]


def _shortened(section: Section, room: int, measure: Measure) -> list[str]:
    """Return a section's lines, so many of the last ones in brief that all fit, if that is enough."""
    lines = list(section.lines)
    over = _size(lines, measure) - room
    for number in reversed(range(len(section.brief))):
        if over <= 0:
            break
        over -= measure(lines[number]) - measure(section.brief[number])
        lines[number] = section.brief[number]
    return lines
