"""Scores equal those of MLE-bench's graders, except for differences listed in docs/mle-bench.md.

`scores.json` holds what its graders say of the files of `worlds.py`, in the environment that the page
names. With MLEBENCH_PYTHON set to a Python that has `mlebench`, the marker `oracle` asks them again.
"""

import json
import math
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from comind.mlebench.benchmark_grader import BenchmarkAnswers
from comind.mlebench.catalog import Mode, benchmark_competitions
from tests.unit.mlebench.worlds import make_world

_HERE = Path(__file__).parent
_FROZEN = _HERE / "scores.json"
_ORACLE = os.environ.get("MLEBENCH_PYTHON", "")
_TOLERANCE = 1e-7  # an arc cosine near 1 loses half of the digits

_GRADED_THERE = {
    ("champs-scalar-coupling", "twice"),
    ("h-and-m-personalized-fashion-recommendations", "twice"),
    ("osic-pulmonary-fibrosis-progression", "twice"),
    ("predict-volcanic-eruptions-ingv-oe", "twice"),
    ("vinbigdata-chest-xray-abnormalities-detection", "twice"),
    ("uw-madison-gi-tract-image-segmentation", "twice"),
    ("uw-madison-gi-tract-image-segmentation", "longer"),
    ("uw-madison-gi-tract-image-segmentation", "short"),
    ("uw-madison-gi-tract-image-segmentation", "stranger"),
    ("jigsaw-unintended-bias-in-toxicity-classification", "blank"),
    ("rsna-breast-cancer-detection", "blank"),
}
"""Duplicate ids, missing rows and empty cells, which are always invalid here."""


def _differs(theirs: float | None, ours: float | None) -> bool:
    """Return whether two results differ; NaN counts as no score."""
    if theirs is not None and math.isnan(theirs):
        theirs = None
    if theirs is None or ours is None:
        return theirs is not ours
    return not math.isclose(theirs, ours, rel_tol=1e-9, abs_tol=_TOLERANCE)


@cache
def _frozen() -> dict[str, dict[str, float | None]]:
    return json.loads(_FROZEN.read_text())


def _disagreements(name: str, theirs: dict[str, float | None], folder: Path) -> list[str]:
    """Return a line for each case with a different result."""
    entry = benchmark_competitions()[name]
    world = make_world(entry)
    answers = BenchmarkAnswers(entry, world.write(folder))
    lines = []
    for case in world.submissions:
        grade = answers.grade(folder / f"{case}.csv", Mode.MLEBENCH)
        assert grade.valid == (not grade.message), case
        assert "\n" not in grade.message, case
        if (name, case) in _GRADED_THERE:
            assert (theirs[case] is not None, grade.valid) == (True, False), case
        elif case == "perfect" and theirs[case] == -math.inf:
            assert grade.score == pytest.approx(math.log(1e-9)), case  # CHAMPS states a floor
        elif _differs(theirs[case], grade.score):
            lines.append(f"{case}: theirs {theirs[case]}, ours {grade.score} {grade.message}")
    return lines


@pytest.mark.parametrize("name", benchmark_competitions())
def test_frozen_scores_are_ours(name: str, tmp_path: Path) -> None:
    """Every case of every competition gets the frozen score of MLE-bench's grader."""
    assert _disagreements(name, _frozen()[name], tmp_path) == []


@pytest.mark.oracle
@pytest.mark.skipif(not _ORACLE, reason="MLEBENCH_PYTHON names no Python that has mlebench")
def test_the_graders_say_so_themselves(tmp_path: Path) -> None:
    """MLE-bench's own graders, run in their own environment, still give these scores."""
    for entry in benchmark_competitions().values():
        make_world(entry).write(tmp_path / "worlds" / entry.id)
    done = subprocess.run(
        [_ORACLE, str(_HERE / "mlebench_scores.py"), str(tmp_path / "worlds")],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    theirs = json.loads(done.stdout)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        _FROZEN.write_text(json.dumps(theirs, indent=1) + "\n")
    assert theirs.keys() == benchmark_competitions().keys()
    wrong = {name: _disagreements(name, theirs[name], tmp_path / name) for name in theirs}
    assert {name: lines for name, lines in wrong.items() if lines} == {}
