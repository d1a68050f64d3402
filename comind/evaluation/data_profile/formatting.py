"""How facts are written: numbers, shares, sizes, values, lists of names."""

import math
from collections.abc import Sequence
from datetime import datetime

__all__ = ["count", "listed", "moment", "number", "plain", "quoted", "share", "size", "spread"]

_DIGITS = 4
_LARGEST_PLAIN = 1e12
_VALUE_LENGTH = 60
_KILO = 1_000


def count(rows: int) -> str:
    """Write a number of things."""
    return f"{rows:,}"


def number(value: float) -> str:
    """Write a number with four digits; whole numbers whole."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < _LARGEST_PLAIN:
        return str(int(value))
    if abs(value) >= 10 ** (_DIGITS - 1) and abs(value) < _LARGEST_PLAIN:
        return f"{value:.0f}"
    return f"{value:.{_DIGITS}g}"


def spread(low: float, quantiles: Sequence[float], high: float) -> str:
    """Write the least number, the quantiles and the greatest."""
    middle = " ".join(map(number, quantiles))
    return f"{number(low)} | {middle} | {number(high)}"


def share(part: int, whole: int) -> str:
    """Write a share in per cent; 0 and 100 stand for none and all."""
    if part in (0, whole) or not whole:
        return "100 %" if part and whole else "0 %"
    percent = 100 * part / whole
    if percent < 0.1:  # noqa: PLR2004 - the last digit that is told
        return "under 0.1 %"
    if percent > 99.9:  # noqa: PLR2004 - the same
        return "over 99.9 %"
    rounded = f"{percent:.0f}"
    return f"{percent:.1f} %" if percent < 10 or rounded == "100" else f"{rounded} %"  # noqa: PLR2004


def size(count_of_bytes: int) -> str:
    """Write a number of bytes."""
    value = float(count_of_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < _KILO:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"  # noqa: PLR2004
        value /= _KILO
    return f"{value:.1f} TB"


def moment(when: datetime) -> str:
    """Write a time; midnight is a date."""
    text = when.isoformat(sep=" ", timespec="seconds")
    return text.removesuffix(" 00:00:00")


def plain(text: object, length: int = _VALUE_LENGTH) -> str:
    """Write any text on one line, cut where it is long, without characters that cannot be seen."""
    seen = "".join(c if c.isprintable() else " " for c in str(text)[: length * 2])
    words = " ".join(seen.split())
    if len(words) <= length and len(str(text)) <= length * 2:
        return words
    return f"{words[:length]}..."


def quoted(value: object, length: int = _VALUE_LENGTH) -> str:
    """Write a cell on one line; in quotation marks where one cannot see where it ends."""
    text = plain(value, length)
    return text if text and all(c.isalnum() or c in "_-./" for c in text) else f'"{text}"'


def listed(names: Sequence[str], most: int) -> str:
    """Write at most so many names, and how many more there are."""
    text = ", ".join(names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"
