"""Whole leaderboards: synthetic ones with the oddities of real ones, and real ones if available.

`COMIND_LEADERBOARDS` names the folder that holds them, as `*/info/{private,public}_leaderboard.csv` or
in archives (`*.tar.gz`).
"""

import os
import tarfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.grading.leaderboard import Leaderboard, Thresholds, _medal_ranks

_REAL = os.environ.get("COMIND_LEADERBOARDS", "")
_WORTH = {"gold": 3, "silver": 2, "bronze": 1, None: 0}


def _check(board: Leaderboard) -> None:
    """Rank, win rate and medals are consistent, for scores better, equal and worse than any team's."""
    sign = 1.0 if board.maximize else -1.0
    scores = [-sign * ordered for ordered in board._ordered]
    scores = [sign * abs(scores[0]) * 2 + sign, *scores, -sign * abs(scores[-1]) * 2 - sign]
    places = [board.place(score) for score in scores]
    for better, worse in pairwise(places):
        assert better.rank <= worse.rank
        assert better.win_rate >= worse.win_rate
        assert _WORTH[better.medal] >= _WORTH[worse.medal]
    assert (places[0].rank, places[0].win_rate, places[0].medal) == (1, 1.0, "gold")
    assert (places[-1].rank, places[-1].win_rate) == (board.teams + 1, 0.0)
    thresholds = board.thresholds
    for score, place in zip(scores, places, strict=True):
        assert thresholds.medal(score, maximize=board.maximize) == place.medal
        assert thresholds.above_median(score, maximize=board.maximize) == place.above_median
    medals = sum(place.medal is not None for place in places[1:-1])
    assert medals >= _medal_ranks(board.teams)[2]


def _write(path: Path, scores: list[float]) -> Path:
    rows = "".join(f"{rank},{score}\n" for rank, score in enumerate(scores, start=1))
    path.write_text(f"rank,score\n{rows}")
    return path


def _made_up() -> dict[str, list[float]]:
    random = np.random.default_rng(8)
    usual = sorted(random.normal(0.8, 0.05, 700).clip(0, 0.95).round(4).tolist(), reverse=True)
    losses = sorted(random.lognormal(size=1200).round(5).tolist())
    return {
        "usual": usual,
        "losses": losses,
        "small": losses[:7],
        "one team": [0.5],
        "leaked": [1.0] * 60 + usual,
        "absurd": [*losses, 1e13, 3.4e25],
        "absurd medals": [*np.linspace(0.1, 0.4, 9).tolist(), *[999999.0] * 21],
        "all alike": [0.0] * 50,
        "crowded": [0.9566] * 300 + usual,
    }


@pytest.mark.parametrize("name", _made_up())
def test_made_up_boards(name: str, tmp_path: Path) -> None:
    """Leaderboards with ties, leaks, outliers or few teams are loaded and ranked."""
    _check(Leaderboard.read(_write(tmp_path / "private.csv", _made_up()[name])))


@pytest.mark.parametrize(
    ("name", "best", "note"),
    [
        ("leaked", 1.0, "60 of 760 teams have a perfect score, as a leak allows"),
        ("leaked", None, "60 of 760 teams share the best score, 1"),
        ("crowded", 1.0, "300 of 1000 teams share the best score, 0.9566"),
        ("absurd", 0.0, "the scores of 2 of 1202 teams are outliers; ranks are not affected"),
        ("absurd medals", 0.0, "an outlier earns a medal"),
        ("all alike", None, "all 50 teams have the same score, 0"),
    ],
)
def test_what_a_reader_should_know_is_said(name: str, best: float | None, note: str) -> None:
    """Leaks, ties at the top and outliers are noted."""
    scores = _made_up()[name]
    board = Leaderboard(scores, maximize=scores[0] >= scores[-1])
    assert note in board.notes(best=best)


def test_ordinary_boards_need_no_words() -> None:
    """Ordinary leaderboards get no notes; identical public and private ones are noted."""
    board = Leaderboard(_made_up()["usual"], maximize=True)
    assert board.notes(best=1.0, other=Leaderboard(_made_up()["crowded"], maximize=True)) == []
    assert board.notes(other=board) == ["public and private leaderboard are the same"]
    turned = Leaderboard(_made_up()["usual"], maximize=False)
    assert turned.notes() == ["its scores are listed worst first for this metric"]


def test_absurd_scores_move_no_rank() -> None:
    """Outliers change the number of worse teams only, not the rank."""
    scores = _made_up()["losses"]
    plain, tailed = (Leaderboard(s, maximize=False) for s in (scores, [*scores[:-1], 1e30]))
    assert plain.place(0.7) == tailed.place(0.7)


@given(
    thresholds=st.lists(st.floats(-10, 10), min_size=4, max_size=4).map(sorted),
    scores=st.tuples(st.floats(-20, 20), st.floats(-20, 20)).map(sorted),
    maximize=st.booleans(),
)
def test_four_numbers_are_enough_for_a_medal(
    thresholds: list[float], scores: list[float], maximize: bool
) -> None:
    """Medals from thresholds are monotone in the score, and equality earns the medal."""
    if not maximize:
        scores, low = scores[::-1], thresholds
        median, bronze, silver, gold = low[::-1]
    else:
        median, bronze, silver, gold = thresholds
    four = Thresholds(gold=gold, silver=silver, bronze=bronze, median=median)
    worse, better = (four.medal(score, maximize=maximize) for score in scores)
    assert _WORTH[better] >= _WORTH[worse]
    assert four.medal(gold, maximize=maximize) == "gold"
    assert not four.above_median(median, maximize=maximize)


@pytest.mark.skipif(not _REAL, reason="COMIND_LEADERBOARDS names no folder of real leaderboards")
def test_real_boards(tmp_path: Path) -> None:
    """Every real leaderboard loads and ranks."""
    root = Path(_REAL)
    for archive in root.glob("*.tar.gz"):
        with tarfile.open(archive) as file:
            file.extractall(tmp_path, filter="data")
    found = [path for place in (root, tmp_path) for path in place.glob("*/info/*_leaderboard.csv")]
    assert len(found) >= 404
    for path in found:
        board = Leaderboard.read(path)
        _check(board)
        assert board.notes(best=1.0 if board.maximize else 0.0) is not None
