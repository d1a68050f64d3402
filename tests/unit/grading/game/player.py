"""A player that hands in what tells most of sealed labels, and works out all that it is told.

It knows our code, so it knows the draws of the bootstrap, too. Its first submissions carry a code: some
rows have odds of their own, so that each sum of losses stands for few sets of labels, and every other
row says one half, or what was learnt. What is told then rules candidates out: parts, score, difference,
bounds and standard error, which it computes for each candidate as the grader does. Its last submissions
say something of all other rows, and whatever is linear in the labels is solved for these.
"""

from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.special import ndtr, stdtrit

from comind.metrics.bootstrap import Bootstrap
from tests.unit.grading.game.world import SITES, World, half_unit, has_digits

__all__ = ["MESSAGE", "Player"]

MESSAGE = 16
"""Labels that a script on a fold, which has learnt from them, hides in its score."""

_UNIT = 1e-8  # of a hidden message
_LARGEST = 34.0  # log odds; the grader clips beyond 34.5
_MOST_SUMS, _MOST_SIMULATED = 300_000, 800
_LEVEL = 0.975


@dataclass
class _Asked:
    """A submission, and what was told of it."""

    file: Path
    p: np.ndarray
    score: float
    bounds: tuple[float, float]
    noise: float
    """The exact standard error of the score, of which agents are told the size alone."""
    parts: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    leader: "_Asked | None" = None
    gain: float = 0.0
    error: float = 0.0
    gain_noise: float = 0.0


def _losses(p: np.ndarray, labels: np.ndarray) -> np.ndarray:
    clipped = np.clip(p, 1e-15, 1 - 1e-15)
    return np.asarray(np.where(labels == 1, -np.log(clipped), -np.log(1 - clipped)))


def _near(told: float, values: np.ndarray, error: float, digits: int = 5) -> np.ndarray:
    """Return which values may have been told so; all, if none: what was believed before is wrong."""
    fits = np.abs(values - told) <= half_unit(told, error, digits) + 1e-12
    return fits if fits.any() else np.ones(len(values), dtype=bool)


def _codes(weights: np.ndarray) -> np.ndarray:
    """Return all sets of labels of some rows, shape (sets, rows)."""
    return (np.arange(2 ** len(weights))[:, None] >> np.arange(len(weights))) & 1


