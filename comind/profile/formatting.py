"""Format numbers, shares, sizes, values and names: the filters of the templates in `prompts/`."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

from comind.llm.templates import Templates

_DIGITS = 4
_LARGEST_PLAIN = 1e12
_VALUE_LENGTH, _LABEL_LENGTH = 60, 40
_KILO = 1_000
_KINDS_SHOWN = 4


def lines(template: str, **values: object) -> list[str]:
    """Render a template of the profile, and return its lines."""
    return [line for line in _TEMPLATES.render(template, **values).split("\n") if line.strip()]


def number(value: float) -> str:
    """Format a number with four significant digits; integers in full."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < _LARGEST_PLAIN:
        return str(int(value))
    if abs(value) >= 10 ** (_DIGITS - 1) and abs(value) < _LARGEST_PLAIN:
        return f"{value:.0f}"
    return f"{value:.{_DIGITS}g}"


def share(part: int, whole: int) -> str:
    """Format a ratio in per cent; only none and all are shown as 0 % and 100 %."""
    if part in (0, whole) or not whole:
        return "100 %" if part and whole else "0 %"
    percent = 100 * part / whole
    if percent < 0.1:  # noqa: PLR2004 - the last digit that is shown
        return "under 0.1 %"
    if percent > 99.9:  # noqa: PLR2004 - the same
        return "over 99.9 %"
    rounded = f"{percent:.0f}"
    return f"{percent:.1f} %" if percent < 10 or rounded == "100" else f"{rounded} %"  # noqa: PLR2004


def file_size(count_of_bytes: int) -> str:
    """Format a file size with its unit."""
    value = float(count_of_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < _KILO:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"  # noqa: PLR2004
        value /= _KILO
    return f"{value:.1f} TB"


def time(when: datetime) -> str:
    """Format a time; midnight as a date."""
    return when.isoformat(sep=" ", timespec="seconds").removesuffix(" 00:00:00")


def line(text: object, length: int = _VALUE_LENGTH) -> str:
    """Return text on one line, truncated, without unprintable characters."""
    seen = "".join(c if c.isprintable() else " " for c in str(text)[: length * 2])
    words = " ".join(seen.split())
    if len(words) <= length and len(str(text)) <= length * 2:
        return words
    return f"{words[:length]}..."


def quoted(value: object, length: int = _VALUE_LENGTH) -> str:
    """Return a cell on one line, in quotation marks if it holds spaces or special characters."""
    text = line(value, length)
    return text if text and all(c.isalnum() or c in "_-./" for c in text) else f'"{text}"'


def names(names: Iterable[str], most: int) -> str:
    """Join at most `most` names, and count the omitted ones."""
    known = list(names)
    text = ", ".join(known[:most])
    return text if len(known) <= most else f"{text} and {len(known) - most} more"


def title(columns: Sequence[Any]) -> str:
    """Return the name of a column, or the first and the last name of a group."""
    first, last = line(columns[0].name), line(columns[-1].name)
    return first if len(columns) == 1 else f"{first}..{last}"


def _fitting(found: Sequence[str], length: int) -> str:
    """Join the names that fit into `length` characters, at least one."""
    ends = accumulate(len(name) + len(", ") for name in found)
    return names(found, max(1, sum(end <= length for end in ends)))


def cell(value: object, column_type: Any) -> str:
    """Format a value of a column, which may be text that the database made of it."""
    if column_type.is_number:
        return number(float(str(value)))
    return str(value).removesuffix(" 00:00:00") if column_type.is_time else quoted(value, _LABEL_LENGTH)


def _span(values: Iterable[float]) -> str:
    """Format the range and the median of numbers, or the one value."""
    ordered = sorted(values)
    low, high = number(ordered[0]), number(ordered[-1])
    middle = number(ordered[len(ordered) // 2])
    return low if ordered[0] == ordered[-1] else f"{low} to {high} (median {middle})"


def _ranked(values: Iterable[str]) -> str:
    """Join different values, most frequent first."""
    counts = Counter(values)
    return names(sorted(counts, key=lambda value: (-counts[value], value)), _KINDS_SHOWN)


def _phrases(text: str) -> str:
    """Join the lines of a block of a template by commas, empty ones left out."""
    return ", ".join(stripped for each in text.split("\n") if (stripped := each.strip()))


_TEMPLATES = Templates(
    "comind.profile",
    cell=cell,
    fitting=_fitting,
    line=line,
    names=names,
    number=number,
    phrases=_phrases,
    quoted=quoted,
    ranked=_ranked,
    share=share,
    size=file_size,
    span=_span,
    thousands="{:,}".format,
    time=time,
    title=title,
)
