"""The rule search finds planted rules despite decoys."""

from pathlib import Path

import pytest

from tests.unit.splits.planted import PLANTED, judge, planted_world

pytestmark = pytest.mark.slow

_SEEDS = [100, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(101, 106))]
"""benchmarks/splits.py counts over twenty others."""


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("kind", PLANTED)
def test_the_planted_rule_is_found(tmp_path: Path, kind: str, seed: int) -> None:
    """The planted rule is found without warnings, and wrong splits are warned of."""
    judged = judge(planted_world(kind, seed), tmp_path)
    assert judged.right, f"{judged.rule} as {judged.reason}"
    assert not judged.warnings
    assert judged.warned == judged.wrong
    assert judged.confidence is not None
    assert judged.confidence > 0.7
