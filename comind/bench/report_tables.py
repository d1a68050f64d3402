"""Format a bench's report as Markdown, its runs as CSV, and its statistics as JSON."""

import csv
import io
import json
import re
from collections.abc import Sequence

from comind.bench.report_sections import ReportTable, report_sections
from comind.bench.results import BenchResults, RunResult
from comind.bench.statistics import BenchStatistics
from comind.domain.value import one_line

__all__ = ["markdown_report", "runs_csv", "statistics_json"]

_TEXT_LENGTH = 300
_ESCAPED = re.compile(r"([\\|<>\[\]`])")


def markdown_report(results: BenchResults, statistics: BenchStatistics) -> str:
    """Return the report with all its tables, the conditions of the bench, and the runs that failed."""
    blocks = [f"# Bench {_escape(results.name)}"]
    for section in report_sections(results, statistics):
        if section.title:
            blocks.append(f"## {_escape(section.title)}")
        blocks += [_table(each) if isinstance(each, ReportTable) else each for each in section.parts]
    return "\n\n".join(blocks) + "\n"


def runs_csv(results: BenchResults) -> str:
    """Return one row per run in the order of the plan, with all fields except the curve.

    An empty cell is None, a boolean is `true` or `false`.
    """
    columns = [name for name in RunResult.model_fields if name != "curve"]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    places = {cell: place for place, cell in enumerate(results.cells)}
    for run in sorted(results.runs, key=lambda run: places[run.cell]):
        values = {name: getattr(run, name) for name in columns}
        writer.writerow(
            {name: str(v).lower() if isinstance(v, bool) else v for name, v in values.items()}
        )
    return text.getvalue()


def statistics_json(results: BenchResults, statistics: BenchStatistics) -> str:
    """Return plan, conditions and statistics as JSON; `dump_results` returns the runs."""
    plan = results.model_dump(mode="json", exclude={"runs"})
    missing = [list(cell) for cell in results.missing]
    values = {**plan, "missing": missing, "statistics": statistics.model_dump(mode="json")}
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


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
    """Return text as one line that Markdown shows as it is; reasons may be written by models."""
    return _ESCAPED.sub(r"\\\1", one_line(text, _TEXT_LENGTH))
