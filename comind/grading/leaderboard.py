"""Rank a score on the leaderboard of a past competition, with medals by Kaggle's rules."""

import bisect
import math
from pathlib import Path
from statistics import median
from typing import Literal

from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.tables.csv_tables import read_table

Medal = Literal["gold", "silver", "bronze"]
_MEDALS: tuple[Medal, ...] = ("gold", "silver", "bronze")

# Team counts at which Kaggle's rules for medals change (kaggle.com/progression).
_SMALL, _MEDIUM, _LARGE = 100, 250, 1000

_OUTLIER = 1000
"""Scores this many times further from the best than the first quartile are outliers."""


class Standing(Value):
    """The rank of a score among `teams` teams; ties share the better rank."""

    rank: int
    teams: int
    win_rate: float
    """Share of teams with a worse score, ties counted half."""
    medal: Medal | None
    above_median: bool


class Thresholds(Value):
    """The scores required for each medal, and the median score."""

    gold: float
    silver: float
    bronze: float
    median: float

    def medal(self, score: float, *, maximize: bool) -> Medal | None:
        """Return the best medal that `score` earns; equality with a threshold suffices."""
        sign = 1.0 if maximize else -1.0
        for medal, threshold in zip(_MEDALS, (self.gold, self.silver, self.bronze), strict=True):
            if sign * score >= sign * threshold:
                return medal
        return None

    def above_median(self, score: float, *, maximize: bool) -> bool:
        """Return whether `score` is strictly better than the median."""
        return score > self.median if maximize else score < self.median


class Leaderboard:
    """The final scores of all teams."""

    def __init__(self, scores: list[float], *, maximize: bool) -> None:
        """Sort the scores.

        Raises:
            ValueError: there are no scores, or one is not finite.
        """
        if not scores:
            raise ValueError("a leaderboard has at least one team")
        if not all(map(math.isfinite, scores)):
            raise ValueError("a score on it is not a finite number")
        # Negated if larger is better, so that best is first for bisect.
        self._ordered = sorted(-score if maximize else score for score in scores)
        self._turned = (scores[0] < scores[-1]) if maximize else (scores[0] > scores[-1])
        self.teams = len(scores)
        """Number of teams."""
        self.maximize = maximize

    @classmethod
    def read(cls, path: Path, *, maximize: bool | None = None) -> "Leaderboard":
        """Read a leaderboard from a CSV file with a column `score`.

        Without `maximize`, the direction is inferred from the order of the file, best first; if all
        scores are equal, larger is better, as in MLE-bench.

        Raises:
            CompetitionError: the file is missing, has no scores, or a score is not a number.
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
        """Return the standing that `score` would have."""
        ordered = -score if self.maximize else score
        teams, thresholds = self.teams, self.thresholds
        better = bisect.bisect_left(self._ordered, ordered)
        worse = teams - bisect.bisect_right(self._ordered, ordered)
        return Standing(
            rank=better + 1,
            teams=teams,
            win_rate=(worse + 0.5 * (teams - better - worse)) / teams,
            medal=thresholds.medal(score, maximize=self.maximize),
            above_median=thresholds.above_median(score, maximize=self.maximize),
        )

    def quantiles(self, count: int = 101) -> tuple[float, ...]:
        """Return the scores of `count` teams at equal distances in rank, from the best to the last."""
        sign, last = -1.0 if self.maximize else 1.0, self.teams - 1
        return tuple(sign * self._ordered[round(last * at / (count - 1))] for at in range(count))

    @property
    def thresholds(self) -> Thresholds:
        """The score of the last team with each medal, and the median score."""
        sign = -1.0 if self.maximize else 1.0
        gold, silver, bronze = (sign * self._ordered[p - 1] for p in _medal_ranks(self.teams))
        return Thresholds(gold=gold, silver=silver, bronze=bronze, median=sign * median(self._ordered))

    def notes(self, *, best: float | None = None, other: "Leaderboard | None" = None) -> list[str]:
        """Return warnings about ties, outliers and leaks that affect ranks and medals.

        Args:
            best: the score of a perfect submission, if known.
            other: the competition's other leaderboard.
        """
        top, quarter, last = (self._ordered[i] for i in (0, (self.teams - 1) // 4, -1))
        tied = bisect.bisect_right(self._ordered, top)
        golds, _, bronzes = _medal_ranks(self.teams)
        score = -top if self.maximize else top
        notes = []
        if self._turned:
            notes.append("its scores are listed worst first for this metric")
        if top == last:
            notes.append(f"all {self.teams} teams have the same score, {score:g}")
        elif tied > 1 and score == best:
            notes.append(f"{tied} of {self.teams} teams have a perfect score, as a leak allows")
        elif tied > golds:
            notes.append(f"{tied} of {self.teams} teams share the best score, {score:g}")
        reach = quarter + _OUTLIER * (quarter - top)
        outliers = self.teams - bisect.bisect_right(self._ordered, reach)
        if top < quarter and outliers:
            notes.append(
                f"the scores of {outliers} of {self.teams} teams are outliers; ranks are not affected"
            )
            if self._ordered[bronzes - 1] > reach:
                notes.append("an outlier earns a medal")
        if other is not None and other._ordered == self._ordered:  # noqa: SLF001 - one of us
            notes.append("public and private leaderboard are the same")
        return notes


def _medal_ranks(teams: int) -> tuple[int, int, int]:
    """Return the last ranks that earn gold, silver and bronze among `teams` teams."""
    if teams < _SMALL:
        return max(1, teams // 10), max(1, teams // 5), max(1, int(teams * 0.4))
    if teams < _MEDIUM:
        return 10, teams // 5, int(teams * 0.4)
    gold = 10 + int(teams * 0.002)
    if teams < _LARGE:
        return gold, 50, 100
    return gold, int(teams * 0.05), int(teams * 0.1)
