"""Grade the campaigns of a bench on the true answers, and write results, tables and figures."""

import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from comind.app.bench_runs import GradedCurve, run_result
from comind.app.benches import Bench, BenchCell
from comind.app.best_notebooks import KNOWLEDGE, rank_best_notebooks
from comind.app.paths import write_page_file
from comind.app.reporting import CampaignGrader
from comind.bench.figures import write_figures
from comind.bench.report_sections import report_sections
from comind.bench.report_tables import runs_csv, statistics_json
from comind.bench.results import (
    BenchResults,
    Conditions,
    RunResult,
    dump_results,
    load_results,
)
from comind.bench.statistics import BenchStatistics, compute_statistics
from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.reports.lint_score import LintScores
from comind.community.statistics import community_statistics
from comind.competitions.competition_folder import load_competition
from comind.domain.community import CommunityStatistics
from comind.domain.environment import Environment
from comind.errors import CommunityError, CompetitionError, UsageError
from comind.grading.benchmarks import known_competition
from comind.grading.past_competition import leaderboard_of
from comind.knowledge.knowledge_base import NO_KNOWLEDGE
from comind.reporting.markdown import markdown_report
from comind.reporting.page import ReportFigure, report_page
from comind.system.files import write_atomically
from comind.system.plurals import quantity

RESULTS = "results.json"
"""File with the results of a bench, in its folder."""

_GIB = 1 << 30
_BASES = ("knowledge", "cards")
"""Parameters of agents that name a knowledge base."""


class BenchGrader:
    """Grades the cells of a bench: an ended one at once, while others run, each once."""

    def __init__(self, bench: Bench) -> None:
        """Prepare; nothing is read yet."""
        self._grader = CampaignGrader(Path(bench.plan.data) if bench.plan.data else None)
        self._ended = dict[str, GradedCurve]()

    def curve(self, cell: BenchCell) -> GradedCurve | None:
        """Return the graded submissions of a cell's campaign; None if it was not opened.

        Raises:
            LogError: its log was changed.
        """
        found = self._ended.get(cell.spec.id)
        if found is None and cell.opened:
            found = GradedCurve(cell.folder, self._grader)
            if found.state.ended is not None:
                self._ended[cell.spec.id] = found
        return found


def read_results(
    bench: Bench, failed: Mapping[str, str], grader: BenchGrader | None = None
) -> BenchResults:
    """Grade all cells that `grader` has not graded; `failed` has by campaign why it did not end.

    Reasons of earlier runs of the bench are kept for campaigns that have not ended since.

    Raises:
        LogError: a log was changed.
    """
    reasons = {**_known_failures(bench.folder), **failed}
    grader, lint = grader or BenchGrader(bench), LintScores(bench.folder / "pylint.json")
    runs, states = dict[str, RunResult](), list[CampaignState]()
    for cell in sorted(bench.cells, key=lambda each: each.spec.competition):
        curve = grader.curve(cell)
        runs[cell.spec.id] = run_result(cell, curve, reasons.get(cell.spec.id, ""), lint)
        states += [curve.state] if curve is not None else []
    return BenchResults(
        name=bench.plan.name,
        arms=bench.plan.all_arms,
        competitions=tuple(dict.fromkeys(cell.spec.competition for cell in bench.cells)),
        seeds=bench.plan.seeds,
        runs=(*(runs[cell.spec.id] for cell in bench.cells), *rank_best_notebooks(bench)),
        leaderboards=_leaderboards(states),
        communities=_communities(bench),
        conditions=_conditions(bench, states),
    )


def _leaderboards(states: Iterable[CampaignState]) -> dict[str, tuple[float, ...]]:
    """Return the quantiles of each competition's leaderboard, where scores can be ranked on one."""
    found = dict[str, tuple[float, ...]]()
    for state in states:
        if state.split is not None and state.spec.competition not in found:
            with suppress(CompetitionError):
                competition = load_competition(Path(state.spec.competition_folder))
                board, _ = leaderboard_of(competition, maximize=state.split.maximize)
                if board is not None:
                    found[competition.id] = board.quantiles()
    return found


def _communities(bench: Bench) -> dict[str, CommunityStatistics]:
    """Return the statistics of each competition's community, as far as it is still there."""
    found = dict[str, CommunityStatistics]()
    for spec in (cell.spec for cell in bench.cells):
        if spec.community != NONE and spec.competition not in found:
            with suppress(CommunityError):
                folder = Path(spec.community)
                found[spec.competition] = community_statistics(folder, spec.competition, spec.cutoff)
    return found


