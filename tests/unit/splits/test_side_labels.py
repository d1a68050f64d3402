"""Held-out labels leave every public file, whatever its form and the names in it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from comind.competitions.competition_folder import load_competition
from comind.competitions.data import CompetitionData
from comind.splits.leakage import seal_warnings
from comind.splits.split_plan import plan_split
from tests.unit.splits.sealed_worlds import PLANTS, build, seal, shown_texts, split, table_of

pytestmark = pytest.mark.slow

_CODED = ("one-hot", "codes")
_OF_CLASSES = ("lists", "by label")


@pytest.mark.parametrize(
    ("name", "first"),
    [(name, 1 + 60 * (number % 2)) for number, name in enumerate(PLANTS) if name not in _CODED],
)
def test_no_file_has_a_held_out_label(tmp_path: Path, name: str, first: int) -> None:
    """No text of a held-out label is left, and a line says what was done; test ids may be train ids."""
    kind = "classes" if name in _OF_CLASSES else "markers"
    train = table_of(kind)
    public = build(tmp_path, train, first=first)
    before = {path.name for path in public.iterdir()}
    PLANTS[name](public, train)
    (planted,) = {path.name for path in public.iterdir()} - before
    lines, held_out = seal(public, train)
    assert any(planted in line for line in lines), lines
    left = [text for name, text in shown_texts(public) if planted in name]
    if kind == "classes":
        assert not left
        return
    gone = train["target"][train["id"].isin(held_out)]
    assert not [label for label in gone for text in left if label in text]


@pytest.mark.parametrize("kind", ["numbers", "classes", "yes"])
@pytest.mark.parametrize(
    "name", ["tabs", "records", "other names", "equal features", "one-hot", "codes"]
)
def test_labels_of_any_kind_are_found(tmp_path: Path, kind: str, name: str) -> None:
    """Held-out rows leave the file, and the other rows stay."""
    train = table_of(kind)
    if kind == "numbers" and name in _CODED:
        return
    public = build(tmp_path, train, first=61)
    before = {path.name for path in public.iterdir()}
    PLANTS[name](public, train)
    (planted,) = {path.name for path in public.iterdir()} - before
    lines, held_out = seal(public, train)
    assert any(planted in line for line in lines)
    text = (public / planted).read_text()
    rows = text.count("{") if name == "records" else len(text.splitlines()) - 1
    assert rows == len(train) - len(held_out)


def test_features_stay(tmp_path: Path) -> None:
    """Columns that do not reproduce labels, and those that test rows have, too, are left as they are."""
    train = table_of("classes")
    public = build(tmp_path, train, first=61)
    test = pd.read_csv(public / "test.csv", dtype=str)
    rng = np.random.default_rng(3)
    both = pd.concat([train, test])[["id"]]
    both.assign(size=rng.normal(size=len(both))).to_csv(public / "sizes.csv", index=False)
    noisy = train["target"].where(rng.random(len(train)) < 0.7, "dog")
    train[["id"]].assign(guess=noisy).to_csv(public / "guesses.csv", index=False)
    given = [*train["target"], *rng.choice(train["target"], len(test))]
    both.assign(given=given).to_csv(public / "given.csv", index=False)
    before = {path.name: path.read_bytes() for path in public.iterdir()}
    folder, _ = split(public)
    for name in ("sizes.csv", "guesses.csv", "given.csv"):
        assert (folder.public / name).read_bytes() == before[name]
    (line,) = folder.read().warnings
    assert line == (
        "given.csv stays public, as test rows have such values, too: "
        "column 'given' has the values of 'target'"
    )


def test_what_cannot_be_searched_is_named(tmp_path: Path) -> None:
    """Binaries of no known form, pickles and encrypted archives are named with the reason."""
    public = build(tmp_path, table_of("yes"), first=1)
    (public / "model.bin").write_bytes(b"\x7fELF\0\0\1")
    (public / "rows.pkl").write_bytes(b"\x80\4.")
    folder, _ = split(public)
    assert folder.read().warnings == (
        "not searched for held-out labels, no form that is known: model.bin",
        "not searched for held-out labels, a pickle, which is not loaded: rows.pkl",
    )


def test_an_inspection_names_what_a_split_would_seal(tmp_path: Path) -> None:
    """Nothing is written, and files that show labels are named."""
    public = build(tmp_path, table_of("yes"), first=1)
    PLANTS["tabs"](public, table_of("yes"))
    before = {path.name: path.read_bytes() for path in public.iterdir()}
    plan = plan_split(CompetitionData.read(load_competition(public.parent)), seed=0)
    (line,) = seal_warnings(plan)
    assert line == "all_data.txt: column 'target' has the values of 'target'"
    assert {path.name: path.read_bytes() for path in public.iterdir()} == before


@pytest.mark.parametrize("key", ["name", "file", "filed as", "named"])
def test_a_document_has_any_keys(tmp_path: Path, key: str) -> None:
    """Records of a row each are searched whatever their keys are called, also like a column of ours."""
    train = table_of("markers")
    public = build(tmp_path, train, first=61)
    (public / "facts").mkdir()
    for number, label in train[["id", "target"]].to_numpy():
        (public / "facts" / f"{number}.json").write_text(json.dumps({key: label, "more": "x"}))
    _, held_out = seal(public, train)
    assert {path.stem for path in (public / "facts").iterdir()} == {*train["id"]} - held_out
