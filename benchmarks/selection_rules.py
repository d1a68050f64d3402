"""When a blend is accepted: true gain over the best candidate, by the least gain that a rule asks for.

`selection_blends.py` draws campaigns of twenty attempts; here are also pools of one good candidate
beside six that are guesses, worse, or its twins. Each is blended by weights selected on the holdout,
and by a stack learned on out-of-fold predictions of all. A rule accepts where the estimated gain exceeds
so many of its standard errors, else the best on the holdout is delivered. Scores are those on 20,000
other rows.
"""

import itertools
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.selection import COMMON
from benchmarks.selection_blends import FRESH, METRICS, TABLES, Maker, World, shown, world
from comind.grading.blending.cross_fit import OutOfFold, fit_blend
from comind.grading.blending.selection import CandidatePool, supported_means
from comind.grading.grader_port import BlendReport
from comind.splits.shuffling import validation_size

WORLDS = 10
LEAST = (1.0, 0.5, 0.0, -0.5, -1.0, -np.inf)
BESIDE = ("guesses", "worse", "twins")
BAD, FLIPPED = 6, 0.01
OTHERS = 4
"""Times the rows of the holdout that have out-of-fold predictions."""


def pool_beside(kind: str, name: str, table: int, rng: np.random.Generator) -> World:
    """Return one good candidate beside bad ones."""
    maker, rows = Maker(name, 0.5), validation_size(table, None)
    parts = []
    for count in (rows, OTHERS * rows, FRESH):
        quality = np.full(1 + BAD, -0.3)
        quality[0] = 0.0
        truth, predicted = maker.rows(rng, quality, None, count)
        if kind == "guesses":
            predicted[1:] = [rng.permutation(predicted[0]) for _ in range(BAD)]
        if kind == "twins":
            noise = 0.05 * rng.standard_normal((BAD, count))
            flipped = rng.random((BAD, count)) < FLIPPED
            labels = np.where(flipped, 1 - predicted[0], predicted[0])
            predicted[1:] = labels if name == "accuracy" else predicted[0] + noise
        parts.append((maker.table(truth), [maker.table(each) for each in predicted]))
    return World(maker, *parts, lines=np.zeros(1 + BAD))


def gains(found: World, report: BlendReport) -> list[float]:
    """Return the true gain of what each rule delivers, over the best on the holdout."""
    order = found.order
    if report.gain is None or len(report.members) == 1:
        return [0.0] * len(LEAST)
    tables = [found.fresh[1][number] for number in order]
    pool = CandidatePool(found.metric, found.fresh[0], tables, supported_means(found.metric))
    predicted = pool.predict(pool.selection_of(report), np.arange(FRESH))
    gained = found.score(found.fresh, predicted) - float(found.true[order[0]])
    estimate, error = report.gain.difference, report.gain.standard_error
    return [gained if estimate > least * error or estimate == least == 0 else 0.0 for least in LEAST]


def both(found: World) -> Iterator[list[float]]:
    """Yield the gains of an average and of a stack."""
    tables = [found.holdout[1][number] for number in found.order]
    others = {place: found.folds[1][number] for place, number in enumerate(found.order)}
    rows = OutOfFold(found.folds[0], others)
    yield gains(found, fit_blend(found.metric, found.holdout[0], tables))
    yield gains(found, fit_blend(found.metric, found.holdout[0], tables, out_of_fold=rows))


def kinds() -> Iterator[tuple[str, str, int]]:
    """Yield the kinds of pools: what they hold, metric, rows of train.csv."""
    yield from itertools.product(map(str, COMMON), METRICS, TABLES)
    yield from itertools.product(BESIDE, METRICS, TABLES)


def main(worlds: int) -> None:
    """Print a line for each kind, and the means."""
    heads = [f"{what} {least:g}" for what in ("average", "stack") for least in LEAST]
    print(f"| pool | metric | rows | {' | '.join(heads)} |\n{'|---' * (3 + len(heads))}|")
    sums = []
    for pool, name, table in kinds():
        rng = np.random.default_rng([20261129, table, len(pool), len(name)])
        drawn = (
            pool_beside(pool, name, table, rng)
            if pool in BESIDE
            else world(Maker(name, float(pool)), table, rng)
            for _ in range(worlds)
        )
        found = np.array([np.concatenate([*both(each)]) for each in drawn])
        sums.append(found.mean(axis=0))
        cells = " | ".join(shown(column.tolist()) for column in found.T)
        print(f"| {pool} | {name} | {table} | {cells} |", flush=True)
    means = pd.DataFrame(sums).mean()
    print(f"| all | | | {' | '.join(f'{1000 * value:.2f}' for value in means)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS)
