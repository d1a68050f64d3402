"""Arrange the statistics of a bench as sections of tables and notes, for any format of a report."""

from collections.abc import Sequence

from comind.bench.paired_differences import PairedDifference
from comind.bench.paper_tables import (
    METRICS,
    BestOf,
    MeanDeviation,
    ProgramUse,
    TimeToRival,
    TokenUse,
)
from comind.bench.results import BenchResults
from comind.bench.statistics import ArmSummary, BenchStatistics
from comind.grading.grading_report import SeedMean
from comind.reporting.sections import ReportSection, ReportTable

_NONE = "-"
_HOUR = 3600


def report_sections(results: BenchResults, statistics: BenchStatistics) -> list[ReportSection]:
    """Return the sections of a report; the first one, without a title, describes the bench.

    Means over several seeds are written as `53.1 ± 2.4`, with their standard error; a mean of one seed
    has none.
    """
    return [
        ReportSection("", [_scope(results)]),
        ReportSection("Results", [_headline(results, statistics.summaries)]),
        ReportSection(
            f"Differences to {results.conditions.reference}", _differences(statistics.differences)
        ),
        *([_normalised(results, statistics)] if statistics.normalised else []),
        ReportSection("Win rate over the course of campaigns", [_areas(statistics)]),
        ReportSection("By kind of data", [_subsets("kind", statistics.by_category)]),
        ReportSection("By complexity", [_subsets("complexity", statistics.by_complexity)]),
        ReportSection("Tokens and cost per competition", [_costs(statistics)]),
        ReportSection("Tokens read, cached and written", _tokens(statistics.papers.tokens)),
        ReportSection("Best of several runs", [_best_of(statistics.papers.best_of)]),
        ReportSection(
            f"Until the final win rate of {results.conditions.reference} is reached",
            _time_to_rival(statistics.papers.time_to_rival),
        ),
        ReportSection("Programs by kind of data", [_programs(statistics.papers.programs)]),
        ReportSection("Validation scores against true answers", _shrinkage(statistics)),
        ReportSection("By competition", [_competitions(statistics)]),
        *([ReportSection("Communities", _communities(results))] if results.communities else []),
        ReportSection("Conditions", [_conditions(results)]),
        ReportSection("Runs without a valid submission", [_failures(results)]),
    ]


def _scope(results: BenchResults) -> str:
    """Describe the size of the bench, and how runs without a result count."""
    planned, missing = len(results.cells), len(results.missing)
    unranked = len(set(results.competitions) - results.with_leaderboard)
    arms, competitions, seeds = map(len, (results.arms, results.competitions, results.seeds))
    size = f"{arms} arms x {competitions} competitions x {seeds} seeds"
    lines = [
        f"{size}: {planned - missing} of {planned} runs, {missing} missing.",
        "Percentages are means over competitions within a seed, then over seeds ± their standard error.",
        "Invalid and failed runs count as 0; missing ones are left out.",
        "Results are those of the agents' own choices, by validation.",
        "The column with platform has the win rate of what was delivered, after folds, blend and refit.",
    ]
    if unranked:
        lines.append(
            f"Competitions without a leaderboard, which do not count in the win rate: {unranked}."
        )
    return "\n".join(lines)


def _headline(results: BenchResults, summaries: Sequence[ArmSummary]) -> ReportTable:
    header = ["arm", *_SHARES, "with platform", "seeds", "runs", "invalid", "failed", "missing"]
    rows = [
        [
            each.arm + (" (reference)" if each.arm == results.conditions.reference else ""),
            *_shares(each),
            _mean(each.with_platform, each.seeds),
            *map(str, (each.seeds, each.runs, each.invalid, each.failed, each.missing)),
        ]
        for each in summaries
    ]
    return ReportTable(header, rows)


_SHARES = ("win rate", "any medal", "gold", "above median", "valid")


def _shares(summary: ArmSummary) -> list[str]:
    """Return the cells of a summary's percentages, in the order of `_SHARES`."""
    shares = (summary.win_rate, summary.any_medal, summary.gold, summary.above_median, summary.valid)
    return [_mean(share, summary.seeds) for share in shares]


def _differences(differences: Sequence[PairedDifference]) -> list[ReportTable | str]:
    """Return the table of paired differences, with wins, ties and losses."""
    if not differences:
        return ["There is no other arm."]
    header = ["arm", "difference", "95 % interval", "draws above 0", "competitions", "pairs"]
    header += ["missing pairs", "wins/ties/losses", "without leaderboard"]
    rows = []
    for each in differences:
        between = _NONE
        if each.interval is not None:
            between = f"{each.interval.low:+.1f} to {each.interval.high:+.1f}"
        rows.append(
            [
                each.arm,
                _NONE if each.difference is None else f"{each.difference:+.1f}",
                between,
                _NONE if each.above_zero is None else f"{100 * each.above_zero:.1f} %",
                *map(str, (each.competitions, each.pairs, each.missing_pairs)),
                str(each.all_competitions),
                str(each.without_leaderboard),
            ]
        )
    note = (
        "Differences in win rate are in percentage points, over pairs of the same competition and seed; "
        "the interval is that of a bootstrap over competitions and seeds.\n"
        "Wins, ties and losses compare the scores of these pairs, also where there is no leaderboard."
    )
    return [ReportTable(header, rows), note]


