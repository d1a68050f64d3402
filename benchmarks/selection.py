"""Which rule picks the best of many attempts: simulated campaigns whose true scores are known.

A score is a mean over rows; its unit here is a hundredth of the standard deviation of a row's score
(at an accuracy of 0.8 that is 0.4 points of accuracy). More is better. Each attempt takes one to eight
steps and delivers the one that is best on the holdout, so holdout scores are optimistic. Arrays have the
shape (worlds, attempts), with steps or folds behind. `selection_blends.py` has blends, row by row, and
`selection_search.py` what tuning to one holdout costs.
"""

import itertools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from comind.splits.shuffling import validation_size

WORLDS = 400
TABLES = (300, 1_000, 3_000, 10_000, 50_000)
ATTEMPTS = (5, 20, 100)
COMMON = (0.5, 0.8, 0.95)
SPREADS = (1.5, 4.0)
"""Standard deviation of true scores between attempts; within an attempt it is half of that."""
SHAPES = ("normal", "ceiling")
"""Of the true scores between attempts; under a ceiling many are about as good as the best."""
MOST_STEPS, MOST_FOLDS = 8, 4
SHARED_BY_STEPS = 0.5
"""Of the noise that is an attempt's own, what all its steps have in common."""
TRAINING = 0.2
"""Standard deviation of what other training rows change, in standard errors on the holdout."""
LONGER_IS_BETTER = 0.3
"""Correlation of length of code and true score, where it is not none."""


