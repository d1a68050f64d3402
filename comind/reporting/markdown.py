"""Format a report as Markdown."""

import re
from collections.abc import Iterable, Sequence

from comind.domain.value import one_line
from comind.reporting.sections import ReportList, ReportPart, ReportSection, ReportTable

__all__ = ["markdown_report"]

_TEXT_LENGTH = 300
_ESCAPED = re.compile(r"([\\|<>\[\]`*#!])")


def markdown_report(title: str, sections: Iterable[ReportSection]) -> str:
    """Return the report; texts are truncated to 300 characters a cell or line, and escaped."""
    blocks = [f"# {_escape(title)}"]
    for section in sections:
        if section.title:
            blocks.append(f"## {_escape(section.title)}")
        blocks += map(_part, section.parts)
    return "\n\n".join(blocks) + "\n"


def _part(part: ReportPart) -> str:
    match part:
        case ReportTable():
            return _table(part)
        case ReportList(items=items):
            return "\n".join(f"- {_escape(item)}" for item in items)
        case _:
            return "\n".join(map(_escape, part.splitlines()))


def _table(table: ReportTable) -> str:
    """Return a Markdown table, padded; columns of numbers are aligned to the right."""
    header, *rows = [[_escape(cell) for cell in row] for row in (table.header, *table.rows)]
    left = table.left
    widths = [max(3, *(len(row[i]) for row in (header, *rows))) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join([line(header), line(rule), *map(line, rows)])


def _escape(text: str) -> str:
    """Return text as one line that Markdown shows as it is."""
    return _ESCAPED.sub(r"\\\1", one_line(text, _TEXT_LENGTH))
