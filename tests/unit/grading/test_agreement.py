"""Two submissions are the same to a millionth of each number."""

from pathlib import Path

import pytest

from comind.grading.agreement import Verdict, compare_submissions


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        ("1", "1", Verdict.IDENTICAL),
        ("1", "1.0", Verdict.EQUIVALENT),
        ("1", "1.000001", Verdict.EQUIVALENT),
        ("1", "1.0000011", Verdict.DRIFT),
        ("0", "1e-9", Verdict.EQUIVALENT),
        ("0", "1.1e-9", Verdict.DRIFT),
        ("yes", "no", Verdict.DRIFT),
    ],
)
def test_cells_agree_to_a_millionth(tmp_path: Path, before: str, now: str, verdict: Verdict) -> None:
    """Numbers are equivalent if they differ by a share of a millionth, or by a billionth."""
    paths = tmp_path / "before.csv", tmp_path / "now.csv"
    for path, cell in zip(paths, (before, now), strict=True):
        path.write_text(f"id,y\n1,{cell}\n")
    assert compare_submissions(*paths).verdict is verdict
