"""Texts truncated by what kind of text they are: prose, output of cells, tracebacks.

Each function takes a text and a number of tokens as `comind.llm.tokens` counts them. A text that fits
comes back as it is; any other one comes back in no more tokens than that, with a mark where something is
left out. Descriptions and programs have modules of their own (`sections.py`, `outline.py`); all of them
are filters of our prompts (`templates.py`).
"""

import re
from collections import Counter
from typing import NamedTuple

from comind.llm.outline import cut_code
from comind.llm.sections import cut_description
from comind.llm.sentences import beginning, both_ends, cut_prose
from comind.llm.tokens import count_tokens

__all__ = ["cut_code", "cut_description", "cut_output", "cut_prose", "cut_traceback"]

_GAP_TOKENS = 7  # of the line that stands for lines that are left out
_PROGRESS = 12  # lines alike but for their numbers, from which on they are progress
_NUMBER = re.compile(r"\d")
_SCORE = re.compile(
    r"scor|acc|auc|loss|mse\b|mae\b|rmse|rmsle|\bf1|\bfold|\bcv\b|\boof\b|best|valid|mean\b|error"
    r"|precision|recall|kappa|\br2\b|metric|shape",
    re.IGNORECASE,
)
_NOISE = re.compile(r"Warning\b|\bwarnings?\.warn\(|^\s*warn\(")
_CHANGING = re.compile(r"[\d.,:%/]+(?:e[+-]?\d+)?|[^\w\s]{2,}|[█▏▎▍▌▋▊▉━]+|\s+")

_FRAME = re.compile(
    r'\s*File "(?P<plain>[^"]*)", line \d+|File (?P<context>\S+?):\d+, in |Cell In\s*\[\d+\], line \d+'
)
_LIBRARY = re.compile(
    r"site-packages|dist-packages|[/\\]lib(?:64)?[/\\]python\d|[/\\]Lib[/\\]|<frozen "
    r"|<__array_function__|\.pyx$"
)
_ARROW = re.compile(r"\s*-+>")


def cut_output(text: str, tokens: int) -> str:
    """Return the output of a cell in at most `tokens`.

    Of a line that was written over, such as a progress bar, the last state counts. The last lines
    stay (a quarter of the room), then lines that name a score, then others with numbers, the newest
    first; lines that repeat but for their numbers (progress) and warnings go first. Where lines are left
    out, a line says how many.
    """
    if count_tokens(text) <= tokens:
        return text
    longest = max(8, tokens // 4)
    lines = [both_ends(line.rstrip("\r").rpartition("\r")[2], longest) for line in text.split("\n")]
    costs = [count_tokens(line) + 1 for line in lines]
    kept = [False] * len(lines)
    left = tokens - _GAP_TOKENS
    for index in _by_worth(lines, costs, tokens // 4):
        more = costs[index] + _GAP_TOKENS * _new_gaps(kept, index)
        if more <= left:
            kept[index] = True
            left -= more
    shown = _with_gaps(lines, kept)
    return shown if count_tokens(shown) <= tokens else both_ends(shown, tokens)


def cut_traceback(text: str, tokens: int) -> str:
    """Return a traceback, Python's or IPython's, in at most `tokens`.

    Frames inside libraries are replaced by their number; then own frames keep the line that was running
    alone. The message stays; of one that takes more than half of the room, both ends.
    """
    if count_tokens(text) <= tokens:
        return text
    parts = _traceback_parts(text)
    own = _without_libraries(parts)
    for shown in (own, [_bare(part) for part in own]):
        whole = "".join(part.text for part in shown).rstrip("\n")
        if count_tokens(whole) <= tokens:
            return whole
    last = max((number for number, part in enumerate(shown) if part.frame), default=-1)
    frames = "".join(part.text for part in shown[: last + 1])
    message = "".join(part.text for part in shown[last + 1 :]).rstrip("\n")
    room = max(tokens // 2, tokens - count_tokens(frames))
    message = "\n".join(both_ends(line, room // 2, end=0.3) for line in message.split("\n"))
    message = both_ends(message, room, end=0.3)
    frames = both_ends(frames, tokens - count_tokens(message) - 1)
    return beginning(f"{frames.rstrip()}\n{message}" if frames.strip() else message, tokens)


def _by_worth(lines: list[str], costs: list[int], tail: int) -> list[int]:
    """Return the numbers of the lines, the ones worth most first."""
    patterns = [_CHANGING.sub("", line) for line in lines]
    times = Counter(pattern for pattern in patterns if pattern)
    seen: Counter[str] = Counter()
    spent = 0
    ranked: list[tuple[int, int, int]] = []
    for index in reversed(range(len(lines))):
        line, pattern = lines[index], patterns[index]
        seen[pattern] += 1
        progress = times[pattern] >= _PROGRESS and 1 < seen[pattern] < times[pattern]
        if index < len(lines) - 1 and (progress or not line.strip() or _NOISE.search(line)):
            rank = 4
        elif (spent := spent + costs[index]) <= tail or index == len(lines) - 1:
            rank = 0
        elif not _NUMBER.search(line):
            rank = 3
        else:
            rank = 1 if _SCORE.search(line) else 2
        ranked.append((rank, len(ranked), index))
    return [index for _, _, index in sorted(ranked)]


def _new_gaps(kept: list[bool], index: int) -> int:
    """Return how many more gaps there are when one more line is kept."""
    before = index == 0 or kept[index - 1]
    after = index == len(kept) - 1 or kept[index + 1]
    return 1 - before - after


def _with_gaps(lines: list[str], kept: list[bool]) -> str:
    shown: list[str] = []
    missing = 0
    for line, stays in zip([*lines, ""], [*kept, True], strict=True):
        if not stays:
            missing += 1
            continue
        if missing:
            shown.append(f"... {missing} lines left out")
            missing = 0
        shown.append(line)
    return "\n".join(shown[:-1])


class _Part(NamedTuple):
    """A frame of a traceback with its lines, or one line of what is around the frames."""

    text: str
    frame: bool = False
    library: bool = False


def _traceback_parts(text: str) -> list[_Part]:
    parts: list[_Part] = []
    for line in text.splitlines(keepends=True):
        found = _FRAME.match(line)
        if found is not None:
            path = found["plain"] or found["context"] or ""
            parts.append(_Part(line, frame=True, library=_LIBRARY.search(path) is not None))
        elif parts and parts[-1].frame and (not line.strip() or line[0] in " \t-"):
            parts[-1] = parts[-1]._replace(text=parts[-1].text + line)
        else:
            parts.append(_Part(line))
    return parts


def _without_libraries(parts: list[_Part]) -> list[_Part]:
    """Return the parts with a line in place of each run of frames inside libraries."""
    shown: list[_Part] = []
    run = 0
    for part in [*parts, _Part("")]:
        if part.library:
            run += 1
            continue
        if run:
            shown.append(_Part(f"  ... {run} frames inside libraries left out\n"))
            run = 0
        shown.append(part)
    return shown


def _bare(part: _Part) -> _Part:
    """Return a frame with the line that was running alone."""
    head, *lines = part.text.splitlines(keepends=True) or [""]
    arrows = [line for line in lines if _ARROW.match(line)]
    return part._replace(text="".join([head, *(arrows or lines[:1])])) if part.frame else part
