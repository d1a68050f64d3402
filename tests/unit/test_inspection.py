"""What `comind inspect` prints of a competition."""

from pathlib import Path

from comind.app.inspection import inspect_competition, inspection_text
from tests.unit.competitions.folders import competition_folder


def test_rows_add_up(tmp_path: Path) -> None:
    """Rows of train and validation are the labelled ones, in text and in JSON."""
    values = inspect_competition(competition_folder(tmp_path))
    rows = values["rows"]
    assert rows["labelled"] == rows["train"] + rows["validation"] + rows["excluded"] == 40
    assert rows["validation"] > 0
    text = f"40 labelled: {rows['train']} train + {rows['validation']} validation; {rows['test']} test"
    assert f"\nrows        {text}\n" in inspection_text(values)
    excluding = inspection_text(values | {"rows": rows | {"train": rows["train"] - 1, "excluded": 1}})
    assert " validation + 1 excluded; " in excluding
