"""Grade campaigns' submissions on the true answers, as MLE-bench's reports."""

import logging
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from comind.adapters.mlflow.campaign_runs import log_true_score
from comind.app.lineage import provenance_of
from comind.app.paths import write_page_file
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from comind.campaign.reports.campaign_view import CampaignView, read_view
from comind.campaign.reports.page.campaign_page import campaign_page
from comind.competitions.competition_folder import load_competition
from comind.domain.competition import NORMALISED_SCORE
from comind.errors import CampaignError, CompetitionError, OrchestrationError, SubmissionError
from comind.grading.benchmarks import (
    KAGGLE_RULES,
    PreparedCompetition,
    find_prepared,
    known_competition,
)
from comind.grading.grading_report import CompetitionReport
from comind.grading.past_competition import NO_SUBMISSION, PastAnswers, PastGrade
from comind.programs.program_answers import ProgramAnswers, open_answers

_log = logging.getLogger(__name__)
_KEPT = 4  # competitions whose answers stay in memory
_PICK_FIELDS = ("folds", "confidence", "shrinkage")


def campaigns_in(folder: Path) -> list[Path]:
    """Return the folders of campaigns at a path: itself, or all in a project or in its runs/.

    Raises:
        CampaignError: there is none.
    """
    for candidate in ([folder], sorted((folder / "runs").glob("*")), sorted(folder.glob("*"))):
        found = [path for path in candidate if (path / "log.jsonl").is_file()]
        if found:
            return found
    raise CampaignError(
        f"{folder}: holds no campaign", hint="name runs/CAMPAIGN, or the project's folder"
    )


def report_on(run: Path, data: Path | None = None, rules: str = KAGGLE_RULES) -> CompetitionReport:
    """Grade the submission of the campaign in the folder `run`, and log its score to MLflow.

    For competitions of a benchmark, `data` is its data folder, and `rules` chooses those of Kaggle or of
    the benchmark's graders.

    Raises:
        CampaignError: the folder holds no campaign.
        CompetitionError: the true answers are missing.
    """
    folder = CampaignFolder(run)
    state = read_state(folder)
    grade, rules = CampaignGrader(data, rules).grade(state, folder.submission)
    if grade.valid and grade.score is not None:
        try:
            log_true_score(folder.root.parent.parent, folder.name, grade.score)
        except OrchestrationError as error:
            _log.warning("%s: its true score is not in MLflow: %s", folder.name, error)
    entry = known_competition(state.spec.competition)
    known: dict[str, Any] = {"category": entry.category, "complexity": entry.complexity} if entry else {}
    spec = state.spec
    return CompetitionReport(
        competition_id=spec.competition,
        submission_exists=folder.submission.is_file(),
        created_at=datetime.now(UTC).replace(tzinfo=None),
        submission_path=str(folder.submission),
        campaign=folder.name,
        agent=spec.agent,
        model=spec.model,
        seed=spec.seed,
        track="closed" if spec.community == NONE else "community",
        issues=tuple(entry.issues) if entry else (),
        **_validation(read_view(folder)),
        **{name: getattr(state.picked, name) for name in _PICK_FIELDS if state.picked},
        **known,
        mode=rules,
        test_feedback=spec.test_feedback,
        limit_reached=state.ended.detail if state.ended and state.ended.project_usd is not None else "",
        **_grade_fields(grade),
    )


