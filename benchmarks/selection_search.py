"""What tuning to one holdout costs, and whether a ladder helps: simulated searches, true scores known.

Units as in `selection.py`: a hundredth of the standard deviation of a row's score; more is better.
"""

import itertools
import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.selection import (
    MOST_STEPS,
    TABLES,
    WORLDS,
    Campaigns,
    Cell,
    best_of,
    cells,
    folded,
    plain,
    shown,
    simulate,
)
from comind.domain.metric import expected_maximum, selection_optimism

LADDERS = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Standard errors of the paired difference that a gain has to exceed; 1: no parameter to choose."""
MOST = 100
"""Steps of the longest search."""
CHANGES = (0.5, 2.0)
"""Standard deviation of what a change to the leader gains."""
BIASES = (0.0, -0.5, -1.5)
"""Mean of what a change gains, in its standard deviations: most changes are for the worse."""
FINALISTS = 8
ALIKE = (0.8, 0.98)
"""Correlation of the row scores of a program and its changed version."""


@dataclass(frozen=True)
class Search:
    """How a search goes on: what a change to the leader is worth, and when it takes its place."""

    cell: Cell
    change: float
    bias: float
    alike: float


def climb(search: Search, ladder: float, worlds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return true scores, shape (worlds,), of the last leader and of the pick by folds from all steps.

    Each step changes the leader; its measured gain has to exceed `ladder` standard errors to replace it.
    """
    noise, alike = search.cell.noise, search.alike
    rng = np.random.default_rng(7)  # the same changes and the same noise for every ladder
    true, luck = np.zeros(worlds), noise * rng.standard_normal(worlds)
    tried, seen = [true], [true + luck]
    needed = ladder * noise * (2 * (1 - alike)) ** 0.5
    for _ in range(MOST):
        now = true + search.change * (search.bias + rng.standard_normal(worlds))
        its = alike * luck + noise * (1 - alike**2) ** 0.5 * rng.standard_normal(worlds)
        taken = now + its > true + luck + needed
        tried.append(now)
        seen.append(now + its)
        true, luck = np.where(taken, now, true), np.where(taken, its, luck)
    every, holdout = np.stack(tried, axis=1), np.stack(seen, axis=1)
    shape = (*every.shape, search.cell.folds)
    folds = every[..., None] + noise * (1 - alike) ** 0.5 * rng.standard_normal(shape)
    first = (-holdout).argsort(axis=1).argsort(axis=1) < FINALISTS
    picked = best_of(holdout + folds.sum(axis=-1), first)
    return true, np.take_along_axis(every, picked[:, None], 1)[:, 0]


def searches(worlds: int) -> None:
    """Print what a search gains by its ladder, over all kinds and by what they have in common."""
    by = ["all", *(f"{n} rows" for n in TABLES), *(f"mean {bias}" for bias in BIASES)]
    for place, title in enumerate(("last leader", f"pick of {FINALISTS} by folds")):
        print(f"\n| true gain after {MOST} changes, {title} | {' | '.join(by)} |")
        print("|---" * (len(by) + 1) + "|")
        for ladder in LADDERS:
            gains: dict[str, list[np.ndarray]] = {name: [] for name in by}
            for table, change, bias, alike in itertools.product(TABLES, CHANGES, BIASES, ALIKE):
                search = Search(Cell(table, 1, alike, change, "normal"), change, bias, alike)
                gained = climb(search, ladder, worlds)[place]
                for name in ("all", f"{table} rows", f"mean {bias}"):
                    gains[name].append(gained)
            row = " | ".join(map(shown, gains.values()))
            print(f"| {ladder:g} standard errors | {row} |", flush=True)


def within_attempts(worlds: int) -> None:
    """Print the true score of the pick where attempts deliver the leader of a ladder."""
    print(
        "\n| ladder within attempts | best on the holdout | folds and holdout by rows |\n|---|---|---|"
    )
    for ladder in LADDERS:
        rng = np.random.default_rng(20260103)
        drawn = [simulate(cell, worlds, rng, ladder) for cell in cells()]
        means = [shown(_true(found, rule(found)) for found in drawn) for rule in (plain, folded(1.0))]
        print(f"| {ladder:g} standard errors | {' | '.join(means)} |", flush=True)


def _true(found: Campaigns, picked: np.ndarray) -> np.ndarray:
    return np.asarray(np.take_along_axis(found.true, picked[:, None], 1)[:, 0])


def optimism(worlds: int) -> None:
    """Print the optimism of the best holdout score, and what the scores alone tell of it."""
    print("\n| attempts | table | optimism | estimated | were all equal |\n|---|---|---|---|---|")
    rng = np.random.default_rng(20260103)
    for attempts, table in itertools.product((5, 20, 100), TABLES):
        real, told, bound = [], [], []
        for cell in cells():
            if (cell.attempts, cell.table) != (attempts, table):
                continue
            found = simulate(cell, worlds, rng)
            best = best_of(found.holdout, np.ones_like(found.true, dtype=bool))
            real.append(found.holdout.max(axis=1) - _true(found, best))
            every = found.graded.reshape(len(best), attempts * MOST_STEPS)
            scores = [row[np.isfinite(row)].tolist() for row in every]
            error = 2**0.5 * cell.own
            told.append(np.array([selection_optimism(row, error) for row in scores]))
            bound.append(np.array([cell.own * expected_maximum(len(row)) for row in scores]))
        row = " | ".join(map(shown, (real, told, bound)))
        print(f"| {attempts} | {table} rows | {row} |", flush=True)


def main(worlds: int) -> None:
    """Print all tables."""
    searches(worlds)
    within_attempts(worlds)
    optimism(worlds // 4)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS)
