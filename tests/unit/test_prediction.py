"""A solution predicts other rows only where test.csv holds all that there is of a row."""

from pathlib import Path

import pytest

from comind.wiring.prediction import _other_file_of_test_rows


@pytest.mark.parametrize(
    ("cell", "name", "content", "found"),
    [
        ("red", "colours.csv", "colour,hue\nred,0\n", ""),
        ("img/b.png", "img/b.png", "", "img/b.png"),
        ("red", "sounds/7.wav", "", "sounds/7.wav"),
        ("red", "test/7/frames/1.jpg", "", "test/7/frames/1.jpg"),
        ("red", "visits.csv", "id,day\n3,1\n7,2\n", "visits.csv"),
        ("red", "history.csv", "id,day\n3,1\n4,2\n", ""),
    ],
    ids=["by value", "named file", "file by id", "folder by id", "rows of test", "rows of train"],
)
def test_other_files_of_test_rows_are_found(
    tmp_path: Path, cell: str, name: str, content: str, found: str
) -> None:
    """A file that a cell or an id names counts, and a table with ids of test rows; others do not."""
    (tmp_path / "test.csv").write_text(f"id,what\n7,{cell}\n")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(content)
    assert _other_file_of_test_rows(tmp_path, ["id"]) == found


def test_the_file_of_a_test_row_is_named(tmp_path: Path) -> None:
    """Of files with the name of a test row, one of test is named, not the train file."""
    (tmp_path / "test.csv").write_text("id\n7\n")
    for name in ("a_train", "test"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "7.jpg").touch()
    assert _other_file_of_test_rows(tmp_path, ["id"]) == "test/7.jpg"
