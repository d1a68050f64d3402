"""Fit the sections of a text into a token budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

TokenCounter = Callable[[str], int]
"""Estimates the number of tokens of a text."""

_OVERHEAD_TOKENS = 12
"""Tokens of a title and of the line that counts omitted lines."""


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a title."""

    title: str
    lines: Sequence[str]
    share: float
    """Fraction of the budget that is guaranteed to this section."""
    brief: Sequence[str] = ()
    """Shorter forms of the first lines; the last of these lines are abbreviated first."""


def fit_sections(sections: Sequence[Section], tokens: int, count_tokens: TokenCounter) -> str:
    """Return the sections in order, truncated to a token budget.

    Each section has its share; unused tokens go to the others, first sections first.
    """
    texts = [section for section in sections if section.lines]
    wanted = [_size(section.lines, count_tokens) + _overhead(section, count_tokens) for section in texts]
    given = [min(want, int(section.share * tokens)) for want, section in zip(wanted, texts, strict=True)]
    left = tokens - sum(given)
    for number, want in enumerate(wanted):
        more = min(left, want - given[number])
        given[number] += more
        left -= more
    parts = (_truncate(section, room, count_tokens) for section, room in zip(texts, given, strict=True))
    return "\n".join(line for part in parts for line in part)


def _size(lines: Sequence[str], count_tokens: TokenCounter) -> int:
    return sum(count_tokens(line) + 1 for line in lines)


def _overhead(section: Section, count_tokens: TokenCounter) -> int:
    """Return the tokens that a section takes in addition to its lines."""
    return count_tokens(section.title) + _OVERHEAD_TOKENS


def _truncate(section: Section, tokens: int, count_tokens: TokenCounter) -> list[str]:
    """Return the title and the lines that fit; a line that is too long is skipped."""
    room = tokens - _overhead(section, count_tokens)
    kept = []
    for line in _abbreviate(section, room, count_tokens):
        if count_tokens(line) < room:
            room -= count_tokens(line) + 1
            kept.append(line)
    if not kept:
        return []
    title = [f"{section.title}:"] if section.title else []
    lost = len(section.lines) - len(kept)
    return [*title, *kept, *([f"  ... and {lost} more lines"] if lost else [])]


def _abbreviate(section: Section, room: int, count_tokens: TokenCounter) -> list[str]:
    """Return a section's lines, the last ones abbreviated until all fit, where that is enough."""
    lines = list(section.lines)
    over = _size(lines, count_tokens) - room
    for number in reversed(range(len(section.brief))):
        if over <= 0:
            break
        over -= count_tokens(lines[number]) - count_tokens(section.brief[number])
        lines[number] = section.brief[number]
    return lines
