"""Define the parts of a report, for any format; their texts are untrusted, so a format escapes them."""

from collections.abc import Sequence
from typing import NamedTuple


class ReportTable(NamedTuple):
    """A table of texts."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    """Number of columns that are aligned to the left; the others hold numbers."""


class ReportList(NamedTuple):
    """A list of texts, a line each."""

    items: Sequence[str]


ReportPart = ReportTable | ReportList | str
"""A text is a note of one line or several."""


class ReportSection(NamedTuple):
    """A titled part of a report; the first one of a report has no title."""

    title: str
    parts: Sequence[ReportPart]
