"""Grade the campaigns of a bench on the true answers, and write results, tables and figures."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from comind.bench.bench_page import bench_page
from comind.bench.figures import write_figures
from comind.bench.report_tables import markdown_report, runs_csv, statistics_json
from comind.bench.results import (
    BenchResults,
    Conditions,
    RunResult,
    ScorePoint,
    dump_results,
    load_results,
)
from comind.bench.statistics import compute_statistics
from comind.campaign.log.campaign_events import NO_COMMUNITY, CampaignSpec
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CAMPAIGN_LOG, CampaignState
from comind.campaign.log.work_items import Attempt
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.reports.code_metrics import measure
from comind.domain.environment import Environment
from comind.domain.spend import Spend
from comind.errors import CompetitionError, UsageError
from comind.evaluation.benchmark.catalog import benchmark_competitions
from comind.evaluation.past_competition import PastGrade
from comind.eventlog.store import StateTail
from comind.system.files import write_atomically
from flows.project.benches import Bench, BenchCell
from flows.project.reporting import grade_of

__all__ = ["RESULTS", "load_bench", "read_results", "write_bench_page", "write_results"]

RESULTS = "results.json"
"""File with the results of a bench, in its folder."""

_NOT_BEGUN, _NOT_ENDED = "not begun", "not ended"
_GIB = 1 << 30


def read_results(bench: Bench, failed: Mapping[str, str]) -> BenchResults:
    """Grade all cells; `failed` has by campaign why it did not end.

    Reasons of earlier runs of the bench are kept for campaigns that have not ended since.

    Raises:
        LogError: a log was changed.
    """
    reasons = {**_known_failures(bench.folder), **failed}
    data = Path(bench.plan.data) if bench.plan.data else None
    curves = {cell.spec.id: _Curve(cell.folder, data) for cell in bench.cells if cell.opened}
    return BenchResults(
        name=bench.plan.name,
        arms=tuple(bench.plan.arms),
        competitions=tuple(dict.fromkeys(cell.spec.competition for cell in bench.cells)),
        seeds=bench.plan.seeds,
        runs=tuple(
            _run(cell, curves.get(cell.spec.id), reasons.get(cell.spec.id, "")) for cell in bench.cells
        ),
        conditions=_conditions(bench, [each.state for each in curves.values()]),
    )


def write_results(bench: Bench, results: BenchResults) -> None:
    """Write results, statistics, report and figures into the bench's folder."""
    bench.folder.mkdir(parents=True, exist_ok=True)
    statistics = compute_statistics(results)
    figures = write_figures(statistics, bench.folder / "figures")
    for name, text in {
        RESULTS: dump_results(results),
        "results.csv": runs_csv(results),
        "statistics.json": statistics_json(results, statistics),
        "report.md": markdown_report(results, statistics),
        "report.html": bench_page(results, statistics, figures),
    }.items():
        write_atomically(bench.folder / name, text)


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
    try:
        write_atomically(file, page)
    except OSError as error:
        reason = (error.strerror or "refused").lower()
        raise UsageError(f"{file}: cannot be written ({reason})") from None


def _known_failures(folder: Path) -> dict[str, str]:
    """Return why campaigns failed in earlier runs of the bench, as far as results are readable."""
    with suppress(UsageError):
        return {run.campaign: run.reason for run in load_bench(folder).runs if run.status == "failed"}
    return {}


def _run(cell: BenchCell, curve: "_Curve | None", reason: str) -> RunResult:
    """Return the result of a cell.

    A campaign that has not ended counts as failed, without a valid submission, if there is a reason, and
    as missing if it was only not run to its end.
    """
    entry = benchmark_competitions().get(cell.spec.competition)
    kind: dict[str, Any] = {"kind": entry.category, "complexity": entry.complexity} if entry else {}
    named = {
        "arm": cell.cell.arm,
        "competition": cell.spec.competition,
        "seed": cell.cell.seed,
        "campaign": cell.spec.id,
        **kind,
    }
    if curve is None or (curve.state.ended is None and not reason):
        why = reason or (_NOT_BEGUN if curve is None else _NOT_ENDED)
        return RunResult(**named, status="missing", reason=why, valid=False, maximize=True)
    state = curve.state
    ended, grade = state.ended is not None, curve.grade_file(cell.folder.submission)
    if not ended:
        grade = grade.model_copy(update={"valid": False, "message": reason})
    chosen, attempts = state.chosen(), state.works.attempts()
    spend = sum((WORK_LOG.read(log).spend for log in cell.folder.logs()), Spend())
    return RunResult(
        **named,
        status="ended" if ended else "failed",
        reason="" if grade.valid else grade.message,
        **_graded(grade),
        validation_score=chosen.score.value.value if chosen and chosen.score else None,
        seconds=round(state.spend.seconds, 1),
        usd=round(spend.usd, 6),
        prompt_tokens=spend.prompt_tokens,
        completion_tokens=spend.completion_tokens,
        attempts=len(attempts),
        valid_attempts=sum(1 for each in attempts if each.score),
        curve=tuple(curve.points),
    )