class CampaignGrader:
    """Grades submissions of campaigns as `report_on` does; keeps answers of the last competitions."""

    def __init__(self, data: Path | None = None, rules: str = KAGGLE_RULES) -> None:
        """Prepare; `data` and `rules` as in `report_on`."""
        self._data, self._rules = data, rules
        self._answers = lru_cache(maxsize=_KEPT)(self._find)

    def grade(self, state: CampaignState, submission: Path) -> tuple[PastGrade, str]:
        """Grade one submission of a campaign; returns the rules that were applied, too.

        Raises:
            CompetitionError: the true answers are missing.
        """
        spec = state.spec
        answers = self._answers(spec.competition, Path(spec.competition_folder), spec.split_seed)
        if isinstance(answers, ProgramAnswers):
            return _grade_program(answers, submission), KAGGLE_RULES
        if isinstance(answers, PastAnswers):
            return _grade_past(answers, submission), KAGGLE_RULES
        return answers.grade(submission, self._rules), self._rules

    def _find(
        self, competition: str, folder: Path, seed: int
    ) -> PreparedCompetition | PastAnswers | ProgramAnswers:
        prepared = find_prepared(self._data, competition) if self._data else None
        return prepared or _past_answers(folder, seed)


def _validation(view: CampaignView) -> dict[str, Any]:
    """Return the validation score of the delivered submission, its optimism, and warnings."""
    state, tuning, best = view.state, view.tuning, view.best
    warnings = state.split.warnings if state.split else ()
    fields = {
        "gradings": tuning.gradings,
        "revealed_bits": round(tuning.bits, 1),
        "optimism": tuning.optimism,
        "validation_warnings": (*warnings, *tuning.warnings),
    }
    if best is None:
        return fields
    interval = best.score.interval.low, best.score.interval.high
    return {**fields, "validation_score": best.score.value.value, "validation_interval": interval}


def page_of(folder: CampaignFolder, *, live: bool = False) -> str:
    """Return the HTML page of a campaign; `live` where a server serves it.

    Titles of community items are read from the project's snapshots, so the folder is `runs/CAMPAIGN`.

    Raises:
        LogError: the campaign's log was changed.
    """
    graph, missing = provenance_of(folder.root.parent.parent, read_state(folder))
    return campaign_page(folder, graph, tuple(missing), live=live)


def write_page(run: Path, file: Path) -> None:
    """Write the HTML page of the campaign in the folder `run`.

    Raises:
        LogError: the campaign's log was changed.
        UsageError: the file cannot be written.
    """
    write_page_file(file, page_of(CampaignFolder(run.resolve())))


def _past_answers(folder: Path, seed: int) -> PastAnswers | ProgramAnswers:
    """Return the answers of a past competition in a folder of our format."""
    loaded = load_competition(folder)
    if loaded.program is not None:
        return open_answers(loaded, seed)
    if not loaded.answers.is_file():
        raise CompetitionError(
            f"{folder}: has no private/answers.csv",
            hint="for a competition of MLE-bench, name its data folder with --data",
        )
    return PastAnswers(loaded)


def _grade_program(scores: ProgramAnswers, program: Path) -> PastGrade:
    if program.is_file():
        return scores.grade(program)
    return PastGrade(metric=NORMALISED_SCORE, maximize=True, valid=False, message=NO_SUBMISSION)


def _grade_past(answers: PastAnswers, submission: Path) -> PastGrade:
    given, sample = submission.is_file(), answers.competition.public / "sample_submission.csv"
    try:  # without a submission, the sample's grade provides metric and thresholds
        grade = answers.grade(submission if given else sample)
    except SubmissionError as error:
        raise CompetitionError(str(error), hint=error.hint) from None
    nothing = {"valid": False, "message": NO_SUBMISSION, "notes": ()}
    return grade if given else grade.model_copy(update=nothing)


def _grade_fields(grade: PastGrade) -> dict[str, Any]:
    """Return the fields of a report that come from the grade."""
    fields = {
        "metric": grade.metric,
        "is_lower_better": not grade.maximize,
        "valid_submission": grade.valid,
        "score": grade.score if grade.valid else None,
        "above_median": bool(grade.above_median) and grade.valid,
        "message": "; ".join((grade.message, *grade.notes)).strip("; "),
        "teams": grade.teams,
        **CompetitionReport.standing(grade.medal if grade.valid else None, grade.thresholds),
    }
    names = ("rank", "win_rate", "interval") if grade.valid else ()
    return fields | {name: getattr(grade, name) for name in names}