def write_results(bench: Bench, results: BenchResults) -> None:
    """Write results, statistics, report and figures into the bench's folder."""
    bench.folder.mkdir(parents=True, exist_ok=True)
    statistics = compute_statistics(results)
    figures = write_figures(statistics, bench.folder / "figures")
    for name, text in {
        RESULTS: dump_results(results),
        "results.csv": runs_csv(results),
        "statistics.json": statistics_json(results, statistics),
        "report.md": markdown_report(_title(results), report_sections(results, statistics)),
        "report.html": bench_page(results, statistics, figures),
    }.items():
        write_atomically(bench.folder / name, text)


def bench_page(results: BenchResults, statistics: BenchStatistics, figures: Iterable[Path] = ()) -> str:
    """Return the bench as an HTML page, with those of the figures that are SVG files."""
    shown = [
        ReportFigure(path.stem.replace("-", " ").capitalize(), path.read_bytes())
        for path in figures
        if path.suffix == ".svg"
    ]
    sections = report_sections(results, statistics)
    return report_page(_title(results), sections, shown, figures_after=2)


def _title(results: BenchResults) -> str:
    return f"Bench {results.name}"


def load_bench(folder: Path) -> BenchResults:
    """Read the results of the bench in `folder`.

    Raises:
        UsageError: they are not there, or are invalid.
    """
    source = folder / RESULTS
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{source}: cannot be read ({error})") from None
    return load_results(text, str(source))


def write_bench_page(folder: Path, file: Path) -> None:
    """Write the HTML page of the bench in `folder`, from its `results.json`.

    Raises:
        UsageError: the results cannot be read, or the file cannot be written.
    """
    results = load_bench(folder)
    statistics = compute_statistics(results)
    with tempfile.TemporaryDirectory(prefix="comind-figures-") as scratch:
        page = bench_page(results, statistics, write_figures(statistics, Path(scratch)))
    write_page_file(file, page)


def _known_failures(folder: Path) -> dict[str, str]:
    """Return why campaigns failed in earlier runs of the bench, as far as results are readable."""
    with suppress(UsageError):
        return {run.campaign: run.reason for run in load_bench(folder).runs if run.status == "failed"}
    return {}


def _conditions(bench: Bench, states: list[CampaignState]) -> Conditions:
    """Return the conditions that the campaigns recorded; several of a kind are all named."""
    environments = [each for state in states for each in state.environments]
    specs = [cell.spec for cell in bench.cells]
    known = {name: known_competition(name) for name in sorted({each.competition for each in specs})}
    return Conditions(
        test_feedback=_joined(each.test_feedback for each in specs),
        network=_joined(_network(each) for each in environments),
        knowledge={cell.cell.arm: _knowledge(cell.spec) for cell in bench.cells}
        | ({bench.plan.best_notebook: KNOWLEDGE} if bench.plan.best_notebook else {}),
        hardware=_joined(_hardware(each) for each in environments),
        model=_joined(each.model for each in specs),
        budget=_joined(_budget(each) for each in specs),
        seeds="of the agents; the split is the same for all",
        revision=_joined(
            each.revision[:12] + (" with changes" if each.diff_sha256 else "") for each in environments
        ),
        known_leaks={name: tuple(each.issues) for name, each in known.items() if each and each.issues},
        reference=bench.plan.compared_with,
    )


def _joined(texts: Any) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text)) or "not recorded"


def _network(environment: Environment) -> str:
    return "open: no sandbox" if environment.sandbox == "process" else f"none ({environment.sandbox})"


def _knowledge(spec: CampaignSpec) -> str:
    """Return what an arm could read: the community, and bases that its agent's parameters name."""
    named = (spec.parameters.get(name) for name in _BASES)
    bases = [f"knowledge base {each}" for each in named if each not in (None, NO_KNOWLEDGE)]
    community = spec.community != NONE
    read = [f"public notebooks and discussions {spec.visible_until()}"] if community else []
    return ", ".join([*read, *bases]) or "none of others' work"


def _hardware(environment: Environment) -> str:
    machine = environment.machine
    gpus = f", {', '.join(machine.gpus)}" if machine.gpus else ", no GPU"
    memory = f", {machine.memory_bytes / _GIB:.0f} GiB" if machine.memory_bytes else ""
    return f"{machine.cpu or 'unknown CPU'}, {machine.cores} cores{memory}{gpus}"


def _budget(spec: CampaignSpec) -> str:
    budget = spec.budget
    parts = [
        quantity(budget.seconds / 60, "minute") if budget.seconds else "no time limit",
        f"${budget.usd:g}" if budget.usd is not None else "",
        f"{budget.tokens:,} tokens" if budget.tokens is not None else "",
        quantity(budget.evaluations, "evaluation") if budget.evaluations is not None else "",
        f"{quantity(spec.coders, 'coder')} of {quantity(spec.steps, 'step')}",
        f"{spec.cores} cores" if spec.cores is not None else "",
        f"{spec.iterations} rounds" if spec.iterations is not None else "",
    ]
    return ", ".join(filter(None, parts))