def _normalised(results: BenchResults, statistics: BenchStatistics) -> ReportSection:
    """Return the scores on competitions of programs: a row an arm, a column a competition."""
    found = statistics.normalised
    names = [name for name in results.competitions if any(name in each.by_competition for each in found)]
    header = ["arm", *names, "mean", f"to {results.conditions.reference}", "95 % interval"]
    rows = []
    for each in found:
        between = _NONE if each.interval is None else _between(each.interval.low, each.interval.high)
        rows.append(
            [
                each.arm,
                *(_number(each.by_competition.get(name), ".3f") for name in names),
                f"{each.mean:.3f}",
                _number(each.difference, "+.3f"),
                between,
            ]
        )
    note = (
        "Scores on the test instances, about 1 for solutions as good as the references; 0 for runs "
        "without a valid program.\nDifferences are over pairs of the same competition and seed; the "
        "interval is that of a bootstrap over competitions and seeds."
    )
    return ReportSection("Normalised scores of programs", [ReportTable(header, rows), note])


def _between(low: float, high: float) -> str:
    return f"{low:+.3f} to {high:+.3f}"


def _areas(statistics: BenchStatistics) -> ReportTable:
    seeds = {each.arm: each.seeds for each in statistics.summaries}
    over_time = {curve.arm: curve.area for curve in statistics.over_time}
    over_cost = {curve.arm: curve.area for curve in statistics.over_cost}
    over_tokens = {curve.arm: curve.area for curve in statistics.over_tokens}
    header = ["arm", "mean over time", "mean over cost", "mean over tokens"]
    rows = [
        [arm, *(_mean(areas.get(arm), count) for areas in (over_time, over_cost, over_tokens))]
        for arm, count in seeds.items()
    ]
    return ReportTable(header, rows)


def _subsets(what: str, summaries: Sequence[ArmSummary]) -> ReportTable:
    header = [what, "arm", *_SHARES, "competitions", "runs", "missing"]
    rows = [
        [
            each.subset,
            each.arm,
            *_shares(each),
            *map(str, (each.competitions, each.runs, each.missing)),
        ]
        for each in summaries
    ]
    return ReportTable(header, rows, left=2)


def _costs(statistics: BenchStatistics) -> ReportTable:
    header = ["arm", "US$", "hours", "prompt tokens", "completion tokens", "attempts"]
    header += ["valid attempts", "total US$", "total tokens"]
    rows = []
    for each in statistics.costs:
        hours = SeedMean(
            mean=each.seconds.mean / _HOUR, standard_error=each.seconds.standard_error / _HOUR
        )
        rows.append(
            [
                each.arm,
                _mean(each.usd, each.seeds, ".2f"),
                _mean(hours, each.seeds, ".2f"),
                _mean(each.prompt_tokens, each.seeds, ",.0f"),
                _mean(each.completion_tokens, each.seeds, ",.0f"),
                _mean(each.attempts, each.seeds),
                _mean(each.valid_attempts, each.seeds),
                f"{each.total_usd:,.2f}",
                f"{each.total_tokens:,}",
            ]
        )
    return ReportTable(header, rows)


def _tokens(found: Sequence[TokenUse]) -> list[ReportTable | str]:
    header = ["arm", "uncached", "cached", "written", "US$", "competitions"]
    rows = [
        [
            each.arm,
            *(_deviation(value, ",.0f") for value in (each.uncached, each.cached, each.written)),
            _deviation(each.usd, ",.2f"),
            str(each.competitions),
        ]
        for each in found
    ]
    return [ReportTable(header, rows), "Means over competitions ± their standard deviation."]


def _deviation(value: MeanDeviation, form: str) -> str:
    return f"{format(value.mean, form)} ± {format(value.deviation, form)}"


def _best_of(found: Sequence[BestOf]) -> ReportTable:
    rows = [[each.arm, f"{each.mean:.1f}", f"{each.best:.1f}", str(each.runs)] for each in found]
    return ReportTable(["arm", "avg@k", "best@k", "k"], rows)


def _time_to_rival(found: Sequence[TimeToRival]) -> list[ReportTable | str]:
    header = ["arm", "reached", "hours", "tokens", "the reference's hours", "its tokens"]
    rows = [
        [
            each.arm,
            f"{each.reached} of {each.pairs}",
            _number(each.hours, ".2f"),
            _number(each.tokens, ",.0f"),
            _number(each.rival_hours, ".2f"),
            _number(each.rival_tokens, ",.0f"),
        ]
        for each in found
    ]
    return [ReportTable(header, rows), "Medians over the pairs in which it was reached."]


