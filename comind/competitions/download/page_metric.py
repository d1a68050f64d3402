"""Find the metric of a download: named by the user, or by its page without doubt."""

import contextlib
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from comind.competitions.download.findings import Finding, Question
from comind.competitions.download.repeated_ids import SEPARATOR
from comind.competitions.download.table_roles import TableColumns
from comind.domain.numbers import is_number
from comind.errors import CompetitionError
from comind.metrics.metric_names import instance_metric, likely_metrics, match_metric
from comind.metrics.parsing import are_number_lists
from comind.metrics.registry import known_metric
from comind.tables.table_files import cells, header

_LABELS_READ = 100_000
_FUNCTION = 'metric: {function: "score.py:score", maximize: true, needs: texts}'


def find_page_metric(
    public: Path,
    text: str,
    columns: TableColumns,
    given: Mapping[str, Any],
    source: Path,
) -> tuple[dict[str, str], Finding]:
    """Return the metric as in competition.yaml, empty where it is open, and what was found.

    A leaderboard among the files of the download shows whether lower scores are better, and which are
    possible.
    """
    if named := given.get("metric"):
        name = named.get("function") if isinstance(named, dict) else named
        return {}, Finding(topic="metric", text=f"{name} (competition.yaml)")
    match = match_metric("", text, columns.target_columns, _leaderboard_scores(source))
    targets = [name for name in columns.target_columns if name in columns.label_columns]
    labels = different_cells(public / "train.csv", targets or columns.label_columns)
    if (metric := match.metric) is not None:
        reason = match.reason
        instances = instance_metric(metric)
        if instances is not None and any(SEPARATOR in cell for cell in labels):
            metric, reason = instances, f"{reason}; train.csv has several masks an id"
        quoted = f': "{match.sentence}"' if match.sentence else ""
        return {"metric": metric}, Finding(topic="metric", text=f"{metric} ({reason}{quoted})")
    why = match.reason if text else "no description is among the files"
    why += f': "{match.sentence}"' if match.sentence else ""
    predicted = different_cells(public / "sample_submission.csv", columns.target_columns)
    likely = likely_metrics(why, labels - {""}, predicted)
    asked = Question(key="metric", text="metric", choices=likely)
    line = _FUNCTION if are_number_lists(labels) else f"metric: {asked.choices[0]}"
    text = f"{why}; add a line such as `{line}`"
    return {}, Finding(topic="metric", text=text, question=asked)


def may_be_blank(metric: object, public: Path, columns: TableColumns) -> bool:
    """Return whether a blank label of train.csv is a value, as of a picture without masks."""
    if isinstance(metric, str):
        with contextlib.suppress(CompetitionError):
            return bool(known_metric(metric).answer_kind.may_be_blank)
    if metric is not None:
        return isinstance(metric, dict) and metric.get("needs") == "texts"
    labels = different_cells(public / "train.csv", columns.label_columns) - {""}
    return not all(map(is_number, labels))


def different_cells(path: Path, columns: Sequence[str]) -> set[str]:
    """Return the different cells of columns in the first rows of a table."""
    return {cell for row in islice(cells(path, columns), _LABELS_READ) for cell in row}


def _leaderboard_scores(source: Path) -> list[float]:
    """Return the scores of a leaderboard among the files, best first; none if there is none.

    It is in `leaderboard/`, or called as Kaggle calls it and has ranks.
    """
    own = [source / "leaderboard" / f"{name}.csv" for name in ("private", "public")]
    for path in (*own, *sorted(source.glob("*leaderboard*.csv"))):
        names = {name.lower(): name for name in header(path)} if path.is_file() else {}
        if "score" in names and (path in own or "rank" in names):
            rank = names.get("rank", names["score"])
            with contextlib.suppress(ValueError):
                rows = [(float(r), float(s)) for r, s in cells(path, [rank, names["score"]])]
                rows = sorted(rows, key=lambda row: row[0]) if "rank" in names else rows
                return [score for _, score in rows]
    return []
