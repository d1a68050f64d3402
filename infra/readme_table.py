"""Print the README's tables of the seven shared competitions from the folders of their campaigns.

    PYTHONPATH=. .venv/bin/python infra/readme_table.py RUN...   (as for `comind report`)

For campaigns with several time budgets a second table has a column for each: one iteration (the profile
`quick`) counts as one minute, others as the minutes of their budget, or as no limit. To produce them,
here with five minutes, one after another on an idle machine:

    for folder in FOLDERS; do comind solve $folder --model offline --minutes 5 --no-prove; done
"""

import math
import sys
from pathlib import Path

from comind.app.reporting import campaigns_in, report_on
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.loop import read_state
from comind.errors import ComindError
from comind.grading.grading_report import CompetitionReport

_NAMES = {
    "titanic": "titanic",
    "house-prices-advanced-regression-techniques": "house prices",
    "bike-sharing-demand": "bike sharing",
    "spooky-author-identification": "spooky authors",
    "leaf-classification": "leaf",
    "covid19-global-forecasting-week-1": "covid-19, week 1",
    "fsdd-spoken-digits": "spoken digits",
}
"""Names in the README, in its order."""

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


def _metric(report: CompetitionReport) -> str:
    metric = report.metric.replace("multiclass-", "").replace("-", " ")
    return f"{metric} {'↓' if report.is_lower_better else '↑'}"


def _row(report: CompetitionReport) -> str:
    cells = (
        _NAMES.get(report.competition_id, report.competition_id),
        _metric(report),
        _with_interval(report.validation_score, report.validation_interval),
        _with_interval(report.score, report.interval),
        _rank(report),
    )
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _place(report: CompetitionReport) -> int:
    names = list(_NAMES)
    return names.index(report.competition_id) if report.competition_id in names else len(names)


def _minutes(run: Path) -> float:
    """Return the time budget of a campaign in minutes; infinite without a limit."""
    state = read_state(CampaignFolder(run))
    if state.spec.iterations == 1:
        return 1
    return math.inf if state.budget.seconds is None else round(state.budget.seconds / 60, 2)


def _length(minutes: float) -> str:
    return "no limit" if math.isinf(minutes) else f"{minutes:g} min"


def _by_length(reports: dict[float, dict[str, CompetitionReport]]) -> list[str]:
    """Return the lines of a table with the validation and true scores for each time budget."""
    lengths = sorted(reports)
    latest = {report.competition_id: report for each in reports.values() for report in each.values()}
    heads = "".join(f" {_length(minutes)} |" for minutes in lengths)
    lines = [f"| competition | metric |{heads}", f"|---|---|{'---|' * len(lengths)}"]
    for report in sorted(latest.values(), key=_place):
        found = [reports[minutes].get(report.competition_id) for minutes in lengths]
        cells = "".join(f" {_scores(each)} |" for each in found)
        metric, name = _metric(report), _NAMES.get(report.competition_id, report.competition_id)
        lines.append(f"| {name} | {metric} |{cells}")
    return lines


def _scores(report: CompetitionReport | None) -> str:
    if report is None or report.validation_score is None:
        return ""
    true = "" if report.score is None else f", true {report.score:.3f}"
    return f"{report.validation_score:.3f}{true}"


def main() -> None:
    """Print the tables, with the last campaign of each competition and time budget."""
    reports: dict[float, dict[str, CompetitionReport]] = {}
    try:
        for run in (run for given in sys.argv[1:] for run in campaigns_in(Path(given))):
            report = report_on(run)
            reports.setdefault(_minutes(run), {})[report.competition_id] = report
    except ComindError as error:
        sys.exit(f"readme_table: {error}")
    shortest = reports[min(reports)] if reports else {}
    rows = [_row(report) for report in sorted(shortest.values(), key=_place)]
    lines = [_HEAD, *rows, *(["", *_by_length(reports)] if len(reports) > 1 else [])]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
