"""Format a bench's runs as CSV, and its statistics as JSON."""

import csv
import io
import json

from comind.bench.results import BenchResults, RunResult
from comind.bench.statistics import BenchStatistics

_NESTED = ("curve", "program")


def runs_csv(results: BenchResults) -> str:
    """Return one row per run in the order of the plan, with all fields except curve and program.

    An empty cell is None, a boolean is `true` or `false`.
    """
    fields = RunResult.model_fields.items()
    columns = {field.alias or name: name for name, field in fields if name not in _NESTED}
    text = io.StringIO()
    writer = csv.DictWriter(text, [*columns], lineterminator="\n")
    writer.writeheader()
    places = {cell: place for place, cell in enumerate(results.cells)}
    for run in sorted(results.runs, key=lambda run: places[run.cell]):
        values = {column: getattr(run, name) for column, name in columns.items()}
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
