"""Valid competitions pass all checks, whatever their style."""

import wave
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from comind.competitions.competition_checks import _check_named_files
from comind.competitions.competition_folder import load_competition
from comind.demos.make import DEMOS, make_demo
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.splits.checked_plan import check_competition
from tests.unit.competitions.folders import (
    Break,
    competition_folder,
    describe,
    in_turn,
    raw,
    text,
    write,
)

_RANDOM = {"kind": "random"}


def _rows(cell: Callable[[int], str], rows: int = 40) -> str:
    return "id,x,label\n" + "".join(f"{row},{row / 2},{cell(row)}\n" for row in range(rows))


def _one_hot(folder: Path) -> None:
    describe(metric="multiclass-log-loss", target_columns="sample_submission")(folder)
    rows = [f"{row},0.5,0.5" for row in range(40, 50)]
    write(folder, "sample_submission.csv", ["id,yes,no", *rows])


def _other_ids(folder: Path) -> None:
    describe(train_id_columns=["Id"], id_columns=["ForecastId"])(folder)
    text("train.csv", "id,x", "Id,x")(folder)
    text("test.csv", "id,x", "ForecastId,x")(folder)
    text("sample_submission.csv", "id,label", "ForecastId,label")(folder)


def _images_and_audio(folder: Path) -> None:
    (folder / "public" / "media").mkdir()
    for row in range(50):
        Image.new("RGB", (2, 2)).save(folder / "public" / "media" / f"{row}.png")
    with wave.open(str(folder / "public" / "media" / "a.wav"), "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(2)
        audio.setframerate(8000)
        audio.writeframes(b"\0\0" * 10)
    train = [f"{row},media/{row}.png,{'yes' if row % 4 == 0 else 'no'}" for row in range(40)]
    write(folder, "train.csv", ["id,x,label", *train])
    write(folder, "test.csv", ["id,x", *[f"{row},./media/{row}.png" for row in range(40, 50)]])


_FINE: dict[str, Break] = {
    "as it is": lambda _: None,
    "no split named": describe(split=None),
    "numbers to predict": in_turn(
        describe(metric="rmse", split=_RANDOM), raw("public/train.csv", _rows(lambda row: f"{row}e-1"))
    ),
    "several targets": in_turn(
        describe(
            metric="mae", split=_RANDOM, label_columns=["x", "label"], target_columns=["x", "label"]
        ),
        raw("public/train.csv", _rows(str)),
        raw("public/test.csv", "id\n" + "".join(f"{row}\n" for row in range(40, 50))),
        raw(
            "public/sample_submission.csv", "id,x,label\n" + "".join(f"{i},0,0\n" for i in range(40, 50))
        ),
    ),
    "one column a class": _one_hot,
    "other ids in train": _other_ids,
    "images and audio": _images_and_audio,
    "sample in another order": raw(
        "public/sample_submission.csv",
        "label,id\n" + "".join(f"no,{row}.0\n" for row in reversed(range(40, 50))),
    ),
    "ids 1 and 01": text("train.csv", "\n2,", "\n01,"),
    "byte order mark": raw("public/train.csv", b"\xef\xbb\xbf" + _rows(lambda i: "ab"[i % 2]).encode()),
    "lines of Windows": raw(
        "public/train.csv", _rows(lambda row: "ab"[row % 2]).replace("\n", "\r\n").encode()
    ),
    "lines of old Macs": raw(
        "public/train.csv", _rows(lambda row: "ab"[row % 2]).replace("\n", "\r").encode()
    ),
    "blank lines": raw("public/train.csv", "\n" + _rows(lambda row: "ab"[row % 2]) + "\n\n"),
    "whole documents in a cell": text(
        "train.csv", "3,1.5", '3,"' + "a line, and another\n" * 20_000 + '"'
    ),
    "names that look like code": in_turn(
        describe(label_columns=["$label"], target_columns=["$label"], split=None),
        text("train.csv", "id,x,label", "id,=1+1,$label"),
        text("test.csv", "id,x", "id,=1+1"),
        text("sample_submission.csv", "id,label", "id,$label"),
    ),
    "classes that look like code": raw(
        "public/train.csv", _rows(lambda row: ["$PARAMETER", "${HOME}", "nan"][row % 3])
    ),
    "texts longer than any file name": in_turn(
        describe(metric="exact-match", split=_RANDOM),
        raw("public/train.csv", _rows(lambda row: f"{row}" * 3000 + ".txt")),
    ),
    "empty texts": in_turn(
        describe(metric="exact-match", split=_RANDOM),
        raw("public/train.csv", _rows(lambda row: "" if row % 2 else "text")),
    ),
    "binary side files": in_turn(
        raw("public/more.csv", b"\0\xff"), raw("public/model.bin", b"\0"), raw("public/empty.csv", b"")
    ),
    "side table of other rows": raw("public/more/extra.csv", "shop,label\n1,yes\n"),
}


@pytest.mark.parametrize("name", _FINE)
def test_a_good_folder_passes(name: str, tmp_path: Path) -> None:
    """A competition that can be split, solved and graded passes all checks."""
    folder = competition_folder(tmp_path)
    _FINE[name](folder)
    plan = check_competition(load_competition(folder))
    assert 0 < len(plan.rows) < len(plan.data.train)


@pytest.mark.parametrize("name", DEMOS)
def test_the_demos_pass(name: str, tmp_path: Path) -> None:
    """The built-in demos pass all checks."""
    check_competition(load_competition(make_demo(name, tmp_path)))


def test_a_column_of_file_names_has_them_in_most_rows() -> None:
    """A file that is missing is one if more than half of the column's cells are files that are there."""
    columns = {"id_columns": ("id",), "label_columns": ("y",), "target_columns": ("y",)}
    competition = Competition(folder=Path("c"), id="c", title="C", **columns)
    table = pd.DataFrame({"file": [f"a{row}.png" for row in range(40)]})
    _check_named_files(competition, table, "train.csv", {f"a{row}.png" for row in range(20)})
    missing = r"'a21.png' of column 'file' is missing \(19 of 40 are\)"
    with pytest.raises(CompetitionError, match=missing):
        _check_named_files(competition, table, "train.csv", {f"a{row}.png" for row in range(21)})


@pytest.mark.parametrize(("broken", "fine"), [(1, True), (2, False)])
def test_a_few_unreadable_images_are_noted(tmp_path: Path, broken: int, *, fine: bool) -> None:
    """One image of fifty that is cut off is kept, and its row noted; of more, the first is a fault."""
    folder = competition_folder(tmp_path)
    _images_and_audio(folder)
    (folder / "public" / "media" / "a.wav").unlink()
    for row in range(broken):
        (folder / "public" / "media" / f"{row}.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    competition = load_competition(folder)
    if fine:
        [note] = check_competition(competition).notes
        assert note.startswith("1 of 50 images and sounds cannot be read, such as public/media/0.png (")
    else:
        with pytest.raises(CompetitionError, match=r"public/media/0\.png cannot be read"):
            check_competition(competition)
