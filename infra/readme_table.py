"""Print the README's table of the seven shared competitions from the folders of their campaigns.

Usage: PYTHONPATH=. .venv/bin/python infra/readme_table.py RUN...   (as for `comind report`)
"""

import sys
from pathlib import Path

from comind.errors import ComindError
from comind.evaluation.benchmark.reports import CompetitionReport
from flows.reporting import campaigns_in, report_on

_NAMES = {
    "titanic": "titanic",
    "house-prices-advanced-regression-techniques": "house prices",
    "bike-sharing-demand": "bike sharing",
    "spooky-author-identification": "spooky authors",
    "leaf-classification": "leaf",
    "covid19-global-forecasting-week-1": "covid-19, week 1",
    "fsdd-spoken-digits": "spoken digits",
}
"""What the README calls them, in its order."""

_HEAD = """\
| competition | metric | validation, 95 % interval | true score, 95 % interval | rank (of teams beaten) |
|---|---|---|---|---|"""


def _with_interval(score: float | None, interval: tuple[float, float] | None) -> str:
    if score is None or interval is None:
        return "invalid" if score is None else f"{score:.3f}"
    return f"{score:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def _rank(report: CompetitionReport) -> str:
    if report.rank is not None and report.win_rate is not None:
        return f"{report.rank} of {report.teams} ({report.win_rate:.0%})".replace("%", " %")
    return "scored on other rows" if "scored on other rows" in report.message else ""


def _row(report: CompetitionReport) -> str:
    metric = report.metric.replace("multiclass-", "").replace("-", " ")
    cells = (
        _NAMES.get(report.competition_id, report.competition_id),
        f"{metric} {'↓' if report.is_lower_better else '↑'}",
        _with_interval(report.validation_score, report.validation_interval),
        _with_interval(report.score, report.interval),
        _rank(report),
    )
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _place(report: CompetitionReport) -> int:
    names = list(_NAMES)
    return names.index(report.competition_id) if report.competition_id in names else len(names)


def main() -> None:
    """Print the table; the last campaign on a competition counts."""
    try:
        found = [report_on(run) for given in sys.argv[1:] for run in campaigns_in(Path(given))]
    except ComindError as error:
        sys.exit(f"readme_table: {error}")
    latest = {report.competition_id: report for report in found}
    rows = [_row(report) for report in sorted(latest.values(), key=_place)]
    sys.stdout.write("\n".join([_HEAD, *rows]) + "\n")


if __name__ == "__main__":
    main()
