"""Count how many bits about sealed labels a shown number reveals at most.

docs/security.md derives the constants. A number's unit is between a 25th and a tenth of its standard
error (`comind/domain/metric.py`), and the standard error covers what unknown labels add to the number.
"""

import math

_LEVELS = math.log2(25 * math.sqrt(2 * math.pi * math.e))
"""Most entropy of a rounded number whose standard deviation is 25 units."""
_UNIT = math.log2(3 * 18)
"""A unit is 1, 2 or 5 times one of 18 powers of ten."""
_BOUND = math.log2(20)
"""A bound is less than 3.92 standard errors from the score, in units of at least a fifth of one."""
_ERROR = math.log2(16)
"""A standard error in its own unit is from 10 to 25."""
_CORRELATION = math.log2(21)
"""An entry of a table of errors is one of 21 values."""

PART_BITS = _LEVELS + _UNIT
SCORE_BITS = _LEVELS + _UNIT + 2 * _BOUND
"""Of a score and its interval."""
PAIRED_BITS = _LEVELS + _UNIT + _ERROR + 2
"""Of a paired difference, its standard error, whether it is noise, and which step is the best."""


def grading_bits(number: int, parts: int, *, paired: bool) -> float:
    """Return what the `number`-th grading of a campaign reveals, with so many parts.

    It has one of `number` places in the order of all scores.
    """
    return SCORE_BITS + parts * PART_BITS + paired * PAIRED_BITS + math.log2(max(number, 1))


def table_bits(compared: int) -> float:
    """Return what a table of the correlations of so many submissions' errors reveals."""
    return math.comb(compared, 2) * _CORRELATION
