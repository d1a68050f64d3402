"""Grade campaigns on the true answers: scores, ranks, medals, means over seeds; or write a page."""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from comind.app.bench_results import RESULTS, write_bench_page
from comind.app.reporting import campaigns_in, report_on, write_page
from comind.cli.command import CommandResult
from comind.errors import UsageError
from comind.grading.benchmarks import find_prepared
from comind.grading.grading_report import (
    CompetitionReport,
    Summary,
    SummaryRow,
    grading_report,
    submission_lines,
    summarise,
)
from comind.reporting.text_table import text_table
from comind.system.plurals import quantity

_HEAD = ("competition", "seed", "metric", "score", "rank", "teams beaten", "medal", "above median")


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    return _page(args) if args.html is not None else _grade(args)


def _page(args: argparse.Namespace) -> CommandResult:
    """Write the HTML page of one campaign or one bench."""
    file, first = Path(args.html), Path(args.runs[0])
    if len(args.runs) == 1 and (first / RESULTS).is_file():
        write_bench_page(first, file)
        return _written("bench", first, file)
    runs = [path for given in args.runs for path in campaigns_in(Path(given))]
    if len(runs) > 1:
        raise UsageError(
            f"--html writes a page about one campaign, not {len(runs)}",
            hint=f"name one, such as {runs[-1]}",
        )
    write_page(runs[0], file)
    return _written("campaign", runs[0], file)


def _written(what: str, folder: Path, file: Path) -> CommandResult:
    """Return the command's result for a page that was written."""
    size = file.stat().st_size
    values = {what: folder.resolve().name, "page": str(file), "bytes": size}
    return CommandResult(values=values, text=f"{file}  {size / 1e6:.1f} MB\n")


def _grade(args: argparse.Namespace) -> CommandResult:
    data = Path(args.data) if args.data else None
    if data is not None and not data.is_dir():
        raise UsageError(f"{data}: there is no such folder")
    target = Path(args.write) if args.write else None
    runs = [path for given in args.runs for path in campaigns_in(Path(given))]
    reports = [report_on(path, data, args.mode) for path in runs]
    if data is not None and not any(find_prepared(data, each.competition_id) for each in reports):
        names = ", ".join(sorted({each.competition_id for each in reports}))
        raise UsageError(f"--data {data}: has no data of {names}")
    summaries = summarise(reports)
    written = [] if target is None else _write(reports, target)
    values = {
        **grading_report(reports),
        "summaries": [summary.model_dump(mode="json") for summary in summaries],
        "written": [str(path) for path in written],
    }
    table = text_table([_HEAD, *map(_row, reports)])
    warned = [f"{each.campaign}: {line}" for each in reports for line in each.validation_warnings]
    warned += [f"{each.campaign}: {_evidence(each)}" for each in reports if each.confidence is not None]
    warned += [f"{each.campaign}: {each.limit_reached}" for each in reports if each.limit_reached]
    text = "\n".join([table, *warned, *map(_summary, summaries), *map(str, written)])
    return CommandResult(values=values, text=text + "\n")


def _evidence(report: CompetitionReport) -> str:
    """Return the confidence of the final pick and its folds, in one line."""
    shrunk = "" if report.shrinkage is None else f", shrinkage {report.shrinkage:.3g}"
    return f"{report.confidence:.0%} sure of its final pick; {quantity(report.folds, 'fold')}{shrunk}"


def _write(reports: list[CompetitionReport], folder: Path) -> list[Path]:
    """Write a grading report and the input of `mlebench grade` for each seed of each group."""
    parts: dict[tuple[str, ...], list[CompetitionReport]] = defaultdict(list)
    for report in reports:
        parts[report.agent, report.model, report.track, f"seed{report.seed:04d}"].append(report)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for names, members in parts.items():
            stem = "_".join("".join(c if c.isalnum() else "-" for c in name) for name in names)
            path = folder / f"{stem}_grading_report.json"
            path.write_text(json.dumps(grading_report(members), indent=2) + "\n", encoding="utf-8")
            lines = folder / f"{stem}_submissions.jsonl"
            text = "".join(json.dumps(line) + "\n" for line in submission_lines(members))
            lines.write_text(text, encoding="utf-8")
            written += [path, lines]
    except OSError as error:
        reason = (error.strerror or "refused").lower()
        raise UsageError(f"{folder}: cannot be written to ({reason})") from None
    return written


def _row(report: CompetitionReport) -> tuple[str, ...]:
    score = f"{report.score:.5g}" if report.score is not None else f"invalid: {report.message[:60]}"
    medal = next((m for m in ("gold", "silver", "bronze") if getattr(report, f"{m}_medal")), "")
    beaten = "" if report.win_rate is None else f"{report.win_rate:.1%}"
    rank = "" if report.rank is None else f"{report.rank} of {report.teams}"
    above = ("yes" if report.above_median else "no") if report.judged else ""
    flag = f" ({', '.join(report.issues)})" if report.issues else ""
    name = f"{report.competition_id}{flag}"
    return name, str(report.seed), report.metric, score, rank, beaten, medal, above


def _summary(summary: Summary) -> str:
    """Return a table of one group, with a line for each category of competitions."""
    head = ("", "competitions", "seeds", "valid", "above median", "win rate", "any medal", "gold")
    lines = [_line(line) for line in summary.lines]
    dropped = f"\nleft out, as not all competitions have so many seeds: {', '.join(summary.dropped)}"
    return f"\n{summary.group}\n{text_table([head, *lines])}{dropped if summary.dropped else ''}"


def _line(line: SummaryRow) -> tuple[str, ...]:
    def percent(share: Any) -> str:
        return "" if share is None else f"{share.mean:.1f} ± {share.standard_error:.1f} %"

    keys = ("valid_submission", "above_median", None, "any_medal", "gold_medal")
    cells = [percent(line.shares[key] if key else line.win_rate) for key in keys]
    return line.name, str(line.competitions), str(line.seeds), *cells
