"""What `comind inspect` prints of a competition."""

from pathlib import Path

from comind.app.inspection import inspect_competition, inspection_text
from tests.unit.competitions.folders import competition_folder, write


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


def test_what_is_not_used_is_named(tmp_path: Path) -> None:
    """Further tables, files, columns of one value and columns that only train.csv has, with counts."""
    folder = competition_folder(tmp_path)
    train = [f"{row},{row / 2},1,{row % 7},{'yes' if row % 4 == 0 else 'no'}" for row in range(40)]
    write(folder, "train.csv", ["id,x,one,after,label", *train])
    write(folder, "test.csv", ["id,x,one", *[f"{row},{row / 2},1" for row in range(40, 50)]])
    write(folder, "shops.csv", ["shop,town", "1,Oslo", "2,Bergen"])
    (folder / "public" / "maps").mkdir()
    for name in "ab":
        (folder / "public" / "maps" / f"{name}.svg").write_bytes(b"?" * 10)
    (folder / "public" / "maps" / "legend.txt").write_text("sea")
    values = inspect_competition(folder)
    assert (values["constant"], values["withheld"]) == (["one"], ["after"])
    assert values["files"] == [
        "shops.csv (2 rows, 2 columns)",
        "maps/*.svg (2 files, 20 bytes)",
        "maps/legend.txt (1 file, 3 bytes)",
    ]
    assert "\nfiles       shops.csv (2 rows, 2 columns), maps/" in inspection_text(values)