class Player:
    """Plays one campaign; with `scores_alone` it is told scores and their intervals alone."""

    def __init__(self, world: World, *, scores_alone: bool, coded: int, seed: int = 0) -> None:
        """Take how many rows of each block are `coded` in a submission; of all rows, if scores alone."""
        self._world, self._alone, self._coded = world, scores_alone, coded
        self._random = np.random.default_rng(seed)
        rows = len(world.validation.ids)
        self.beliefs = np.full(rows, 0.5)
        self._asked: list[_Asked] = []
        draws = Bootstrap(rows)._draws()  # no secret: their seed stands in our code
        self._draws = np.stack([np.bincount(draw, minlength=rows) for draw in draws]) / rows
        widened = stdtrit(rows - 1, _LEVEL) * np.sqrt(rows / (rows - 1))
        self._levels = [float(ndtr(-widened)), float(ndtr(widened))]

    def _ask(self, p: np.ndarray) -> _Asked:
        """Hand in a submission; every number is taken as it is shown."""
        file = self._world.validation.write(f"{id(self)}-{len(self._asked)}", p)
        report = self._world.grade(file)
        assert report.score is not None
        score, low, high = (float(told.strip(",[]")) for told in str(report.score).split()[1:])
        asked = _Asked(file, p, score, (low, high), report.score.interval.standard_error)
        assert all(has_digits(told, 5) for told in (score, low, high))
        if not self._alone:
            asked.parts = {part.name: part.value for each in report.parts for part in each.worst}
            assert all(has_digits(told, 3) for told in asked.parts.values())
            asked.errors = self._world.block_errors(p)
            if self._asked:
                asked.leader = min(self._asked, key=lambda each: each.score)
                paired = self._world.compare(file, asked.leader.file)
                asked.gain, asked.error = paired.shown
                asked.gain_noise = paired.standard_error
        self._asked.append(asked)
        return asked

    def _best_guess(self) -> np.ndarray:
        """Return what is known for sure; one half, where it is not."""
        return np.where(np.isin(self.beliefs, (0.0, 1.0)), self.beliefs, 0.5)

    def code(self) -> None:
        """Learn the labels of some rows that nothing is known of."""
        sites = self._world.validation.sites
        blocks = [np.isin(sites, list(SITES))] if self._alone else [sites == each for each in SITES]
        p, least, rows = self._best_guess(), 2e-5 * len(sites), []
        for number, block in enumerate(blocks):
            free = np.flatnonzero(block & (self.beliefs == 0.5))
            rows.append(self._random.choice(free, min(self._coded, len(free)), replace=False))
            weights = np.geomspace(_LARGEST, least * (1 + number / 7), len(rows[-1]))
            p[rows[-1]] = 1 / (1 + np.exp(weights))
        asked = self._ask(p)
        base = _losses(p, np.where(p == 1, 1, 0))
        odds = _losses(p, np.ones(len(p))) - _losses(p, np.zeros(len(p)))
        found = [_codes(each) for each in rows]
        for place, (block, chosen) in enumerate(zip(blocks, rows, strict=True)):
            if told := asked.parts.get(name := sites[block][0]):
                means = (base[block].sum() + found[place] @ odds[chosen]) / block.sum()
                found[place] = found[place][_near(told, means, asked.errors[name], 3)]
        every = np.concatenate(rows)
        fits = self._fitting(asked, base, odds[every], found, every)
        self.beliefs[every] = fits.mean(axis=0)

    def _fitting(
        self,
        asked: _Asked,
        base: np.ndarray,
        odds: np.ndarray,
        found: list[np.ndarray],
        rows: np.ndarray,
    ) -> np.ndarray:
        """Return the sets of labels for coded rows that fit all that was told, shape (sets, rows)."""
        while np.prod([float(len(each)) for each in found]) > _MOST_SUMS:
            longest = max(range(len(found)), key=lambda place: len(found[place]))
            found[longest] = self._random.permutation(found[longest])[: len(found[longest]) // 2]
        sets = reduce(
            lambda one, other: np.hstack(
                [np.repeat(one, len(other), axis=0), np.tile(other, (len(one), 1))]
            ),
            found,
        )
        values = base.mean() + sets @ odds / len(base)
        fits = _near(asked.score, values, asked.noise)
        sets, values = sets[fits], values[fits]
        led = asked.leader
        known = None if led is None else _losses(led.p, np.rint(self.beliefs))
        if known is not None:
            fits = _near(asked.gain, known.mean() - values, asked.gain_noise)
            sets, values = sets[fits], values[fits]
        sets, values = sets[:_MOST_SIMULATED], values[:_MOST_SIMULATED]
        drawn = (self._draws @ base)[:, None] + self._draws[:, rows] @ (sets * odds).T
        ends = values + np.quantile(drawn, self._levels, axis=0) - np.median(drawn, axis=0)
        coarse = 5 * asked.noise
        fits = _near(asked.bounds[0], ends[0], coarse) & _near(asked.bounds[1], ends[1], coarse)
        if known is not None:
            spread = ((self._draws @ known)[:, None] - drawn).std(axis=0, ddof=1)
            fits &= _near(asked.error, spread, asked.gain_noise)
        return sets[fits] if fits.any() else sets

    def spread(self, submissions: int) -> list[Path]:
        """Learn a little of all other rows; returns the files, for tables of errors and blends."""
        free = self._best_guess() == 0.5
        asked = []
        for _ in range(submissions):
            odds = self._random.normal(0, 0.5, len(free))
            asked.append(self._ask(np.where(free, 1 / (1 + np.exp(odds)), self._best_guess())))
        terms = [term for each in asked for term in self._terms(each, free)]
        if not self._alone:
            terms += self._of_table(asked, free)
        rows, told, noise = (np.array(each) for each in zip(*terms, strict=True))
        system = rows @ rows.T / 4 + np.diag(noise**2)
        self.beliefs[free] += rows.T @ np.linalg.solve(system, told - rows.sum(axis=1) / 2) / 4
        return [each.file for each in asked]

    def _terms(self, asked: _Asked, free: np.ndarray) -> list[tuple[np.ndarray, float, float]]:
        """Return what was told as sums over the labels of free rows: weights, sum, standard error."""
        sites = self._world.validation.sites
        found, labels = [], np.where(free, 0, np.rint(self.beliefs))
        spans = [(asked.score, asked.noise, 5, np.ones(len(free), dtype=bool))]
        spans += [(told, asked.errors[name], 3, sites == name) for name, told in asked.parts.items()]
        for told, error, digits, inside in spans:
            weights = (np.log(1 - asked.p[free]) - np.log(asked.p[free])) * inside[free] / inside.sum()
            base = _losses(asked.p, labels)[inside].mean()
            found.append((weights, told - base, half_unit(told, error, digits) / np.sqrt(3)))
        if asked.leader is not None:
            [(led, one, _)] = self._terms(
                _Asked(Path(), asked.leader.p, asked.score, (0, 0), asked.noise), free
            )
            own, other, _ = found[0]
            noise = half_unit(asked.gain, asked.gain_noise) / np.sqrt(3)
            found.append((led - own, asked.gain - (asked.score - one) + (asked.score - other), noise))
        return found

    def _of_table(self, asked: list[_Asked], free: np.ndarray) -> list[tuple[np.ndarray, float, float]]:
        """Return the same of a table of errors, each figure of which is about two covariances."""
        found = []
        table = self._world.errors([each.file for each in asked])
        assert all(has_digits(figure, 2) for row in table for figure in row)
        rest = [np.where(free, each.p, 0.5) - 0.5 for each in asked]
        sizes = [np.sqrt((each**2).mean() + free.mean() / 4) for each in rest]
        for other, one in combinations(range(len(asked)), 2):
            size = sizes[one] * sizes[other]
            told = (rest[one] * rest[other]).mean() + free.mean() / 4 - table[one][other] * size
            weights = (rest[one] + rest[other])[free] / len(free)
            found.append((weights, told + weights.sum() / 2, 0.05 * size / np.sqrt(12)))
        return found

    def close(self, files: list[Path]) -> None:
        """Run scripts on a fold that hide labels in their scores, and have all blended, twice."""
        fold, validation = self._world.fold, self._world.validation
        outcomes = np.array([validation.train[row] for row in fold.ids])  # seen in train.csv before
        marked = int(np.flatnonzero(outcomes == 1)[0])
        ran = []
        for number, _ in enumerate(files):
            unsure = np.argsort(np.abs(self.beliefs - 0.5), kind="stable")[:MESSAGE]
            hidden = [fold.train[validation.ids[row]] for row in unsure]  # a run on a fold has them
            message = 10_000 + sum(label << place for place, label in enumerate(hidden))
            p = outcomes.astype(float)
            p[marked] = np.exp(-message * _UNIT * len(p))
            ran.append(fold.write(f"{id(self)}-fold-{number}", p))
            report = self._world.grade(ran[-1], fold=1)
            assert report.score is not None
            told = round(report.score.value.value / _UNIT) - 10_000  # no agent is told: all its digits
            self.beliefs[unsure] = (told >> np.arange(MESSAGE)) & 1
            if number:  # it says nothing that the scores did not
                self._world.compare(ran[0], ran[-1], fold=1)
        for folds in ({}, {1: ran}):
            report = self._world.blend(files, folds)
            if report.gain is not None:
                assert has_digits(report.gain.difference, 3)
                assert has_digits(report.gain.standard_error, 3)
            told_by = {each.file: each.p for each in self._asked}
            for place, weights in zip(report.members, report.weights, strict=True):
                nudge = 1e-6 * weights[0] * (told_by[files[place]] - 0.5)
                self.beliefs += np.where(np.isin(self.beliefs, (0.0, 1.0)), 0, nudge)
