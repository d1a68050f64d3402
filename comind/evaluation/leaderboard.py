"""Where a score stands among the teams of a past competition, by Kaggle's rules."""

import bisect
import math
from pathlib import Path
from typing import Literal

from comind.domain.value import Value
from comind.errors import CompetitionError
from comind.evaluation.tables import read_table

__all__ = ["Leaderboard", "Medal", "Standing", "medal_positions"]

Medal = Literal["gold", "silver", "bronze"]

# Kaggle's progression system: below how many teams which rule holds for (gold, silver, bronze).
_SMALL, _MEDIUM, _LARGE = 100, 250, 1000


class Standing(Value):
    """A score's place among `teams` teams; ties share the better rank."""

    rank: int
    teams: int
    win_rate: float
    """Share of teams that score worse, half of the ties counted."""
    medal: Medal | None
    above_median: bool


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
        self._maximize = maximize

    @classmethod
    def read(cls, path: Path, *, maximize: bool) -> "Leaderboard":
        """Return the leaderboard in a CSV file with a column `score`.

        Raises:
            CompetitionError: the file is missing, has no scores, or a score is no number.
        """
        table = read_table(path, CompetitionError)
        if "score" not in table.columns:
            raise CompetitionError(f"{path}: has no column 'score'")
        try:
            return cls([float(text) for text in table["score"] if text.strip()], maximize=maximize)
        except ValueError as error:
            raise CompetitionError(f"{path}: {error}") from None

    def place(self, score: float) -> Standing:
        """Return where `score` would stand."""
        badness = -score if self._maximize else score
        teams = len(self._badness)
        better = bisect.bisect_left(self._badness, badness)
        worse = teams - bisect.bisect_right(self._badness, badness)
        return Standing(
            rank=better + 1,
            teams=teams,
            win_rate=(worse + 0.5 * (teams - better - worse)) / teams,
            medal=self._medal(badness),
            above_median=badness < self._median(),
        )

    def _medal(self, badness: float) -> Medal | None:
        gold, silver, bronze = medal_positions(len(self._badness))
        if badness <= self._badness[gold - 1]:
            return "gold"
        if badness <= self._badness[silver - 1]:
            return "silver"
        return "bronze" if badness <= self._badness[bronze - 1] else None

    def _median(self) -> float:
        half, odd = divmod(len(self._badness), 2)
        return self._badness[half] if odd else (self._badness[half - 1] + self._badness[half]) / 2


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
