"""Ranks and medals by Kaggle's rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.grading.leaderboard import Leaderboard, _medal_ranks

_MEDALS = {"gold": 3, "silver": 2, "bronze": 1, None: 0}


@pytest.mark.parametrize(
    ("teams", "positions"),
    [
        (5, (1, 1, 2)),
        (99, (9, 19, 39)),
        (100, (10, 20, 40)),
        (249, (10, 49, 99)),
        (250, (10, 50, 100)),
        (999, (11, 50, 100)),
        (1000, (12, 50, 100)),
        (5000, (20, 250, 500)),
    ],
)
def test_medal_positions(teams: int, positions: tuple[int, int, int]) -> None:
    """The number of medals depends on the number of teams."""
    assert _medal_ranks(teams) == positions


def test_a_place_on_the_board() -> None:
    """Ties share the better rank and count half for the win rate; above the median is strict."""
    board = Leaderboard([0.9, 0.8, 0.8, 0.7], maximize=True)
    place = board.place(0.8)
    assert (place.rank, place.teams, place.win_rate, place.above_median) == (2, 4, 0.5, False)
    assert board.place(0.81).above_median
    assert Leaderboard([0.1, 0.2], maximize=False).place(0.05).rank == 1


@given(
    board=st.lists(st.floats(-10, 10), min_size=1, max_size=300),
    scores=st.tuples(st.floats(-10, 10), st.floats(-10, 10)),
    maximize=st.booleans(),
)
def test_a_better_score_never_stands_lower(
    board: list[float], scores: tuple[float, float], maximize: bool
) -> None:
    """Rank, win rate and medal are monotone in the score."""
    worse, better = sorted(scores) if maximize else sorted(scores, reverse=True)
    table = Leaderboard(board, maximize=maximize)
    low, high = table.place(worse), table.place(better)
    assert high.rank <= low.rank
    assert high.win_rate >= low.win_rate
    assert _MEDALS[high.medal] >= _MEDALS[low.medal]


@pytest.mark.parametrize(("last", "said"), [(1_002.1, True), (1_001.9, False)])
def test_outliers_are_far_beyond_the_first_quartile(last: float, *, said: bool) -> None:
    """An outlier is 1,000 times farther from the first quartile than that is from the best score."""
    notes = Leaderboard([1.0, 2.0, 3.0, 4.0, last], maximize=False).notes()
    assert any("outliers" in note for note in notes) == said