def _graded(grade: PastGrade) -> dict[str, Any]:
    """Return the fields of a result that come from its grade; an invalid submission beats no team."""
    judged = grade.thresholds is not None
    return {
        "valid": grade.valid,
        "maximize": grade.maximize,
        "leaderboard_teams": grade.teams,
        "win_rate": _win_rate(grade),
        "score": grade.score if grade.valid else None,
        "medal": grade.medal if grade.valid else None,
        "above_median": (bool(grade.above_median) and grade.valid) if judged else None,
    }


def _win_rate(grade: PastGrade) -> float | None:
    """Return the share of teams that are beaten, 0 for an invalid submission; None without teams."""
    if grade.valid:
        return grade.win_rate
    return None if grade.teams is None else 0.0


class _Curve:
    """The submissions of a campaign that were best by validation, graded on the true answers."""

    def __init__(self, folder: CampaignFolder, data: Path | None) -> None:
        """Read the log, and grade each new best submission and the delivered one."""
        self._folder, self._data = folder, data
        self._tail = StateTail(folder.log, CAMPAIGN_LOG)
        self._graded = dict[str, PastGrade]()
        self.points = list(self._read())

    @property
    def state(self) -> CampaignState:
        """State after what was read."""
        return self._tail.state

    def _read(self) -> Iterator[ScorePoint]:
        known = None
        for record in self._tail.read():
            best = self.state.delivered()
            chosen = (best.id, best.submitted) if best is not None else None
            if best is not None and chosen != known:
                yield self._point(best, record.elapsed)
                known = chosen

    def _point(self, best: Attempt, seconds: float) -> ScorePoint:
        assert best.submitted is not None
        assert best.outcome is not None
        grade = self.grade_file(self._folder.work(best.id).test_submission(best.submitted.step))
        metrics, scored = measure(best.outcome.code), self.state.chosen()
        assert scored is not None  # a refit has no score of its own: its pick has
        assert scored.score is not None
        return ScorePoint(
            seconds=seconds,
            usd=self.state.spend.usd,
            validation_score=scored.score.value.value,
            win_rate=_win_rate(grade),
            code_lines=metrics.source_lines,
            complexity=metrics.cyclomatic_complexity,
        )

    def grade_file(self, submission: Path) -> PastGrade:
        """Grade a file; one that cannot be graded is an invalid submission with the reason."""
        key = str(submission)
        if key not in self._graded:
            try:
                self._graded[key] = grade_of(self.state, submission, self._data)[0]
            except CompetitionError as error:
                split = self.state.split
                self._graded[key] = PastGrade(
                    metric=split.metric if split else "",
                    maximize=split.maximize if split else True,
                    valid=False,
                    message=str(error),
                )
        return self._graded[key]


def _conditions(bench: Bench, states: list[CampaignState]) -> Conditions:
    """Return the conditions that the campaigns recorded; several of a kind are all named."""
    environments = [each for state in states for each in state.environments]
    specs = [cell.spec for cell in bench.cells]
    catalog = benchmark_competitions()
    leaks = {name: catalog[name].issues for name in {each.competition for each in specs} & set(catalog)}
    return Conditions(
        network=_joined(_network(each) for each in environments),
        knowledge={cell.cell.arm: _knowledge(cell.spec) for cell in bench.cells},
        hardware=_joined(_hardware(each) for each in environments),
        model=_joined(each.model for each in specs),
        budget=_joined(_budget(each) for each in specs),
        seeds="of the agents; the split is the same for all",
        revision=_joined(
            each.revision[:12] + (" with changes" if each.diff_sha256 else "") for each in environments
        ),
        known_leaks={name: tuple(issues) for name, issues in sorted(leaks.items()) if issues},
        reference=bench.plan.compared_with,
    )


def _joined(texts: Any) -> str:
    return "; ".join(dict.fromkeys(text for text in texts if text)) or "not recorded"


def _network(environment: Environment) -> str:
    return "open: no sandbox" if environment.sandbox == "process" else f"none ({environment.sandbox})"


def _knowledge(spec: CampaignSpec) -> str:
    if spec.community == NO_COMMUNITY:
        return "none of others' work"
    until = f"as of {spec.as_of:%Y-%m-%d}" if spec.as_of else "of any time"
    return f"public notebooks and discussions {until}"


def _hardware(environment: Environment) -> str:
    machine = environment.machine
    gpus = f", {', '.join(machine.gpus)}" if machine.gpus else ", no GPU"
    memory = f", {machine.memory_bytes / _GIB:.0f} GiB" if machine.memory_bytes else ""
    return f"{machine.cpu or 'unknown CPU'}, {machine.cores} cores{memory}{gpus}"


def _budget(spec: CampaignSpec) -> str:
    budget = spec.budget
    parts = [
        f"{budget.seconds / 60:g} minutes" if budget.seconds else "no time limit",
        f"${budget.usd:g}" if budget.usd is not None else "",
        f"{budget.tokens:,} tokens" if budget.tokens is not None else "",
        f"{spec.coders} coders of {spec.steps} steps",
        f"{spec.iterations} rounds" if spec.iterations is not None else "",
    ]
    return ", ".join(filter(None, parts))
