"""The profile of a split reports planted properties, and only these."""

import wave
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from comind.competitions.competition_folder import load_competition
from comind.domain.competition import SplitRule
from comind.llm.tokens import count_tokens
from comind.splits.split_files import make_split
from tests.unit.competitions.folders import competition_folder
from tests.unit.profile.public import facts, line, write_parts


def test_shares_of_train_values_are_told(tmp_path: Path) -> None:
    """The shares of groups, ids and whole rows of each partition that occur in train are shown."""
    train = {
        "id": [1, 2, 3, 4],
        "who": ["ann", "ann", "bob", "bob"],
        "x": [0.5, 1.5, 2.5, 3.5],
        "y": [0, 1, 0, 1],
    }
    validation = {"id": [5, 6], "who": ["ann", "cat"], "x": [0.5, 9.5]}
    test = {"id": [1, 8, 9, 10], "who": ["ann", "bob", "bob", "dan"], "x": [7.5, 3.5, 2.5, 0.5]}
    text = facts(write_parts(tmp_path, train=train, validation=validation, test=test))
    assert line(text, "who: validation") == "who: validation 50 %, test 75 %"
    assert line(text, "id: validation") == "id: validation 0 %, test 25 %"
    assert "inputs but the ids: validation 50 %, test 50 %; within train 0 % repeat" in text


def test_days_of_times_are_compared(tmp_path: Path) -> None:
    """Times are compared exactly and by day, and their range is shown for each partition."""
    train = {"id": [1, 2], "at": ["2024-01-01 10:00:00", "2024-01-02 11:00:00"], "y": [1, 2]}
    validation = {"id": [3, 4], "at": ["2024-01-02 12:00:00", "2024-01-02 13:00:00"]}
    test = {"id": [5], "at": ["2024-02-01 00:00:00"]}
    text = facts(write_parts(tmp_path, train=train, validation=validation, test=test))
    assert line(text, "at: validation") == "at: validation 0 %, test 0 %"
    assert line(text, "the day of at") == "the day of at: validation 100 %, test 0 %"
    assert "test 2024-02-01 to 2024-02-01" in line(text, "at: time")


def test_constant_and_missing_columns_are_named(tmp_path: Path) -> None:
    """Columns that are constant in some or all partitions, or missing in one, are listed."""
    train = {"id": [1, 2], "year": [2019, 2019], "unit": ["m", "m"], "late": [1, 2], "y": [0, 1]}
    other = {"id": [3, 4], "year": [2020, 2021], "unit": ["m", "m"]}
    text = facts(write_parts(tmp_path, train=train, validation=other, test={**other, "more": [1, 2]}))
    assert "Constant in train, not in validation and test: year" in text
    assert "Constant everywhere: unit" in text
    assert "Not in validation and test: late" in text
    assert "In test, not in train: more" in text
    assert "always 2019" in line(text, "year: int")


def test_labels_are_told_by_class_or_quantile(tmp_path: Path) -> None:
    """Labels with few values are described by shares, others by quantiles."""
    rows = 1_000
    train = {"id": range(rows), "y": ["no"] * 900 + ["yes"] * 100, "z": np.arange(rows) / 4}
    public = write_parts(tmp_path, train=train)
    text = facts(public, label_columns=("y", "z"))
    assert line(text, "y:") == "y: text, 2 classes: no 90 %, yes 10 %"
    assert (
        line(text, "z:")
        == "z: float, all different, 0 | 2.25 62.25 124.8 187.2 247.2 | 249.8, mean 124.9"
    )


def test_labels_that_are_alike_share_a_line(tmp_path: Path) -> None:
    """For many binary labels, the rarest and the most frequent one are shown."""
    rare = {f"label_{at}": [1] * (at + 1) + [0] * (9 - at) for at in range(6)}
    public = write_parts(tmp_path, train={"id": range(10), **rare})
    text = facts(public, label_columns=tuple(rare))
    assert line(text, "label_0..label_5").endswith(
        "about 2 values each, means 0.1 to 0.6, all within 0 to 1"
    )


