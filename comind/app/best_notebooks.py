"""Rank the best public notebook of each competition of a bench: an arm that runs nothing."""

from collections.abc import Iterator
from pathlib import Path

from comind.app.bench_runs import benchmark_fields, graded_fields
from comind.app.benches import Bench
from comind.bench.results import RunResult, ScorePoint
from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.community.access import open_community
from comind.community.asof import as_of
from comind.competitions.competition_folder import load_competition
from comind.domain.community import Notebook
from comind.grading.benchmarks import find_prepared
from comind.grading.past_competition import PastGrade, grade_published

KNOWLEDGE = "the best score that a public notebook has, ranked on the public leaderboard; nothing is run"


def rank_best_notebooks(bench: Bench) -> Iterator[RunResult]:
    """Yield the results of the arm `best_notebook`: one per competition and seed, equal for all seeds.

    The community and its time are those of the first arm that reads one. A score is what Kaggle or the
    community's file states for a notebook; it is not verified.
    """
    arm = bench.plan.best_notebook
    if arm is None:
        return
    data = Path(bench.plan.data) if bench.plan.data else None
    found = dict[str, RunResult]()
    for cell in bench.cells:
        spec = cell.spec
        if spec.competition not in found:
            found[spec.competition] = _ranked(arm, bench, spec.competition, data)
        if cell.cell.arm == next(iter(bench.plan.arms)):
            yield found[spec.competition].model_copy(update={"seed": cell.cell.seed})


def _ranked(arm: str, bench: Bench, competition: str, data: Path | None) -> RunResult:
    """Return the result of the best notebook of one competition; missing if none has a score."""
    specs = [cell.spec for cell in bench.cells if cell.spec.competition == competition]
    reading = next((spec for spec in specs if spec.community != NONE), None)
    named = {"arm": arm, "competition": competition, "seed": 0, **benchmark_fields(competition)}
    if reading is None:
        reason = "no arm reads a community"
        return RunResult(**named, status="missing", reason=reason, valid=False, maximize=True)
    prepared = find_prepared(data, competition) if data else None
    loaded = load_competition(Path(reading.competition_folder))
    grades = [
        (prepared.rank(score) if prepared else grade_published(loaded, score), notebook)
        for notebook in _notebooks(reading)
        if (score := notebook.public_score) is not None
    ]
    if not grades:
        reason = "no public notebook has a score"
        return RunResult(**named, status="missing", reason=reason, valid=False, maximize=True)
    grade, notebook = max(grades, key=lambda each: _goodness(each[0]))
    assert grade.score is not None
    start = ScorePoint(seconds=0, usd=0, validation_score=grade.score, win_rate=grade.win_rate)
    return RunResult(
        **named, status="ended", notebook=notebook.ref, **graded_fields(grade), curve=(start,)
    )


def _notebooks(spec: CampaignSpec) -> tuple[Notebook, ...]:
    """Return all notebooks that the campaign's community has as of its time."""
    items = open_community(Path(spec.community)).items(spec.competition, spec.cutoff)
    return as_of(items, spec.cutoff).notebooks


def _goodness(grade: PastGrade) -> float:
    assert grade.score is not None
    return grade.score if grade.maximize else -grade.score
