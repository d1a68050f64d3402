"""Format numbers, shares, sizes, values and lists of names."""

import math
from collections.abc import Sequence
from datetime import datetime

_DIGITS = 4
_LARGEST_PLAIN = 1e12
_VALUE_LENGTH = 60
_KILO = 1_000


def number(value: float) -> str:
    """Format a number with four significant digits; integers in full."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < _LARGEST_PLAIN:
        return str(int(value))
    if abs(value) >= 10 ** (_DIGITS - 1) and abs(value) < _LARGEST_PLAIN:
        return f"{value:.0f}"
    return f"{value:.{_DIGITS}g}"


def interval(low: float, high: float) -> str:
    """Format a range of numbers."""
    return f"{number(low)} to {number(high)}"


def quantiles(low: float, quantiles: Sequence[float], high: float) -> str:
    """Format the minimum, the quantiles and the maximum."""
    middle = " ".join(map(number, quantiles))
    return f"{number(low)} | {middle} | {number(high)}"


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
    text = when.isoformat(sep=" ", timespec="seconds")
    return text.removesuffix(" 00:00:00")


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


def names(names: Sequence[str], most: int) -> str:
    """Join at most `most` names, and count the omitted ones."""
    text = ", ".join(names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"