def test_all_rows_are_read(tmp_path: Path) -> None:
    """Properties that only the last of many rows has are found: a word, a missing cell, a value."""
    rows = 30_000
    train = {
        "id": range(rows),
        "code": [*range(rows - 1), "late"],
        "gap": [*np.full(rows - 1, 0.5), None],
        "x": [*np.full(rows - 1, 0.25), 900.0],
        "y": [0, 1] * (rows // 2),
    }
    text = facts(write_parts(tmp_path, train=train))
    assert line(text, "code: text").startswith("code: text (over 99.9 % are numbers), all different")
    assert line(text, "gap: float") == "gap: float, under 0.1 % missing, always 0.5"
    assert line(text, "x: float") == "x: float, 2 values: 0.25 over 99.9 %, 1 rarer"


def test_differences_of_other_parts_are_told(tmp_path: Path) -> None:
    """Differences of validation or test in missing cells, ranges or shares are shown."""
    rows = 100
    train = {"id": range(rows), "x": np.arange(rows), "kind": ["a", "b"] * 50, "y": [0, 1] * 50}
    test = {"id": range(rows), "x": np.arange(rows) + 500.0, "kind": ["a"] * 90 + [None] * 10}
    text = facts(write_parts(tmp_path, train=train, test=test))
    assert "test median 549, test from 500 to 599" in line(text, "x: int")
    assert "test 10 missing (10 %), test a 90 % and b 0 %" in line(text, "kind: text")


def test_like_columns_share_a_line(tmp_path: Path) -> None:
    """Columns whose names differ only in digits are described together."""
    pixels = {f"pixel{at}": np.arange(10) + at for at in range(300)}
    text = facts(write_parts(tmp_path, train={"id": range(10), **pixels, "y": [0, 1] * 5}))
    told = line(text, "pixel0..pixel299 (300 columns)")
    assert told.endswith("int, about 9 to 10 values each, means 4.5 to 303.5, all within 0 to 308")
    assert "pixel7:" not in text


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (SplitRule(kind="random"), "rows at random"),
        (SplitRule(kind="stratified", column="y"), "rows at random, each value of y in proportion"),
        (SplitRule(kind="group", column="who"), "whole groups of one who"),
        (SplitRule(kind="group", column="at", by="date"), "whole days of at"),
        (SplitRule(kind="time", column="at", horizon_days=7), "the last 7 days by at"),
        (SplitRule(kind="time", column="at"), "the last rows by at"),
        (
            SplitRule(kind="time", column="at", within="month", horizon_days=4),
            "the last 4 days of each month by at",
        ),
        (
            SplitRule(kind="group", column="id", by="parts", parts=(1, 2)),
            "whole groups of one id (parts 1 and 2 of it), chosen at random",
        ),
        (
            SplitRule(kind="group", by="place", columns=("x", "y"), sizes=(0.5, 2.0)),
            "whole blocks of x and y, 0.5 by 2, chosen at random",
        ),
        (
            SplitRule(kind="group", by="twins", columns=("a", "b", "c", "d")),
            "whole groups of rows that are equal in a, b, c and 1 more, chosen at random",
        ),
    ],
)
def test_the_split_is_told(tmp_path: Path, rule: SplitRule, told: str) -> None:
    """The split of validation is described with share, seed and reason."""
    parts = {"train": {"id": range(8), "y": [0, 1] * 4}, "validation": {"id": [8, 9]}}
    text = facts(write_parts(tmp_path, **parts), rule=rule)
    said = line(text, "validation.csv holds")
    assert said.startswith(f"validation.csv holds 20 % of the 10 labelled rows: {told}")
    assert "seed 3; a test says so" in said


def _folder_of_clips(public: Path) -> None:
    rows = {"train": ["a0", "a1", "a2"], "validation": ["a3"], "test": ["b1"]}
    write_parts(
        public,
        **{
            name: {"id": ids} | ({"y": [0, 1, 0]} if name == "train" else {})
            for name, ids in rows.items()
        },
    )
    for name in ("clips", "images", "by_row"):
        (public / name).mkdir()
    for number, name in enumerate(chain.from_iterable(rows.values())):
        with wave.open(str(public / "clips" / f"{name}_take.wav"), "wb") as audio:
            audio.setparams((1, 2, 8000, 0, "NONE", ""))
            audio.writeframes(b"\0\0" * 4000 * (number + 1))
        Image.new("L", (10 + number, 20)).save(public / "images" / f"{name}.png")
        (public / "by_row" / name).mkdir()
        (public / "by_row" / name / "notes.txt").write_text(f"notes on {name}\nmore\n")


