"""Report how a competition is understood, before anything is run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.competitions.data_warnings import data_warnings
from comind.domain.competition import TABLES
from comind.profile.formatting import file_size
from comind.profile.side_files import group_files
from comind.splits.checked_plan import check_competition
from comind.splits.leakage import seal_warnings
from comind.system.plurals import quantity
from comind.tables.table_files import count_rows, header

_SHOWN = 6
_FIRST_CELLS = 1_000  # by which most columns are seen to have several values


def inspect_competition(folder: Path) -> dict[str, Any]:
    """Return tables, columns, metric and split of a competition folder, as JSON values.

    Of the `rows`, those of train, validation and those excluded add up to the labelled ones.

    Raises:
        CompetitionError: the folder is incomplete or inconsistent.
    """
    competition = load_competition(folder)
    plan = check_competition(competition)
    data = plan.data
    return {
        "competition": competition.id,
        "title": competition.title,
        "described": str(competition.folder / "competition.yaml"),
        "metric": competition.metric and data.metric.name,
        "answers": data.metric.answer_kind.value,
        "rows": {
            "labelled": len(data.train),
            "train": len(data.train) - len(plan.rows) - len(plan.excluded),
            "validation": len(plan.rows),
            "excluded": len(plan.excluded),
            "test": len(data.test),
        },
        "ids": list(data.ids),
        "labels": list(data.labels),
        "targets": list(data.targets),
        "inputs": len([name for name in data.inputs if name not in data.ids]),
        "constant": list(_constant_inputs(data)),
        "withheld": [name for name in data.withheld if name not in (*data.labels, *data.train_ids)],
        "files": list(_further_files(competition.public)),
        "split": f"{plan.rule.kind}: {plan.reason}",
        "notes": list(plan.notes),
        "confidence": plan.quality.confidence,
        "warnings": [*plan.quality.warnings, *data_warnings(data), *seal_warnings(plan)],
    }


def _constant_inputs(data: CompetitionData) -> Iterator[str]:
    """Yield the inputs that have one value in all rows of train and test."""
    for name, test in zip(data.inputs, data.test.columns, strict=True):
        columns = data.train[name], data.test[test]
        heads = {cell for column in columns for cell in column.head(_FIRST_CELLS)}
        if len(heads) == 1 and all(column.isin(heads).all() for column in columns):
            yield name


def _further_files(public: Path) -> Iterator[str]:
    """Yield what there is beside the three tables and the description: tables first, then files."""
    groups = group_files(public, (*TABLES, "description.md"))
    for group in sorted(groups, key=lambda group: (not _is_table(group.paths), group.name)):
        if _is_table(group.paths):
            path = public / group.paths[0]
            size = f"{quantity(count_rows(path), 'row')}, {quantity(len(header(path)), 'column')}"
        else:
            size = f"{quantity(len(group.paths), 'file')}, {file_size(group.bytes)}"
        yield f"{group.name} ({size})"


def _is_table(paths: tuple[str, ...]) -> bool:
    return len(paths) == 1 and paths[0].endswith(".csv")


def inspection_text(values: dict[str, Any]) -> str:
    """Return the report as text, a line for each value; long lists are truncated."""
    shown = values | {"rows": _rows_text(values["rows"])}
    lines = [f"{name:<12}{_shown(value)}" for name, value in shown.items() if value not in ([], None)]
    return "\n".join(lines) + "\n"


def _rows_text(rows: dict[str, int]) -> str:
    """Return how many rows there are, and where those with labels go."""
    parts = [f"{rows[name]:,} {name}" for name in ("train", "validation", "excluded") if rows[name]]
    return f"{rows['labelled']:,} labelled: {' + '.join(parts)}; {rows['test']:,} test"


def _shown(value: object) -> str:
    if isinstance(value, list):
        more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
        return ", ".join(map(str, value[:_SHOWN])) + more
    return f"{value:.0%}" if isinstance(value, float) else str(value)
