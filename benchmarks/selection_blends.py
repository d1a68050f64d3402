"""What picks and blends are worth on other rows: simulated campaigns, row by row, and our own blend.

Twenty attempts of one to eight steps, of which each delivers the best on the holdout. Errors on a row
have a part that all attempts share. Scores are those on 20,000 other rows, less the best attempt's
there; more is better.
"""

import itertools
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import ndtri

from benchmarks.selection import COMMON, LONGER_IS_BETTER, MOST_STEPS, SHARED_BY_STEPS
from comind.grading.blending.cross_fit import fit_blend
from comind.grading.blending.selection import CandidatePool, supported_means
from comind.metrics import known_metric
from comind.metrics.bootstrap import Bootstrap
from comind.splits.shuffling import validation_size

WORLDS = 6
METRICS = ("rmse", "roc-auc", "accuracy")
TABLES = (1_000, 10_000)
ATTEMPTS, FOLDS, FINALISTS = 20, 4, 8
FRESH = 20_000
SPREAD, TRAINED = 0.025, 0.2
"""As in `selection.py`: in standard deviations of a row's score; in standard errors on the holdout."""


@dataclass(frozen=True)
class Maker:
    """Draws rows for a metric: truth, and predictions by programs of some quality."""

    name: str
    common: float

    def rows(
        self, rng: np.random.Generator, quality: np.ndarray, shared: np.ndarray | None, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the truth, shape (rows,), and predictions, shape (programs, rows).

        `quality` has shape (programs,), in standard deviations of a row's score. `shared` numbers the
        attempt of each program where several are an attempt's steps.
        """
        common, own = rng.standard_normal(count), rng.standard_normal((len(quality), count))
        if shared is not None:
            attempts = rng.standard_normal((int(shared.max()) + 1, count))[shared]
            own = SHARED_BY_STEPS**0.5 * attempts + (1 - SHARED_BY_STEPS) ** 0.5 * own
        noise = self.common**0.5 * common + (1 - self.common) ** 0.5 * own
        label = rng.integers(0, 2, count)
        if self.name == "rmse":
            true = 2 * rng.standard_normal(count)
            return true, true + (1 - quality[:, None] / 2**0.5) * noise
        if self.name == "roc-auc":
            return label, label * (1.47 + 2 * quality[:, None]) + noise
        wrong = noise > ndtri(0.8 + 0.4 * quality)[:, None]
        return label, np.where(wrong, 1 - label, label)

    def table(self, values: np.ndarray) -> pd.DataFrame:
        """Return values as a column that the metric reads."""
        return pd.DataFrame({"y": values.astype(str) if self.name == "accuracy" else values})


@dataclass
class World:
    """One campaign: tables of the delivered programs on holdout, on folds and on other rows."""

    maker: Maker
    holdout: tuple[pd.DataFrame, list[pd.DataFrame]]
    folds: tuple[pd.DataFrame, list[pd.DataFrame]]
    fresh: tuple[pd.DataFrame, list[pd.DataFrame]]
    lines: np.ndarray

    def __post_init__(self) -> None:
        """Score everything, more is better."""
        self.metric = known_metric(self.maker.name)
        self.scores = np.array([self.score(self.holdout, each) for each in self.holdout[1]])
        self.true = np.array([self.score(self.fresh, each) for each in self.fresh[1]])
        self.order = (-self.scores).argsort().tolist()

    def score(self, rows: tuple[pd.DataFrame, list[pd.DataFrame]], table: pd.DataFrame) -> float:
        """Return a score on some rows, more is better."""
        value = self.metric.score(rows[0], table)
        return value if self.metric.maximize else -value

    def tied(self, errors: float) -> list[int]:
        """Return the attempts within so many standard errors of the best on the holdout, best first."""
        first = self.order[0]
        return [n for n in self.order if n == first or self.behind[n] <= errors]

    @cached_property
    def behind(self) -> dict[int, float]:
        """How many standard errors of the paired difference each attempt is behind the best."""
        truth, tables = self.holdout
        resampling, found = Bootstrap(len(truth)), {}
        for number in self.order[1:]:
            paired = resampling.compare(self.metric, truth, tables[self.order[0]], tables[number])
            found[number] = paired.difference / max(paired.standard_error, 1e-12)
        return found

    def together(self, number: int) -> pd.DataFrame:
        """Return an attempt's predictions on holdout and folds."""
        return pd.concat([self.holdout[1][number], self.folds[1][number]], ignore_index=True)

    @property
    def truth(self) -> pd.DataFrame:
        """The truth of holdout and folds."""
        return pd.concat([self.holdout[0], self.folds[0]], ignore_index=True)


def world(maker: Maker, table: int, rng: np.random.Generator) -> World:
    """Return a campaign."""
    rows = validation_size(table, None)
    steps = rng.integers(1, MOST_STEPS + 1, ATTEMPTS)
    attempt = np.repeat(np.arange(ATTEMPTS), steps)
    quality = SPREAD * (rng.standard_normal(ATTEMPTS)[attempt] + 0.5 * rng.standard_normal(len(attempt)))
    trained = TRAINED / rows**0.5
    truth, predicted = maker.rows(
        rng, quality + trained * rng.standard_normal(len(attempt)), attempt, rows
    )
    metric, true = known_metric(maker.name), maker.table(truth)
    tables = [maker.table(each) for each in predicted]
    sign = 1 if metric.maximize else -1
    scores = np.array([sign * metric.score(true, each) for each in tables])
    chosen = [max(np.flatnonzero(attempt == n), key=lambda step: scores[step]) for n in range(ATTEMPTS)]
    delivered = quality[chosen]
    parts = [
        maker.rows(rng, delivered + trained * rng.standard_normal(ATTEMPTS), None, rows)
        for _ in range(FOLDS)
    ]
    folded = np.concatenate([part[0] for part in parts]), np.concatenate([p[1] for p in parts], axis=1)
    fresh = maker.rows(rng, delivered, None, FRESH)
    lines = LONGER_IS_BETTER * delivered / SPREAD + rng.standard_normal(ATTEMPTS)
    return World(
        maker=maker,
        holdout=(true, [tables[step] for step in chosen]),
        folds=(maker.table(folded[0]), [maker.table(each) for each in folded[1]]),
        fresh=(maker.table(fresh[0]), [maker.table(each) for each in fresh[1]]),
        lines=lines,
    )


@dataclass(frozen=True)
class Blend:
    """What the platform's blend of some attempts is, and what it is worth on other rows."""

    members: list[int]
    score: float


def blended(found: World, numbers: list[int], *, folds: bool) -> Blend | None:
    """Return the platform's blend of some attempts, selected and judged with or without the folds."""
    truth = found.truth if folds else found.holdout[0]
    tables = [found.together(number) if folds else found.holdout[1][number] for number in numbers]
    report = fit_blend(found.metric, truth, tables)
    if report.reason:
        return None
    means = supported_means(found.metric)
    pool = CandidatePool(
        found.metric, found.fresh[0], [found.fresh[1][number] for number in numbers], means
    )
    predicted = pool.predict(pool.selection_of(report), np.arange(FRESH))
    return Blend([numbers[member] for member in report.members], found.score(found.fresh, predicted))


def outcomes(found: World) -> dict[str, float]:
    """Return the true score of each rule's result, less that of the best attempt."""
    tied, near = found.tied(1.0), found.tied(2.0)[:FINALISTS]
    truth, true = (found.truth, []), found.true
    means = [found.score(truth, found.together(number)) for number in range(ATTEMPTS)]

    def best_first(numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=lambda number: -means[number])

    folded = best_first(near)[0]
    alone = blended(found, found.order, folds=False)
    more = {*near, *(alone.members if alone else ())}
    blends = {
        "blend on the holdout": alone,
        "blend of finalists": blended(found, best_first(near), folds=True),
        "blend of finalists and the blend's members": blended(found, best_first(more), folds=True),
        "blend of all": blended(found, best_first(range(ATTEMPTS)), folds=True),
    }
    values = {
        "simplest": true[min(tied, key=lambda number: found.lines[number])],
        "best on the holdout": true[found.order[0]],
        "folds and holdout": true[folded],
        "blend on the holdout, else its best": alone.score if alone else true[found.order[0]],
        **{name: each.score if each else true[folded] for name, each in blends.items()},
    }
    return {name: float(value - true.max()) for name, value in values.items()}


def shown(values: list[float]) -> str:
    """Return mean and standard error, in thousandths."""
    error = np.std(values, ddof=1) / len(values) ** 0.5
    return f"{1000 * np.mean(values):.1f} ±{1000 * error:.1f}"


def main(worlds: int, metrics: tuple[str, ...]) -> None:
    """Print a row for each kind of campaign."""
    kinds = list(itertools.product(metrics, TABLES, COMMON))
    for number, (name, table, common) in enumerate(kinds):
        rng = np.random.default_rng([20260104, table, int(100 * common)])
        lost = [outcomes(world(Maker(name, common), table, rng)) for _ in range(worlds)]
        if not number:
            print(f"| thousandths of | rows | common | {' | '.join(lost[0])} |")
            print("|---" * (3 + len(lost[0])) + "|")
        cells = [shown([each[rule] for each in lost]) for rule in lost[0]]
        print(f"| {name} | {table} | {common} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS, tuple(sys.argv[2:]) or METRICS)
