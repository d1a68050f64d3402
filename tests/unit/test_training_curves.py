"""A program's loss curves are read from metrics.jsonl, whatever else it wrote there."""

import os
from pathlib import Path

import pytest

from comind.adapters.mlflow.training_curves import CurvePoint, read_curves


def test_each_line_is_a_step_of_named_curves(tmp_path: Path) -> None:
    """A line without a step has its number; blank lines and infinite losses are left out."""
    lines = ['{"step": 10, "loss": 0.5, "auc": 1}', "", '{"loss": Infinity}', '{"loss": 0.25}']
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    assert read_curves(tmp_path) == (
        [CurvePoint("loss", 0.5, 10), CurvePoint("auc", 1.0, 10), CurvePoint("loss", 0.25, 3)],
        "",
    )


def test_without_the_file_there_are_no_curves(tmp_path: Path) -> None:
    """Most programs write none."""
    assert read_curves(tmp_path) == ([], "")


@pytest.mark.parametrize(
    "line", ["[1]", '{"loss": "low"}', '{"step": -1}', '{"step": 0.5}', "{", '{"loss": true}', "1e999"]
)
def test_a_line_of_another_form_ends_the_curves_with_its_number(tmp_path: Path, line: str) -> None:
    """What came before is kept."""
    (tmp_path / "metrics.jsonl").write_text(f'{{"loss": 1}}\n{line}\n{{"loss": 2}}\n')
    points, left_out = read_curves(tmp_path)
    assert points == [CurvePoint("loss", 1.0, 0)]
    assert left_out == "metrics.jsonl, line 2: no JSON object of numbers"


def test_a_link_or_a_pipe_is_not_followed(tmp_path: Path) -> None:
    """The working directory is untrusted: nothing outside of it is read, and nothing blocks."""
    (tmp_path / "outside").write_text('{"loss": 1}')
    for number, make in enumerate((lambda path: path.symlink_to(tmp_path / "outside"), os.mkfifo)):
        place = tmp_path / str(number)
        place.mkdir()
        make(place / "metrics.jsonl")
        points, left_out = read_curves(place)
        assert points == []
        assert left_out.startswith("metrics.jsonl was not read")