def test_folders_are_told_with_their_rows(tmp_path: Path) -> None:
    """Images and audio are described with their shapes and the columns that name them."""
    _folder_of_clips(tmp_path)
    text = facts(tmp_path)
    assert "pictures 10 to 14 (median 12) wide, 20 high, mode L" in text
    assert "sounds 0.5 to 2.5 (median 1.5) s, 8000 Hz, 1 channel" in text
    each = "100 % of train rows, 100 % of validation rows, 100 % of test rows"
    assert f"named <id>.png: {each}" in text
    assert f"named <id>_....wav: {each}" in text
    assert f"in folders named <id>/: {each}" in text
    assert "notes on a0" in text


def test_side_tables_are_told_with_their_keys(tmp_path: Path) -> None:
    """Side tables are described with the share of each partition's rows that join them."""
    write_parts(tmp_path, train={"id": [1, 2], "y": [0, 1]}, validation={"id": [3]}, test={"id": [4, 5]})
    side = pd.DataFrame({"id": [1, 1, 2, 3, 4], "charge": [0.1, 0.2, 0.3, 0.4, 0.5]})
    side.to_csv(tmp_path / "atoms.csv", index=False)
    side.to_csv(tmp_path / "atoms.tsv", index=False, sep="\t")
    side.to_json(tmp_path / "atoms.jsonl", orient="records", lines=True)
    side.to_parquet(tmp_path / "atoms.parquet")
    text = facts(tmp_path)
    told = "by id it has rows for 100 % of train rows, 100 % of validation rows, 50 % of test rows"
    assert text.count(told) == 4
    assert text.count("charge: float, all different, 0.1 | 0.1 0.2 0.3 0.4 0.5 | 0.5") == 4


def test_the_same_files_give_the_same_text(tmp_path: Path) -> None:
    """A copy of the folder has the same profile."""
    rng = np.random.default_rng(0)
    rows = 5_000
    train = {
        "id": range(rows),
        "x": rng.normal(size=rows),
        "k": rng.integers(0, 90, rows),
        "y": [0, 1] * 2_500,
    }
    texts = {facts(write_parts(tmp_path / name, train=train)) for name in ("one", "two", "two")}
    assert len(texts) == 1


def test_what_is_sealed_makes_no_difference(tmp_path: Path) -> None:
    """The profile of a real split does not depend on files outside its public folder."""
    split = make_split(load_competition(competition_folder(tmp_path)), tmp_path / "splits", seed=0)
    read = split.read()
    before = facts(split.public, rule=read.rule, label_columns=("label",), target_columns=("label",))
    for path in split.sealed.rglob("*"):
        if path.is_file():
            path.unlink()
    after = facts(split.public, rule=read.rule, label_columns=("label",), target_columns=("label",))
    assert before == after
    assert "label: text, 2 classes: no 73 %, yes 27 %" in after


def test_a_wide_table_stays_within_its_tokens(tmp_path: Path) -> None:
    """With many dissimilar columns, all sections are abbreviated to fit the budget."""
    names = [f"{first}{second}{third}" for first in "ab" for second in "klmnop" for third in "uvwxyz"]
    train = pd.DataFrame(
        {"id": range(30), **{name: np.arange(30) % 7 for name in names}, "y": [0, 1] * 15}
    )
    public = write_parts(tmp_path, train=train, test=train.drop(columns="y"))
    (public / "notes.txt").write_text("first line of the notes\n")
    for tokens in (700, 1_500):
        text = facts(public, tokens=tokens)
        assert count_tokens(text) <= tokens
        for said in (
            "train.csv: 30 rows, 74 columns",
            "y: int, 2 classes",
            "inputs but the ids",
            "aku: int",
            "first line of the notes",
        ):
            assert said in text, (tokens, said)


def test_ids_of_test_that_stand_in_train_are_counted(tmp_path: Path) -> None:
    """Ids in both parts are counted, and how many name the same row; ids that are new give no line."""
    train = {"id": [1, 2, 3], "x": [5, 6, 7], "y": [0, 1, 0]}
    validation, test = {"id": [4, 5], "x": [5, 6]}, {"id": [1, 2, 9, 8], "x": [5, 9, 7, 7]}
    text = facts(write_parts(tmp_path, train=train, validation=validation, test=test))
    told = "those of 2 of 4 test rows; 1 of these rows equals the train row with this id in all inputs"
    assert line(text, "Ids that stand in train and") == f"Ids that stand in train and test: {told}"


def test_ids_of_several_columns_are_compared_together(tmp_path: Path) -> None:
    """A place of train at another time is another id."""
    train = {"id": [1, 1], "week": [1, 2], "y": [0, 1]}
    public = write_parts(tmp_path, train=train, test={"id": [1, 1, 2], "week": [2, 3, 1]})
    ids = ("id", "week")
    text = facts(public, id_columns=ids, train_id_columns=ids)
    assert line(text, "Ids that stand in train and test") == (
        "Ids that stand in train and test: those of 1 of 3 test rows"
    )


