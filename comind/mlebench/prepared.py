"""Read the folders that `mlebench prepare` creates, and convert them to competition folders.

<id>/prepared/public/      data for agents
<id>/prepared/private/     answers
"""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from comind.domain.problem import AnswerKind
from comind.errors import CompetitionError
from comind.grading.benchmarks import KAGGLE_RULES
from comind.grading.leaderboard import Leaderboard
from comind.grading.past_competition import NO_SUBMISSION, PastGrade
from comind.mlebench.benchmark_grader import BenchmarkAnswers
from comind.mlebench.catalog import BenchmarkCompetition, Mode, find_benchmark_competition
from comind.mlebench.ground_truth import read_answers
from comind.mlebench.intake import take_in
from comind.system.temporary_folders import staged_folder
from comind.tables.csv_tables import read_header, write_table

_ANSWERS = ("answers.csv", "test.csv")


class PreparedFolder:
    """A competition as prepared by `mlebench prepare`."""

    def __init__(self, root: Path, entry: BenchmarkCompetition) -> None:
        """Set the folder `<id>/prepared` and the competition's entry in the catalog."""
        self.root = root
        self.public = root / "public"
        """The folder of the data for agents."""
        self.entry = entry

    @classmethod
    def find(cls, path: Path, name: str | None = None) -> "PreparedFolder | None":
        """Return the prepared competition at `path` (or `<path>/<name>`), or None.

        It is recognised by its folder `prepared/public`; `path` may also be that `prepared` itself.
        """
        for folder in (path / name, path) if name else (path,):
            for root in (folder / "prepared", folder):
                if root.name == "prepared" and (root / "public").is_dir():
                    return cls(root, find_benchmark_competition(name or root.parent.name))
        return None

    @property
    def answers(self) -> Path:
        """The file of the answers.

        Raises:
            CompetitionError: it does not exist.
        """
        names = (self.entry.answers,) if self.entry.answers else _ANSWERS
        if answers := _first_file(self.root / "private" / name for name in names):
            return answers
        raise CompetitionError(
            f"{self.root / 'private'}: has no {' or '.join(names)}",
            hint=f"prepare it with: mlebench prepare -c {self.entry.id}",
        )

    @cached_property
    def grader(self) -> BenchmarkAnswers:
        """Grades submissions; reads the answers once.

        Raises:
            CompetitionError: they are missing or invalid.
        """
        return BenchmarkAnswers(self.entry, self.answers)

    @property
    def sample(self) -> Path:
        """The sample submission; a few competitions have it in private/.

        Raises:
            CompetitionError: it does not exist.
        """
        folders = (self.root / "public", self.root / "private")
        if sample := _first_file(folder / self.entry.sample for folder in folders):
            return sample
        raise CompetitionError(f"{self.public}: has no {self.entry.sample}")

    def adapted_in(self, place: Path) -> Path:
        """Return its competition folder below `place`, created on first use; see `adapt`."""
        adapted = place / self.entry.id
        return adapted if adapted.is_dir() else adapt(self.public, self.entry, place)

    def grade(self, submission: Path, rules: str = KAGGLE_RULES) -> PastGrade:
        """Grade a submission; one that is missing or invalid has a message.

        Rank and win rate need the whole leaderboard, `leaderboard.csv` beside `prepared`; without it,
        the catalog's thresholds decide on medals.

        Raises:
            CompetitionError: the answers cannot be read.
        """
        grade = self.grader.grade(submission, Mode(rules)) if submission.is_file() else None
        if grade is not None and grade.rounded is not None:
            return self._rank(grade.rounded, grade.metric)
        board = self._board()
        return PastGrade(
            metric=grade.metric if grade else self.entry.metric,
            maximize=self.entry.maximize,
            valid=False,
            message=grade.message if grade else NO_SUBMISSION,
            teams=board.teams if board else None,
            thresholds=board.thresholds if board else self.entry.thresholds,
        )

    def rank(self, score: float) -> PastGrade:
        """Rank a score, as `grade` does."""
        return self._rank(score, self.entry.metric)

    def _rank(self, score: float, metric: str) -> PastGrade:
        entry, board = self.entry, self._board()
        thresholds = board.thresholds if board else entry.thresholds
        standing: dict[str, Any] = {
            "medal": thresholds.medal(score, maximize=entry.maximize),
            "above_median": thresholds.above_median(score, maximize=entry.maximize),
            **(board.place(score).model_dump() if board else {}),
        }
        return PastGrade(
            score=score,
            metric=metric,
            maximize=entry.maximize,
            valid=True,
            message="; ".join(board.notes()) if board else "",
            thresholds=thresholds,
            **standing,
        )

    def _board(self) -> Leaderboard | None:
        board = self.root.parent / "leaderboard.csv"
        return Leaderboard.read(board, maximize=self.entry.maximize) if board.is_file() else None


