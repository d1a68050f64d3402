"""The final pick: expected score, ties, confidence and optimism."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.closing.expected_score import Contender, choose, pooled_error

_ROWS = (100, 100, 100)
_SCORES = st.floats(-1, 1)


def _error(_one: str, _other: str) -> float:
    return 0.01


def test_folds_count_by_rows() -> None:
    """A lead on the first rows that folds do not confirm loses."""
    lucky = Contender("lucky", 0.90, (0.80, 0.80))
    solid = Contender("solid", 0.88, (0.86, 0.86))
    choice = choose([lucky, solid], _ROWS, _error)
    assert choice.pick == "solid"
    assert list(choice.expected) == ["solid", "lucky"]
    assert choice.shrinkage == pytest.approx(0.02)
    optimism = (0.10 + 0.02) / 2
    assert choice.expected["solid"] == pytest.approx((0.88 - optimism + 2 * 0.86) / 3)
    assert choice.confidence > 0.9


def test_who_ran_on_no_fold_is_not_ahead_by_that() -> None:
    """A score without folds is reduced by the mean drop of the others before it is compared."""
    ran = [Contender("a", 0.90, (0.85, 0.85)), Contender("b", 0.89, (0.84, 0.84))]
    assert choose([*ran, Contender("c", 0.91)], _ROWS, _error).pick == "c"
    assert choose([*ran, Contender("c", 0.895)], _ROWS, _error).pick == "a"


def test_a_blend_is_ahead_of_its_best_member_by_its_gain() -> None:
    """A blend judged over folds is ranked by its gain, not by its score on the first rows."""
    ran = [Contender("a", 0.90, (0.85, 0.85)), Contender("b", 0.89, (0.84, 0.84))]
    choice = choose([*ran, Contender("blend", 0.88, gain=0.02)], _ROWS, _error)
    assert choice.pick == "blend"
    assert choice.expected["blend"] == pytest.approx(choice.expected["a"] + 0.02)
    assert choice.shrinkage == pytest.approx(0.05)


def test_without_folds_a_blend_is_ahead_by_what_it_gained_unselected() -> None:
    """A blend's score on rows it was selected on does not raise the confidence."""
    alone = [Contender("one", 0.84), Contender("blend", 0.99, gain=0.01)]
    choice = choose(alone, _ROWS[:1], _error)
    assert choice.pick == "blend"
    assert choice.expected["blend"] == pytest.approx(0.85)
    assert choice.confidence < 1.0


@pytest.mark.parametrize(
    ("a", "b", "pick"),
    [
        ({}, {"code_lines": -1}, "b"),
        ({"out_of_fold": 0.8}, {"out_of_fold": 0.9, "code_lines": 9}, "b"),
        ({"nominated": True}, {"out_of_fold": 0.9, "code_lines": -1}, "a"),
        ({"nominated": True, "code_lines": 9}, {}, "a"),
    ],
)
def test_other_evidence_decides_within_noise(
    a: dict[str, float], b: dict[str, float], pick: str
) -> None:
    """Ties go to the best out-of-fold score if all have one, then nomination, then shorter code."""
    tied = [Contender("a", 0.9, (0.9, 0.9), **a), Contender("b", 0.899, (0.899, 0.899), **b)]  # type: ignore[arg-type]
    choice = choose(tied, _ROWS, _error)
    assert choice.pick == pick
    assert choice.tied == ("a", "b")


def test_without_folds_the_best_score_is_taken() -> None:
    """Without folds, neither shorter code nor a nomination outweighs any difference."""
    choice = choose(
        [Contender("a", 0.9, code_lines=900), Contender("b", 0.8999, nominated=True)], [100], _error
    )
    assert (choice.pick, choice.shrinkage) == ("a", None)
    assert choice.confidence == pytest.approx(0.5, abs=0.02)


def test_who_was_dropped_is_not_ahead_by_a_hard_fold_that_it_missed() -> None:
    """Imputed folds keep an eliminated contender as far behind as on the shared rows."""
    ran = [Contender("a", 0.90, (0.90, 0.70)), Contender("b", 0.90, (0.88, 0.68))]
    choice = choose([*ran, Contender("c", 0.88, (0.87,))], _ROWS, _error)
    assert choice.pick == "a"
    assert "c" not in choice.tied
    behind = (0.90 + 0.89) / 2 - (0.88 + 0.87) / 2
    between = (choice.expected["a"] + choice.expected["b"]) / 2
    assert choice.expected["c"] == pytest.approx(between - behind)


def test_who_was_dropped_is_never_picked() -> None:
    """An eliminated contender is never picked, even if the others did badly on later folds."""
    ran = [Contender("a", 0.90, (0.90, 0.90)), Contender("b", 0.90, (0.80, 0.80))]
    choice = choose([*ran, Contender("c", 0.95, (0.94,), nominated=True)], _ROWS, _error)
    assert choice.pick == "a"
    assert choice.expected["c"] == choice.expected["a"]


@given(
    scores=st.lists(st.tuples(_SCORES, _SCORES, _SCORES), min_size=1, max_size=6),
    errors=st.floats(0, 1),
)
def test_a_choice_is_one_of_the_best(scores: list[tuple[float, float, float]], errors: float) -> None:
    """Expected scores are sorted, the pick is among the ties, and confidence is from 0 to 1."""
    contenders = [Contender(f"c{n}", first, rest) for n, (first, *rest) in enumerate(scores)]  # type: ignore[arg-type]
    choice = choose(contenders, _ROWS, lambda _one, _other: errors)
    values = list(choice.expected.values())
    assert values == sorted(values, reverse=True)
    assert choice.pick in choice.tied
    assert values[0] - choice.expected[choice.pick] <= errors
    assert 0 <= choice.confidence <= 1
    assert choice == choose(contenders[::-1], _ROWS, lambda _one, _other: errors)


def test_errors_of_independent_parts_are_pooled() -> None:
    """Three parts of equal size have the root of a third of the summed variances."""
    assert pooled_error([0.3, 0.3, 0.3], _ROWS) == pytest.approx(0.3 / math.sqrt(3))
    assert pooled_error([0.3], _ROWS) == pytest.approx(0.3)