@dataclass(frozen=True)
class Cell:
    """One kind of campaign."""

    table: int
    """Rows of train.csv."""
    attempts: int
    common: float
    """Correlation of the row scores of two attempts."""
    spread: float
    shape: str

    @property
    def noise(self) -> float:
        """Standard error of a score on the holdout."""
        return 100 / validation_size(self.table, None) ** 0.5

    @property
    def own(self) -> float:
        """Standard error of what a score does not share with those of other attempts."""
        return self.noise * (1 - self.common) ** 0.5

    @property
    def folds(self) -> int:
        """Most folds of the holdout's size that the other rows give."""
        return min(MOST_FOLDS, self.table // validation_size(self.table, None) - 1)


@dataclass(frozen=True)
class Campaigns:
    """Simulated campaigns of one kind."""

    cell: Cell
    true: np.ndarray
    """What each attempt's delivered program scores in expectation."""
    holdout: np.ndarray
    folds: np.ndarray
    """Shape (worlds, attempts, folds): its script on further rows, trained on other ones."""
    lines: np.ndarray
    """Length of code, where that says nothing of the true score."""
    steps: np.ndarray
    graded: np.ndarray
    """Holdout scores of all steps, minus infinity where an attempt has fewer."""

    @property
    def finalists(self) -> np.ndarray:
        """Whether an attempt is within two standard errors of the paired difference of the best."""
        behind = self.holdout.max(axis=1, keepdims=True) - self.holdout
        return np.asarray(behind <= 2 * 2**0.5 * self.cell.own)

    def best(self, most: int) -> np.ndarray:
        """Return whether an attempt is one of the best so many finalists."""
        rank = (-self.holdout).argsort(axis=1).argsort(axis=1)
        return np.asarray(self.finalists & (rank < most))


def simulate(cell: Cell, worlds: int, rng: np.random.Generator, ladder: float = 0.0) -> Campaigns:
    """Return campaigns; a later step takes a leader's place where it gains `ladder` standard errors."""
    shape = (worlds, cell.attempts)
    level = rng.standard_normal(shape)
    if cell.shape == "ceiling":
        level = 1 - rng.exponential(size=shape)
    steps = rng.integers(1, MOST_STEPS + 1, shape)
    every = (*shape, MOST_STEPS)
    true = cell.spread * (level[..., None] + 0.5 * rng.standard_normal(every))
    shared = rng.standard_normal(shape)[..., None] * SHARED_BY_STEPS**0.5
    apart = (1 - SHARED_BY_STEPS) ** 0.5
    noise = cell.own * (shared + apart * rng.standard_normal(every))
    trained = TRAINING * cell.noise
    graded = true + noise + trained * rng.standard_normal(every)
    graded[np.arange(MOST_STEPS) >= steps[..., None]] = -np.inf
    needed = ladder * 2**0.5 * apart * cell.own
    best = np.zeros(shape, dtype=int)
    for step in range(1, MOST_STEPS):
        before = np.take_along_axis(graded, best[..., None], -1)[..., 0]
        best = np.where(graded[..., step] > before + needed, step, best)
    chosen = best[..., None]
    delivered = np.take_along_axis(true, chosen, -1)[..., 0]
    more = (*shape, cell.folds)
    shifts = trained * rng.standard_normal(more) + cell.own * rng.standard_normal(more)
    return Campaigns(
        cell=cell,
        true=delivered,
        holdout=np.take_along_axis(graded, chosen, -1)[..., 0],
        folds=delivered[..., None] + shifts,
        lines=rng.standard_normal(shape),
        steps=steps,
        graded=graded,
    )


# --- rules: campaigns -> the attempt that is picked, shape (worlds,) ---


def best_of(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the attempt with the highest value among some."""
    return np.asarray(np.where(among, values, -np.inf).argmax(axis=1))


def simplest(found: Campaigns, related: float = 0.0) -> np.ndarray:
    """Return the shortest program within one standard error of the paired difference of the best."""
    lines = (1 - related**2) ** 0.5 * found.lines + related * found.true / found.cell.spread
    behind = found.holdout.max(axis=1, keepdims=True) - found.holdout
    return best_of(-lines, behind <= 2**0.5 * found.cell.own)


def plain(found: Campaigns) -> np.ndarray:
    """Return the best attempt on the holdout."""
    return np.asarray(found.holdout.argmax(axis=1))


def corrected(found: Campaigns) -> np.ndarray:
    """Return holdout scores less the optimism that the number of an attempt's steps leads to.

    The expected maximum of so many normal values, times the share of noise in the spread of steps.
    """
    draws = np.random.default_rng(0).standard_normal((20_000, MOST_STEPS))
    expected = np.maximum.accumulate(draws, axis=1).mean(axis=0)
    own, trained = found.cell.own * (1 - SHARED_BY_STEPS) ** 0.5, TRAINING * found.cell.noise
    noise, total = own**2 + trained**2, own**2 + trained**2 + (found.cell.spread / 2) ** 2
    return np.asarray(found.holdout - expected[found.steps - 1] * noise / total**0.5)


def folded(weight: float, most: int = 5, folds: int = MOST_FOLDS, *, correct: bool = False) -> "Rule":
    """Return the rule that averages the folds of finalists and, with a weight, the holdout."""

    def pick(found: Campaigns) -> np.ndarray:
        used = found.folds[..., :folds]
        holdout = corrected(found) if correct else found.holdout
        values = weight * holdout + used.sum(axis=-1)
        return best_of(values, found.best(most))

    return pick


def race(found: Campaigns, most: int, errors: float) -> tuple[np.ndarray, np.ndarray]:
    """Return picks, and how many scripts were run on a fold.

    Fold by fold, finalists that are so many standard errors of the paired difference behind the best one
    on all rows so far are dropped; one that is left alone is picked.
    """
    left, total = found.best(most), found.holdout.copy()
    ran = np.zeros(len(total))
    for fold in range(found.cell.folds):
        active = left.sum(axis=1) > 1
        ran += np.where(active, left.sum(axis=1), 0)
        total = total + np.where(left & active[:, None], found.folds[..., fold], 0.0)
        mean = np.where(left, total / (fold + 2), -np.inf)
        allowed = errors * (2 / (fold + 2)) ** 0.5 * found.cell.own
        near = mean >= mean.max(axis=1, keepdims=True) - allowed
        left = np.where(active[:, None], left & near, left)
    return best_of(total, left), ran


def simplest_of_folds(found: Campaigns) -> np.ndarray:
    """Return the shortest of the finalists within one standard error on holdout and folds."""
    among = found.best(5)
    mean = (found.holdout + found.folds.sum(axis=-1)) / (1 + found.cell.folds)
    mean = np.where(among, mean, -np.inf)
    error = (2 / (1 + found.cell.folds)) ** 0.5 * found.cell.own
    return best_of(-found.lines, among & (mean.max(axis=1, keepdims=True) - mean <= error))


Rule = Callable[[Campaigns], np.ndarray]
RULES: dict[str, Rule] = {
    "simplest within one standard error": simplest,
    "the same, longer code better": lambda found: simplest(found, LONGER_IS_BETTER),
    "best on the holdout": plain,
    "best on the holdout, corrected for steps": lambda found: np.asarray(
        corrected(found).argmax(axis=1)
    ),
    "folds alone": folded(0.0),
    "folds, holdout a half": folded(0.5),
    "folds and holdout by rows": folded(1.0),
    "folds and corrected holdout": folded(1.0, correct=True),
    "the same, 8 finalists, dropped at one standard error": lambda found: race(found, 8, 1.0)[0],
    "simplest on folds and holdout": simplest_of_folds,
}


def regret(found: Campaigns, picked: np.ndarray) -> np.ndarray:
    """Return how much worse the picks are than the best attempts, shape (worlds,)."""
    chosen = np.take_along_axis(found.true, picked[:, None], 1)[:, 0]
    return np.asarray(found.true.max(axis=1) - chosen)


# --- tables ---


def cells() -> Iterable[Cell]:
    """Yield all kinds of campaigns."""
    for values in itertools.product(TABLES, ATTEMPTS, COMMON, SPREADS, SHAPES):
        yield Cell(*values)


def shown(values: Iterable[np.ndarray]) -> str:
    """Return the mean over cells and worlds, with its standard error."""
    found = [each for each in values if len(each)]
    mean = np.mean([each.mean() for each in found])
    error = np.sqrt(sum(each.var(ddof=1) / len(each) for each in found)) / len(found)
    return f"{mean:.2f} ±{error:.2f}"


def table(title: str, rules: dict[str, Rule], worlds: list[Campaigns]) -> None:
    """Print mean regret by rule, over all cells and by what they have in common."""
    by = [("all", lambda cell: True)]
    by += [(f"{n} rows", lambda cell, n=n: cell.table == n) for n in TABLES]
    by += [(f"{n} attempts", lambda cell, n=n: cell.attempts == n) for n in ATTEMPTS]
    by += [(f"common {n}", lambda cell, n=n: cell.common == n) for n in COMMON]
    print(f"\n| {title} | {' | '.join(name for name, _ in by)} |\n|{'---|' * (len(by) + 1)}")
    for name, rule in rules.items():
        lost = [(found.cell, regret(found, rule(found))) for found in worlds]
        row = [shown(values for cell, values in lost if of(cell)) for _, of in by]
        print(f"| {name} | {' | '.join(row)} |", flush=True)


def runs(found: Campaigns, most: int, folds: int) -> np.ndarray:
    """Return how many scripts are run on a fold; none where there is one finalist."""
    count = found.best(most).sum(axis=1)
    return np.where(count > 1, count, 0) * min(folds, found.cell.folds)


def effort(worlds: list[Campaigns]) -> None:
    """Print regret by numbers of finalists and folds, and how many scripts that runs."""
    print("\n| finalists, at most | folds | regret | scripts run |\n|---|---|---|---|")
    for most, folds in itertools.product((2, 3, 5, 8, 12), range(1, MOST_FOLDS + 1)):
        rule = folded(1.0, most, folds)
        lost = shown(regret(found, rule(found)) for found in worlds)
        ran = shown(runs(found, most, folds) for found in worlds)
        print(f"| {most} | {folds} | {lost} | {ran.split()[0]} |", flush=True)
    for most, errors in itertools.product((3, 5, 8, 12), (1.0, 2.0)):
        raced = [race(found, most, errors) for found in worlds]
        lost = shown(regret(found, picked) for found, (picked, _) in zip(worlds, raced, strict=True))
        ran = shown(count for _, count in raced)
        print(
            f"| {most}, dropped at {errors:g} | {MOST_FOLDS} | {lost} | {ran.split()[0]} |", flush=True
        )


def weights(worlds: list[Campaigns]) -> None:
    """Print regret by the weight of the holdout's rows and by number of folds."""
    numbers = (1, 2, 4)
    print(
        f"\n| weight of the holdout | {' | '.join(f'{n} folds' for n in numbers)} |\n|---|---|---|---|"
    )
    for weight in (0.0, 0.25, 0.5, 1.0, 1.5):
        rules = [folded(weight, 5, number) for number in numbers]
        row = [shown(regret(found, rule(found)) for found in worlds) for rule in rules]
        print(f"| {weight:g} | {' | '.join(row)} |", flush=True)


def main(worlds: int) -> None:
    """Print all tables."""
    rng = np.random.default_rng(20260103)
    drawn = [simulate(cell, worlds, rng) for cell in cells()]
    table("regret", RULES, drawn)
    effort(drawn)
    weights(drawn)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS)
