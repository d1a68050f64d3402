"""Grade campaigns' submissions on the true answers, as MLE-bench's reports."""

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from comind.app.lineage import provenance_of
from comind.app.paths import write_page_file
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_settings import NONE
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.loop import read_state
from comind.campaign.reports.page.campaign_page import campaign_page
from comind.campaign.reports.tuning import Tuning, read_tuning
from comind.errors import CampaignError, CompetitionError, SubmissionError
from comind.evaluation.benchmark.catalog import Mode, benchmark_competitions
from comind.evaluation.benchmark.prepared import PreparedFolder
from comind.evaluation.benchmark.reports import CompetitionReport
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.leaderboard import Leaderboard
from comind.evaluation.past_competition import PastAnswers, PastGrade

__all__ = [
    "CampaignGrader",
    "campaigns_in",
    "grade_prepared",
    "page_of",
    "rank_prepared",
    "report_on",
    "write_page",
]

_KEPT = 4  # competitions whose answers stay in memory
_NOTHING = "there is no submission"
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


def report_on(run: Path, data: Path | None = None, mode: Mode = Mode.KAGGLE) -> CompetitionReport:
    """Grade the submission of the campaign in the folder `run`.

    For competitions of MLE-bench, `data` is its data folder, with `<id>/prepared` in it, and `mode`
    chooses the rules of Kaggle or of MLE-bench's graders.

    Raises:
        CampaignError: the folder holds no campaign.
        CompetitionError: the true answers are missing.
    """
    folder = CampaignFolder(run)
    state = read_state(folder)
    grade, mode = CampaignGrader(data, mode).grade(state, folder.submission)
    entry = benchmark_competitions().get(state.spec.competition)
    kind: dict[str, Any] = {"category": entry.category, "complexity": entry.complexity} if entry else {}
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
        **_validation(state, read_tuning(state, folder)),
        **{name: getattr(state.picked, name) for name in _PICK_FIELDS if state.picked},
        **kind,
        mode=mode.value,
        limit_reached=state.ended.detail if state.ended and state.ended.project_usd is not None else "",
        **_grade_fields(grade),
    )


class CampaignGrader:
    """Grades submissions of campaigns as `report_on` does; keeps answers of the last competitions."""

    def __init__(self, data: Path | None = None, mode: Mode = Mode.KAGGLE) -> None:
        """Prepare; `data` and `mode` as in `report_on`."""
        self._data, self._mode = data, mode
        self._answers = lru_cache(maxsize=_KEPT)(self._find)

    def grade(self, state: CampaignState, submission: Path) -> tuple[PastGrade, Mode]:
        """Grade one submission of a campaign; returns the mode that was applied, too.

        Raises:
            CompetitionError: the true answers are missing.
        """
        answers = self._answers(state.spec.competition, Path(state.spec.competition_folder))
        if isinstance(answers, PreparedFolder):
            return grade_prepared(answers, submission, self._mode), self._mode
        return _grade_past(answers, submission), Mode.KAGGLE

    def _find(self, competition: str, folder: Path) -> PreparedFolder | PastAnswers:
        prepared = PreparedFolder.find(self._data, competition) if self._data else None
        return prepared or _past_answers(folder)


def _validation(state: CampaignState, tuning: Tuning) -> dict[str, Any]:
    """Return the validation score of the delivered submission, its optimism, and warnings."""
    warnings = state.split.warnings if state.split else ()
    fields = {
        "gradings": tuning.gradings,
        "revealed_bits": round(tuning.bits, 1),
        "optimism": tuning.optimism,
        "validation_warnings": (*warnings, *tuning.warnings),
    }
    chosen = state.chosen()
    if chosen is None or chosen.score is None:
        return fields
    interval = chosen.score.interval.low, chosen.score.interval.high
    return {**fields, "validation_score": chosen.score.value.value, "validation_interval": interval}


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


def grade_prepared(prepared: PreparedFolder, submission: Path, mode: Mode) -> PastGrade:
    """Grade a submission to a competition of MLE-bench.

    Rank and win rate need the whole leaderboard, `leaderboard.csv` beside `prepared`; without it, the
    registry's thresholds decide on medals.

    Raises:
        CompetitionError: the answers cannot be read.
    """
    entry = prepared.entry
    grade = prepared.grader.grade(submission, mode) if submission.is_file() else None
    if grade is not None and grade.rounded is not None:
        return rank_prepared(prepared, grade.rounded, grade.metric)
    board = _prepared_board(prepared)
    return PastGrade(
        metric=grade.metric if grade else entry.metric,
        maximize=entry.maximize,
        valid=False,
        message=grade.message if grade else _NOTHING,
        teams=board.teams if board else None,
        thresholds=board.thresholds if board else entry.thresholds,
    )


def rank_prepared(prepared: PreparedFolder, score: float, metric: str = "") -> PastGrade:
    """Rank a score in a competition of MLE-bench, as `grade_prepared` does."""
    entry, board = prepared.entry, _prepared_board(prepared)
    thresholds = board.thresholds if board else entry.thresholds
    standing: dict[str, Any] = {
        "medal": thresholds.medal(score, maximize=entry.maximize),
        "above_median": thresholds.above_median(score, maximize=entry.maximize),
        **(board.place(score).model_dump() if board else {}),
    }
    return PastGrade(
        score=score,
        metric=metric or entry.metric,
        maximize=entry.maximize,
        valid=True,
        message="; ".join(board.notes()) if board else "",
        thresholds=thresholds,
        **standing,
    )


def _prepared_board(prepared: PreparedFolder) -> Leaderboard | None:
    board = prepared.root.parent / "leaderboard.csv"
    return Leaderboard.read(board, maximize=prepared.entry.maximize) if board.is_file() else None


def _past_answers(folder: Path) -> PastAnswers:
    """Return the answers of a past competition in a folder of our format."""
    loaded = load_competition(folder)
    if not loaded.answers.is_file():
        raise CompetitionError(
            f"{folder}: has no private/answers.csv",
            hint="for a competition of MLE-bench, name its data folder with --data",
        )
    return PastAnswers(loaded)


def _grade_past(answers: PastAnswers, submission: Path) -> PastGrade:
    given, sample = submission.is_file(), answers.competition.public / "sample_submission.csv"
    try:  # without a submission, the sample's grade provides metric and thresholds
        grade = answers.grade(submission if given else sample)
    except SubmissionError as error:
        raise CompetitionError(str(error), hint=error.hint) from None
    nothing = {"valid": False, "message": _NOTHING, "notes": ()}
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
