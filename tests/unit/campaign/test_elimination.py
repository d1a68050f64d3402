"""Elimination of finalists after a fold."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.closing.expected_score import Finalist, eliminate
from comind.campaign.comparison import Comparisons
from comind.testing import ColumnGrader

_ROWS = (300, 100)
_SCORES = st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of submissions, each of which holds its score."""
    return tmp_path_factory.mktemp("submissions")


def _race(place: Path, scores: list[tuple[float, float]], noise: float) -> dict[str, str]:
    finalists = []
    for number, each in enumerate(scores):
        files = tuple(place / f"{number}-{part}" for part in range(len(each)))
        for file, score in zip(files, each, strict=True):
            file.write_text(repr(score))
        finalists.append(Finalist(f"r{number}", each, files))
    return eliminate(finalists, _ROWS, Comparisons(ColumnGrader(noise=noise)).compare)


def test_who_is_beyond_one_standard_error_is_dropped(place: Path) -> None:
    """Parts are weighted by their rows, and the errors of both parts pooled: 0.079 for 0.1 in each."""
    scores = [(0.90, 0.90), (0.90, 0.60), (0.80, 0.88), (0.90, 0.55)]
    assert _race(place, scores, 0.1) == {
        "r2": "r2 is 0.08 behind r0 (standard error 0.0791)",
        "r3": "r3 is 0.0875 behind r0 (standard error 0.0791)",
    }


@given(scores=_SCORES, noise=st.floats(0, 1))
def test_the_best_is_never_dropped(place: Path, scores: list[tuple[float, float]], noise: float) -> None:
    """Every finalist that is left has a better mean than all that are eliminated."""
    gone = _race(place, scores, noise)
    means = {f"r{number}": (3 * one + other) / 4 for number, (one, other) in enumerate(scores)}
    left = set(means) - set(gone)
    assert left
    assert all(max(means[each] for each in left) > means[other] for other in gone)
