"""No value, file or near-duplicate in train answers a validation row, where none answers a test row."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import soundfile
import yaml
from hypothesis import given
from hypothesis import strategies as st

from comind.competitions.competition_folder import load_competition
from comind.splits.split_files import make_split
from tests.examples import examples
from tests.unit.splits.pictures import picture

Rng = np.random.Generator
_SUFFIXES = {"pictures": ".png", "texts": ".txt", "sounds": ".wav"}
_RATE = 8000


@dataclass(frozen=True)
class Leaks:
    """What determines a row's label in other rows of its part, and in none of the other part."""

    files: str
    """What files the rows name: pictures, texts, sounds; or empty."""
    copies: int
    """Rows with the same file, or nearly the same; 1 for none."""
    exact: bool
    """Whether the copies are the same bytes."""
    columns: int
    """How many columns have values that train and test do not share."""
    twins: bool
    """Whether rows have others that are nearly equal in their measurements."""
    seed: int
    same_ids: bool = False
    """Whether test rows have ids of train rows."""

    def build(self, root: Path) -> pd.DataFrame:
        """Write the competition; return the rows by id, with a column for each way to know the label."""
        rng = np.random.default_rng(self.seed)
        rows = 500 if self.files else 1500
        ways = pd.DataFrame({"id": rng.permutation(rows)})
        if self.files:
            ways["file"] = np.arange(rows) // self.copies
        for number in range(self.columns):
            ways[f"column_{number}"] = rng.integers(0, 60, rows)
        if self.twins:
            ways["twins"] = rng.permutation(rows) // 3
        sides = [rng.random(rows)[ways[name]] < 0.3 for name in ways.columns[1:]] or [
            rng.random(rows) < 0.3
        ]
        clean = np.all(sides, axis=0) | ~np.any(sides, axis=0)  # rows of both sides are left out
        ways = ways.assign(test=sides[0])[clean].reset_index(drop=True)
        self._write(root / "leaks" / "public", ways, rng)
        return ways.set_index("id")

    def _write(self, public: Path, ways: pd.DataFrame, rng: Rng) -> None:
        public.mkdir(parents=True)
        table = ways[["id"]].copy()
        for name in ways.columns.intersection(["column_0", "column_1"]):
            table[name] = "v" + ways[name].astype(str)
        for number in range(4):
            measured = rng.normal(size=len(ways))
            if self.twins:
                measured = rng.normal(size=2000)[ways["twins"]] + 1e-5 * measured
            table[f"m_{number}"] = measured.round(7)
        if self.files:
            table["file"] = [f"files/{name}{_SUFFIXES[self.files]}" for name in ways["id"]]
            (public / "files").mkdir()
            for path, source in zip(table["file"], ways["file"], strict=True):
                (public / path).write_bytes(self._file(int(source), rng))
        table["target"] = (rng.normal(size=len(ways)) + ways.iloc[:, 1:-1].sum(axis=1)).round(3)
        table[~ways["test"]].to_csv(public / "train.csv", index=False)
        test = table[ways["test"]].drop(columns="target")
        if self.same_ids:
            test["id"] = table["id"][~ways["test"]].to_numpy()[: len(test)]
        test.to_csv(public / "test.csv", index=False)
        test[["id"]].assign(target=0.0).to_csv(public / "sample_submission.csv", index=False)
        (public / "description.md").write_text("# Leaks\n")
        columns = {"id_columns": ["id"], "label_columns": ["target"], "target_columns": ["target"]}
        described = {"id": "leaks", "title": "Leaks", "metric": "rmse", **columns}
        (public.parent / "competition.yaml").write_text(yaml.safe_dump(described))

    def _file(self, source: int, rng: Rng) -> bytes:
        """Return a copy of a file."""
        changed = not self.exact and rng.random() < 0.5
        own = np.random.default_rng([self.seed, source])
        if self.files == "texts":
            words = " ".join(f"{word:x}" for word in own.integers(0, 1 << 20, 80))
            return (words.upper() + " end" if changed else words).encode()
        buffer = io.BytesIO()
        if self.files == "pictures":
            image = picture(100_000 * self.seed + source)
            image.resize((72, 72)).save(buffer, "png") if changed else image.save(buffer, "png")
        else:
            samples = (own.normal(size=2000) * 3000).astype(np.int16)
            soundfile.write(buffer, samples, _RATE, format="FLAC" if changed else "WAV")
        return buffer.getvalue()


@st.composite
def leaks(draw: st.DrawFn) -> Leaks:
    """Return competitions with up to three independent ways to know a label."""
    files = draw(st.sampled_from(["", *_SUFFIXES]))
    twins = not files and draw(st.booleans())
    return Leaks(
        files=files,
        copies=draw(st.integers(1, 4)) if files else 1,
        exact=draw(st.booleans()),
        columns=draw(st.integers(0, 1 if files or twins else 2)),
        twins=twins,
        seed=draw(st.integers(0, 99)),
        same_ids=draw(st.booleans()),
    )


def _check(world: Leaks, root: Path) -> None:
    ways = world.build(root)
    folder = make_split(load_competition(root / "leaks"), root / "splits", seed=0)
    split = folder.read()
    train, validation = (
        ways.loc[pd.read_csv(folder.public / f"{part}.csv")["id"]] for part in ("train", "validation")
    )
    for way in ways.columns.drop("test"):
        answered = validation[way].isin(train[way])
        assert not answered.any(), f"{way} of {answered.mean():.0%} by {split.rule}: {split.rule_reason}"
    assert len(validation) >= 20
    assert len(train) >= 0.3 * (~ways["test"]).sum()


_KINDS = {
    "two columns": Leaks("", 1, exact=True, columns=2, twins=False, seed=0),
    "nearly equal rows and a column": Leaks("", 1, exact=True, columns=1, twins=True, seed=1),
    "pictures": Leaks("pictures", 3, exact=False, columns=0, twins=False, seed=2, same_ids=True),
    "texts and a column": Leaks("texts", 2, exact=False, columns=1, twins=False, seed=3, same_ids=True),
    "sounds and a column": Leaks("sounds", 3, exact=True, columns=1, twins=False, seed=4),
}


@pytest.mark.parametrize("kind", _KINDS)
def test_nothing_in_train_answers_a_validation_row(tmp_path: Path, kind: str) -> None:
    """Validation rows share no group, no copy of a file and no nearly equal row with train."""
    _check(_KINDS[kind], tmp_path)


@pytest.mark.torture
@examples(60)
@given(world=leaks())
def test_nothing_in_train_answers_any_validation_row(
    tmp_path_factory: pytest.TempPathFactory, world: Leaks
) -> None:
    """The same of any combination of these ways to know a label."""
    _check(world, tmp_path_factory.mktemp("leaks"))