def test_whether_equal_rows_agree_in_their_labels_is_told(tmp_path: Path) -> None:
    """Sets of train rows with equal inputs are counted by whether their labels are equal, too."""
    train = {"id": range(7), "x": [1, 1, 2, 2, 3, 3, 4], "y": ["a", "a", "b", "b", "a", "b", "a"]}
    text = facts(write_parts(tmp_path, train=train, test={"id": [7], "x": [9]}))
    assert "within train 43 % repeat another row" in text
    assert line(text, "Train rows that are equal") == (
        "Train rows that are equal in all inputs but the ids: 3 sets, of which 2 agree in the labels "
        "and 1 does not"
    )


def test_the_spread_of_labels_of_equal_rows_is_told(tmp_path: Path) -> None:
    """Labels that are numbers are compared by their standard deviation, which is told per label."""
    pairs = np.arange(40)
    train = {
        "id": range(80),
        "x": [*pairs, *pairs],
        "y": [*pairs, *pairs],
        "z": [*pairs, *pairs[::-1]],
    }
    public = write_parts(tmp_path, train=train, test={"id": [90], "x": [99]})
    told = line(facts(public, label_columns=("y", "z")), "Train rows that are equal")
    assert "40 sets, of which 0 agree in the labels and 40 do not" in told
    assert "as a share of that over all rows: y 0 %, z 141 %" in told


@pytest.mark.parametrize("poison", ["a", "b"])
def test_held_out_labels_change_no_fact(poison: str, tmp_path: Path) -> None:
    """Labels of validation, were they in its table, decide nothing about agreement."""
    train = {"id": [1, 2, 3], "x": [1, 1, 2], "y": ["a", "a", "b"]}
    other = {"id": [4, 5], "x": [1, 2], "y": [poison, poison]}
    text = facts(write_parts(tmp_path, train=train, validation=other, test={"id": [6], "x": [1]}))
    assert line(text, "Train rows that are equal").endswith(
        "1 set, of which 1 agrees in the labels and 0 do not"
    )


def _xyz(atoms: int) -> str:
    rows = "".join(f"atom {at} 0.5 1.5 Al\n" for at in range(atoms))
    return "#=====\n# Created by a tool\n#=====\nlattice_vector 1 0 0\n" + rows


def test_the_format_of_side_files_is_told_without_their_comments(tmp_path: Path) -> None:
    """Lines are counted with their fields, and comment lines are left out of those that are shown."""
    write_parts(tmp_path, train={"id": range(1, 6), "y": [0, 1, 0, 1, 0]})
    for number, atoms in enumerate((60, 40, 50, 50, 50), start=1):
        (tmp_path / "cells" / str(number)).mkdir(parents=True)
        (tmp_path / "cells" / str(number) / "geometry.xyz").write_text(_xyz(atoms))
    text = facts(tmp_path)
    forms = "5 fields in 98 % of lines, 4 fields in 2.0 % of lines"
    assert f"text, 44 to 64 (median 54) lines, {forms} (5 looked at)" in text
    assert "cells/2/geometry.xyz begins, 3 comment lines left out (#=====):" in text
    assert "\n    lattice_vector 1 0 0\n    atom 0 0.5 1.5 Al\n" in text


def test_a_small_side_file_is_shown_whole(tmp_path: Path) -> None:
    """The smallest of the files is shown whole, with its comments, if it is short enough."""
    write_parts(tmp_path, train={"id": [1, 2], "y": [0, 1]})
    (tmp_path / "cells").mkdir()
    for number, atoms in ((1, 60), (2, 3)):
        (tmp_path / "cells" / f"{number}.xyz").write_text(_xyz(atoms))
    shown = "".join(f"\n    {each}" for each in _xyz(3).splitlines())
    assert f"cells/2.xyz, whole:{shown}" in facts(tmp_path)


def test_prose_has_no_fields(tmp_path: Path) -> None:
    """Lines with many different numbers of words are not described as a table."""
    write_parts(tmp_path, train={"id": [1, 2], "y": [0, 1]})
    (tmp_path / "notes.txt").write_text("one\nand two\nthen three words\nat last four words\n")
    text = facts(tmp_path)
    assert "it, whole:\n    one" in text
    assert "fields" not in text