def _programs(found: Sequence[ProgramUse]) -> ReportTable:
    header = ["kind", "arm", *(name.replace("_", " ") for name in METRICS), "runs"]
    rows = [
        [
            each.category,
            each.arm,
            *(_number(each.metrics[name], ",.1f") for name in METRICS),
            str(each.runs),
        ]
        for each in found
    ]
    return ReportTable(header, rows, left=2)


def _shrinkage(statistics: BenchStatistics) -> list[ReportTable | str]:
    """Return shrinkage by arm, and rank correlations by competition."""
    found = statistics.shrinkage
    header = ["arm", "runs", "validation better", "median shrinkage"]
    arms = [
        [
            each.arm,
            str(each.runs),
            f"{100 * each.validation_better / each.runs:.1f} %" if each.runs else _NONE,
            _number(each.median_standard, "+.2f"),
        ]
        for each in found.arms
    ]
    ranks = [
        [each.competition, str(each.runs), _number(each.correlation, "+.2f")]
        for each in found.competitions
    ]
    ranks.append(["mean", str(len(found.runs)), _number(found.mean_correlation, "+.2f")])
    note = (
        "Shrinkage is validation score minus score on the true answers, positive if validation was "
        "better, in standard deviations of the competition's scores.\n"
        f"Runs that lack one of the two scores: {found.left_out}."
    )
    agreement = ReportTable(["competition", "runs", "rank correlation"], ranks)
    return [ReportTable(header, arms), note, agreement]


def _competitions(statistics: BenchStatistics) -> ReportTable:
    header = ["competition", "arm", "score", "win rate", "medals", "valid", "runs", "wins/ties/losses"]
    outcomes = {each.arm: each.by_competition for each in statistics.differences}
    rows = [
        [
            each.competition,
            each.arm,
            _score(each.score, each.valid),
            _mean(each.win_rate, each.runs),
            *map(str, (each.medals, each.valid, each.runs)),
            str(outcomes[each.arm][each.competition]) if each.arm in outcomes else _NONE,
        ]
        for each in statistics.by_competition
    ]
    return ReportTable(header, rows, left=2)


def _communities(results: BenchResults) -> list[ReportTable | str]:
    header = ["competition", "notebooks", "discussions", "datasets", "lines", "comments"]
    header += ["no votes", "1 to 9", "10 to 99", "more"]
    rows = [
        [
            name,
            *map(str, (each.notebooks, each.discussions, each.datasets)),
            *(_number(mean, ".2f") for mean in (each.lines, each.comments)),
            *map(str, each.votes),
        ]
        for name, each in results.communities.items()
    ]
    note = "Lines are means over notebooks, comments over discussions; the last four count notebooks."
    return [ReportTable(header, rows), note]


def _conditions(results: BenchResults) -> ReportTable:
    conditions = results.conditions
    varied, leaks = conditions.seeds and f"({conditions.seeds})", conditions.known_leaks.items()
    rows = [
        ["feedback from true answers", conditions.test_feedback],
        ["network of agents' code", conditions.network],
        *([f"knowledge of {arm}", conditions.knowledge.get(arm, "")] for arm in results.arms),
        ["model", conditions.model],
        ["hardware", conditions.hardware],
        ["revision of CoMind", conditions.revision],
        ["budget of a campaign", conditions.budget],
        ["seeds", f"{', '.join(map(str, results.seeds))} {varied}"],
        ["reference arm", conditions.reference],
        *([f"known leaks of {name}", "; ".join(found)] for name, found in leaks),
    ]
    cells = [[name, text or "not stated"] for name, text in rows]
    return ReportTable(["condition", "value"], cells, left=2)


def _failures(results: BenchResults) -> ReportTable | str:
    """Return the runs that failed or are invalid, and the missing ones, with their reasons."""
    recorded = {run.cell: run for run in results.runs}
    rows = []
    for cell in results.missing:
        run = recorded.get(cell)
        reason = run.reason if run is not None else ""
        rows.append((cell, run.campaign if run is not None else "", "missing", reason or "no run"))
    for run in results.ordered_runs():
        if not run.valid or run.status == "failed":
            status = "invalid" if run.status == "ended" else run.status
            rows.append((run.cell, run.campaign, status, run.reason or "not stated"))
    if not rows:
        return "None."
    cells = [[*map(str, cell), campaign, status, reason] for cell, campaign, status, reason in rows]
    known = [[text or _NONE for text in row] for row in cells]
    return ReportTable(["arm", "competition", "seed", "campaign", "status", "reason"], known, left=6)


def _mean(value: SeedMean | None, count: int, form: str = ".1f") -> str:
    """Format a mean over `count` values, with its standard error if there are several."""
    if value is None:
        return _NONE
    mean = format(value.mean, form)
    return f"{mean} ± {format(value.standard_error, form)}" if count > 1 else mean


def _score(value: SeedMean | None, count: int) -> str:
    """Format a score; its standard error has two digits, since metrics have all magnitudes."""
    if value is None:
        return _NONE
    return f"{value.mean:.5g} ± {value.standard_error:.2g}" if count > 1 else f"{value.mean:.5g}"


def _number(value: float | None, form: str) -> str:
    return _NONE if value is None else format(value, form)
