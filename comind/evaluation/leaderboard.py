"""Where a score stands among the teams of a past competition, by Kaggle's rules."""

import bisect
import math
from pathlib import Path
from statistics import median
from typing import Literal

from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.evaluation.csv_tables import read_table

__all__ = ["MEDALS", "Leaderboard", "Medal", "Standing", "Thresholds", "medal_positions"]

Medal = Literal["gold", "silver", "bronze"]
MEDALS: tuple[Medal, ...] = ("gold", "silver", "bronze")

# Kaggle's progression system: below how many teams which rule holds for (gold, silver, bronze).
_SMALL, _MEDIUM, _LARGE = 100, 250, 1000

_ABSURD = 1000
"""A score this many times further from the best than the best quarter's last was meant by nobody."""


class Standing(Value):
    """A score's place among `teams` teams; ties share the better rank."""

    rank: int
    teams: int
    win_rate: float
    """Share of teams that score worse, half of the ties counted."""
    medal: Medal | None
    above_median: bool


class Thresholds(Value):
    """The scores that earn a medal, and the median; enough for medals where there is no leaderboard."""

    gold: float
    silver: float
    bronze: float
    median: float

    def medal(self, score: float, *, maximize: bool) -> Medal | None:
        """Return the best medal that `score` earns; a tie with a threshold earns it."""
        sign = 1.0 if maximize else -1.0
        for medal, threshold in zip(MEDALS, (self.gold, self.silver, self.bronze), strict=True):
            if sign * score >= sign * threshold:
                return medal
        return None

    def above_median(self, score: float, *, maximize: bool) -> bool:
        """Return whether `score` is strictly better than the median."""
        return score > self.median if maximize else score < self.median


class Leaderboard:
    """Final scores of all teams."""

    def __init__(self, scores: list[float], *, maximize: bool) -> None:
        """Take the scores in any order; ValueError without any, or where one is no finite number."""
        if not scores:
            raise ValueError("a leaderboard has at least one team")
        if not all(map(math.isfinite, scores)):
            raise ValueError("a score on it is not a finite number")
        # Ascending badness, so that both directions bisect alike.
        self._badness = sorted(-score if maximize else score for score in scores)
        self._turned = (scores[0] < scores[-1]) if maximize else (scores[0] > scores[-1])
        self.teams = len(scores)
        """How many teams there are."""
        self.maximize = maximize

    @classmethod
    def read(cls, path: Path, *, maximize: bool | None = None) -> "Leaderboard":
        """Return the leaderboard in a CSV file with a column `score`.

        Where it is not known which way is better, the file is taken to be best first; teams that are
        all alike are taken to want more, as MLE-bench has it.

        Raises:
            CompetitionError: the file is missing, has no scores, or a score is no number.
        """
        table = read_table(path, CompetitionError)
        if "score" not in table.columns:
            raise CompetitionError(f"{path}: has no column 'score'")
        try:
            scores = [float(text) for text in table["score"] if text.strip()]
            better = scores[0] >= scores[-1] if maximize is None and scores else bool(maximize)
            return cls(scores, maximize=better)
        except ValueError as error:
            raise CompetitionError(f"{path}: {error}") from None

    def place(self, score: float) -> Standing:
        """Return where `score` would stand."""
        badness = -score if self.maximize else score
        teams, thresholds = self.teams, self.thresholds
        better = bisect.bisect_left(self._badness, badness)
        worse = teams - bisect.bisect_right(self._badness, badness)
        return Standing(
            rank=better + 1,
            teams=teams,
            win_rate=(worse + 0.5 * (teams - better - worse)) / teams,
            medal=thresholds.medal(score, maximize=self.maximize),
            above_median=thresholds.above_median(score, maximize=self.maximize),
        )

    @property
    def thresholds(self) -> Thresholds:
        """The scores of the last team with each medal, and the median."""
        sign = -1.0 if self.maximize else 1.0
        gold, silver, bronze = (sign * self._badness[p - 1] for p in medal_positions(self.teams))
        return Thresholds(gold=gold, silver=silver, bronze=bronze, median=sign * median(self._badness))

    def notes(self, *, best: float | None = None, other: "Leaderboard | None" = None) -> list[str]:
        """Say what a reader of ranks and medals should know of this leaderboard, a line each.

        `best` is the score of a perfect submission, `other` the competition's other leaderboard.
        """
        top, quarter, last = (self._badness[i] for i in (0, (self.teams - 1) // 4, -1))
        tied = bisect.bisect_right(self._badness, top)
        golds, _, bronzes = medal_positions(self.teams)
        score = -top if self.maximize else top
        told = []
        if self._turned:
            told.append("its scores are listed worst first for this metric")
        if top == last:
            told.append(f"all {self.teams} teams have the same score, {score:g}")
        elif tied > 1 and score == best:
            told.append(f"{tied} of {self.teams} teams have a perfect score, as a leak allows")
        elif tied > golds:
            told.append(f"{tied} of {self.teams} teams share the best score, {score:g}")
        reach = quarter + _ABSURD * (quarter - top)
        absurd = self.teams - bisect.bisect_right(self._badness, reach)
        if top < quarter and absurd:
            told.append(f"the scores of {absurd} of {self.teams} teams are absurd; ranks take no notice")
            if self._badness[bronzes - 1] > reach:
                told.append("an absurd score is enough for a medal")
        if other is not None and other._badness == self._badness:  # noqa: SLF001 - one of us
            told.append("public and private leaderboard are the same")
        return told


def medal_positions(teams: int) -> tuple[int, int, int]:
    """Return the last rank that earns gold, silver and bronze among `teams` teams."""
    if teams < _SMALL:
        return max(1, teams // 10), max(1, teams // 5), max(1, int(teams * 0.4))
    if teams < _MEDIUM:
        return 10, teams // 5, int(teams * 0.4)
    gold = 10 + int(teams * 0.002)
    if teams < _LARGE:
        return gold, 50, 100
    return gold, int(teams * 0.05), int(teams * 0.1)
