"""Truncate cell output and tracebacks to a number of tokens.

Here as in `truncate_code`, `truncate_description` and `truncate_prose`, a text that fits is returned
unchanged; any other one in at most `tokens`, as `comind.llm.tokens` counts them, with a mark at each
omission. The functions are filters of prompt templates (`templates.py`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeVar

from comind.llm.tokens import count_tokens
from comind.llm.truncate_prose import truncate_end, truncate_middle

T = TypeVar("T")

_GAP_TOKENS = 7  # of the line that replaces omitted lines
_PROGRESS = 12  # lines that differ only in their numbers, from which on they count as progress
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


def truncate_output(text: str, tokens: int) -> str:
    """Truncate the output of a cell to at most `tokens`.

    Of a line that was overwritten by carriage returns, such as a progress bar, the last state counts.
    Kept are the last lines (a quarter of the tokens), then lines that name a score, then others with
    numbers, newest first; progress and warnings are dropped first. A line states how many are omitted.
    """
    if count_tokens(text) <= tokens:
        return text
    longest = max(8, tokens // 4)
    current = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    lines = [truncate_middle(line, longest) for line in current]
    costs = [count_tokens(line) + 1 for line in lines]
    kept = [False] * len(lines)
    left = tokens - _GAP_TOKENS
    for index in _by_worth(lines, costs, tokens // 4):
        more = costs[index] + _GAP_TOKENS * _new_gaps(kept, index)
        if more <= left:
            kept[index] = True
            left -= more
    shown = _with_gaps(zip(kept, lines, strict=True), "... {} lines left out".format)
    return truncate_middle("\n".join(shown), tokens)


def truncate_traceback(text: str, tokens: int) -> str:
    """Truncate a traceback of Python or IPython to at most `tokens`.

    Frames inside libraries are replaced by their number; then own frames keep only the line that was
    running. The message stays; one of more than half of the tokens loses its middle.
    """
    if count_tokens(text) <= tokens:
        return text
    parts = _traceback_parts(text)
    own = _with_gaps(
        ((not part.library, part) for part in parts),
        lambda count: _Part(f"  ... {count} frames inside libraries left out\n"),
    )
    for shown in (own, [_bare(part) for part in own]):
        whole = "".join(part.text for part in shown).rstrip("\n")
        if count_tokens(whole) <= tokens:
            return whole
    last = max((number for number, part in enumerate(shown) if part.frame), default=-1)
    frames = "".join(part.text for part in shown[: last + 1])
    message = "".join(part.text for part in shown[last + 1 :]).rstrip("\n")
    room = max(tokens // 2, tokens - count_tokens(frames))
    message = "\n".join(truncate_middle(line, room // 2, end=0.3) for line in message.split("\n"))
    message = truncate_middle(message, room, end=0.3)
    frames = truncate_middle(frames, tokens - count_tokens(message) - 1)
    return truncate_end(f"{frames.rstrip()}\n{message}" if frames.strip() else message, tokens)


def _by_worth(lines: list[str], costs: list[int], tail: int) -> list[int]:
    """Return the numbers of the lines, most important first."""
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
    """Return how many gaps keeping one more line adds."""
    before = index == 0 or kept[index - 1]
    after = index == len(kept) - 1 or kept[index + 1]
    return 1 - before - after


def _with_gaps(items: Iterable[tuple[bool, T]], gap: Callable[[int], T]) -> list[T]:
    """Return the items that are kept; `gap` replaces each run of others, given its length."""
    shown: list[T] = []
    for kept, pairs in groupby(items, key=itemgetter(0)):
        run = [item for _, item in pairs]
        shown += run if kept else [gap(len(run))]
    return shown


class _Part(NamedTuple):
    """A frame of a traceback with its lines, or one line outside of frames."""

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


def _bare(part: _Part) -> _Part:
    """Return a frame with only the line that was running."""
    head, *lines = part.text.splitlines(keepends=True) or [""]
    arrows = [line for line in lines if _ARROW.match(line)]
    return part._replace(text="".join([head, *(arrows or lines[:1])])) if part.frame else part