def adapt(public: Path, entry: BenchmarkCompetition, out: Path, answers: Path | None = None) -> Path:
    """Create a competition folder from the public data of a benchmark competition.

    Files are hard-linked if possible, else copied. If there is no test.csv (its rows are files), one is
    written with the ids of the sample submission. If the metric cannot be computed from train.csv alone,
    none is declared, and a model writes the evaluator. `public` is not modified.

    Args:
        public: the data for agents.
        entry: the competition's entry in the catalog.
        out: the folder to create `<id>/` in.
        answers: the file of the true answers, if available; it is converted into private/.

    Raises:
        CompetitionError: there is no table with labels or no sample submission, or the folder exists.
    """
    folder = out / entry.id
    if folder.exists():
        raise CompetitionError(f"{folder}: already exists", hint="choose another folder")
    with staged_folder(folder) as staged:
        take_in(public, staged / "public", entry)
        text = yaml.safe_dump(_describe(entry, staged / "public"), sort_keys=False)
        (staged / "competition.yaml").write_text(text, encoding="utf-8")
        if answers is not None:
            (staged / "private").mkdir()
            write_table(_answers(entry, answers, staged / "public"), staged / "private" / "answers.csv")
    return folder


def _first_file(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _describe(entry: BenchmarkCompetition, public: Path) -> dict[str, object]:
    train, test = (read_header(public / name) for name in ("train.csv", "test.csv"))
    sample = read_header(public / "sample_submission.csv")
    ids = [name for name in sample if name in test]
    targets = [name for name in sample if name not in ids]
    given = entry.train.labels if entry.train else ()
    labels = [name for name in given or targets if name in train]
    if not labels:  # one column of classes; submissions have one column per class
        labels = [name for name in train if name not in test]
    if not labels:
        raise CompetitionError(f"{public}: no column of train.csv is a label")
    described = {
        "id": entry.id,
        "title": entry.id.replace("-", " "),
        "kind": entry.category,
        "id_columns": ids,
        "label_columns": labels,
        "target_columns": targets,
        "leaderboard_comparable": False,  # the test rows are taken from Kaggle's train.csv
    }
    metric = entry.metric_in(Mode.KAGGLE)
    others = entry.context or entry.scored_rows or entry.unscored or entry.truth
    spread = len(labels) == 1 and metric.answer_kind is AnswerKind.CLASS_PROBABILITIES
    if not others and entry.answers_are == "rows" and (set(targets) <= set(labels) or spread):
        described["metric"] = metric.name
    return described


def _answers(entry: BenchmarkCompetition, path: Path, public: Path) -> pd.DataFrame:
    """Read the answers with the columns of a submission."""
    table = read_answers(entry, path)
    columns = read_header(public / "sample_submission.csv")
    missing = [
        name for name in (*entry.ids, *entry.target_columns(table.columns)) if name not in table.columns
    ]
    if missing or set(columns) - set(table.columns):
        raise CompetitionError(
            f"{path}: does not have the columns of a submission ({', '.join(columns)})"
        )
    answer_kind = entry.metric_in(Mode.KAGGLE).answer_kind
    if answer_kind is AnswerKind.CLASS_PROBABILITIES and len(columns) == len(entry.ids):
        raise CompetitionError(f"{path}: has no class columns")
    return table[columns]
