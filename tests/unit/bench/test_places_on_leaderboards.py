"""The figure of leaderboards has the mean valid run of each arm at its rank."""

import pytest

from comind.bench.statistics import compute_statistics
from comind.grading.leaderboard import Leaderboard
from tests.unit.bench.benches import bench, run


def test_arms_are_placed_by_their_mean_win_rate_and_score() -> None:
    """Invalid runs have no score, and a competition without a leaderboard no panel."""
    runs = [
        run("ours", "a", 0, win_rate=0.75, score=0.9),
        run("ours", "a", 1, win_rate=0.25, score=0.7),
        run("base", "a", 0, valid=False, score=None, win_rate=0.0),
        run("base", "a", 1, win_rate=0.5, score=0.8),
        run("ours", "b", 0, win_rate=None, score=3.0),
    ]
    board = Leaderboard([0.1, 0.5, 0.9], maximize=True).quantiles(5)
    assert board == (0.9, 0.9, 0.5, 0.1, 0.1)
    [found] = compute_statistics(bench(runs, leaderboards={"a": board})).leaderboards
    assert (found.competition, found.scores) == ("a", board)
    assert found.arms["ours"] == pytest.approx((50.0, 0.8))
    assert found.arms["base"] == pytest.approx((50.0, 0.8))


def test_smaller_scores_lead_where_they_are_better() -> None:
    """The first quantile is the best team's."""
    assert Leaderboard([3.0, 1.0, 2.0], maximize=False).quantiles(3) == (1.0, 2.0, 3.0)
