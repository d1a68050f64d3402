"""Format a report as Markdown, or as text for a terminal."""

import re
from collections.abc import Callable, Iterable, Sequence

from comind.domain.value import one_line
from comind.reporting.sections import ReportList, ReportPart, ReportSection, ReportTable
from comind.reporting.text_table import padded

_TEXT_LENGTH = 300
_ESCAPED = re.compile(r"([\\|<>\[\]`*#!])")


def markdown_report(title: str, sections: Iterable[ReportSection]) -> str:
    """Return the report; texts are truncated to 300 characters a cell or line, and escaped."""
    return _report(title, sections, _escape)


def text_report(title: str, sections: Iterable[ReportSection]) -> str:
    """Return the report for a terminal, in the same form; texts are truncated and not escaped."""
    return _report(title, sections, _shorten)


def _report(title: str, sections: Iterable[ReportSection], shown: Callable[[str], str]) -> str:
    blocks = [f"# {shown(title)}"]
    for section in sections:
        if section.title:
            blocks.append(f"## {shown(section.title)}")
        blocks += [_part(part, shown) for part in section.parts]
    return "\n\n".join(blocks) + "\n"


def _part(part: ReportPart, shown: Callable[[str], str]) -> str:
    match part:
        case ReportTable():
            rows = [[shown(cell) for cell in row] for row in (part.header, *part.rows)]
            return _table(rows, part.left)
        case ReportList(items=items):
            return "\n".join(f"- {shown(item)}" for item in items)
        case _:
            return "\n".join(map(shown, part.splitlines()))


def _table(rows: Sequence[Sequence[str]], left: int) -> str:
    """Return a Markdown table, padded; columns of numbers are aligned to the right."""
    header, *others = padded(rows, numbers=len(rows[0]) - left, least=3)
    rule = ["-" * len(c) if i < left else "-" * (len(c) - 1) + ":" for i, c in enumerate(header)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *others))


def _shorten(text: str) -> str:
    """Return text as one line, without control characters."""
    return one_line(text, _TEXT_LENGTH)


def _escape(text: str) -> str:
    """Return text as one line that Markdown shows as it is."""
    return _ESCAPED.sub(r"\\\1", _shorten(text))
