"""A split with coin flips for labels, and its real grader, which answers as a campaign is answered."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from comind.competitions.competition_folder import load_competition
from comind.domain.metric import Paired
from comind.grading.grader_port import BlendCandidate, BlendReport, GradeReport
from comind.grading.grader_server import SplitGrader
from comind.splits.extra_folds import make_fold
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from tests.unit.competitions.folders import competition_folder, write

__all__ = ["SITES", "Table", "World", "half_unit", "has_digits"]

SITES = "nesw"
"""Blocks of the rows, which validation.csv shows."""


def half_unit(told: float, error: float, digits: int = 5) -> float:
    """Return how far a number with a standard error may be from what was told of it."""
    tenth = error / 10
    power = 10.0 ** math.floor(math.log10(tenth))
    unit = power * max(each for each in (1, 2, 5) if each == 1 or each * power <= tenth)
    coarsest = 10.0 ** (math.floor(math.log10(abs(told))) - digits + 1) if told else 0.0
    return 0.5 * max(unit, coarsest) * (1 + 1e-6)


def has_digits(told: float, most: int) -> bool:
    """Whether a number has no more significant digits than that."""
    return told == float(f"{told:.{most}g}")


class Table:
    """Rows that are predicted, and where the files for them are kept."""

    def __init__(self, split: SplitFolder, place: Path) -> None:
        """Read what is public of a split or a fold."""
        public = pd.read_csv(split.public / "validation.csv", dtype=str)
        self.ids = public["id"].tolist()
        self.sites = public["site"].to_numpy()
        train = pd.read_csv(split.public / "train.csv", dtype=str)
        self.train = dict(zip(train["id"], train["label"].astype(int), strict=True))
        self._place = place

    def write(self, name: str, probabilities: np.ndarray) -> Path:
        """Return the file with a submission."""
        path = self._place / f"{name}.csv"
        rows = (f"{row},{p!r}" for row, p in zip(self.ids, probabilities.tolist(), strict=True))
        path.write_text("\n".join(["id,label", *rows]) + "\n")
        return path


class World:
    """One competition, its split with one fold, and the answer key, which only the referee reads."""

    def __init__(self, root: Path, rows: int, seed: int) -> None:
        """Make a split with so many validation rows."""
        random = np.random.default_rng(seed)
        rule = {"kind": "stratified", "column": "site", "fraction": 0.25}
        folder = competition_folder(root, metric="log-loss", split=rule)
        sites = [SITES[row % len(SITES)] for row in range(4 * rows)]
        labels = random.integers(0, 2, 4 * rows)
        table = [f"{row},{site},{labels[row]}" for row, site in enumerate(sites)]
        write(folder, "train.csv", ["id,site,label", *table])
        test = [f"{4 * rows + row}" for row in range(10)]
        write(folder, "test.csv", ["id,site", *(f"{row},n" for row in test)])
        write(folder, "sample_submission.csv", ["id,label", *(f"{row},0" for row in test)])
        answers = ["id,label", *(f"{row},0" for row in test)]
        (folder / "private" / "answers.csv").write_text("\n".join(answers) + "\n")
        self._test = folder / "public" / "sample_submission.csv"
        split = make_split(load_competition(folder), root / "splits", seed=0)
        self.validation, self.fold = (Table(each, root) for each in (split, make_fold(split, 1)))
        self._grader = SplitGrader(split)
        key = pd.read_csv(split.answers, dtype=str).set_index("id")["label"].astype(int)
        self._truth = key.reindex(self.validation.ids).to_numpy()

    def known(self, beliefs: np.ndarray) -> int:
        """Return how many labels these beliefs have right beyond half of them."""
        right = (beliefs > 0.5) == (self._truth == 1)
        undecided = beliefs == 0.5
        return round(float(np.where(undecided, 0.5, right).sum()) - len(right) / 2)

    def grade(self, file: Path, fold: int = 0) -> GradeReport:
        """Return what the grader says of a submission."""
        return self._grader.fold(fold).grade(file, self._test)

    def block_errors(self, p: np.ndarray) -> dict[str, float]:
        """Return the standard errors of blocks, which no agent is told; the player may know them."""
        found, losses = {}, np.where(self._truth == 1, p, 1 - p)
        losses = -np.log(np.clip(losses, 1e-15, 1))
        for site in SITES:
            rows = losses[self.validation.sites == site]
            groups = np.arange(len(rows)) % 20
            left = np.array([rows[groups != group].mean() for group in range(20)])
            found[site] = float(left.std() * math.sqrt(19))
        return found

    def compare(self, one: Path, other: Path, fold: int = 0) -> Paired:
        """Return what the grader says of two."""
        return self._grader.fold(fold).compare(one, other)

    def errors(self, files: Sequence[Path]) -> tuple[tuple[float, ...], ...]:
        """Return a table of errors."""
        return self._grader.errors(files).correlations

    def blend(self, files: Sequence[Path], folds: Mapping[int, Sequence[Path]]) -> BlendReport:
        """Return the blend of submissions."""
        more = zip(*folds.values(), strict=True) if folds else [()] * len(files)
        candidates = [BlendCandidate(*each) for each in zip(files, more, strict=True)]
        return self._grader.blend(candidates, list(folds))
