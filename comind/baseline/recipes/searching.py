"""Screen families of models on one fold, search hyperparameters by cross-validation, average models.

Screening measures the loss and the time of each family with its initial settings. A search evaluates the
initial settings, then a fixed number of others: half at random (Bergstra and Bengio 2012), half near the
best ones so far. A fitting program contains the settings found and searches no more. The weights of
several models are selected greedily on their out-of-fold predictions (Caruana et al. 2004).
"""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from comind.baseline.recipes.answers import (
    Target,
    make_targets,
    one_class,
    raw_loss,
    take_rows,
    to_target_columns,
)
from comind.baseline.recipes.family import Family, Fold, Model
from comind.baseline.recipes.tables import Tables, write_predictions, write_submissions
from comind.baseline.recipes.task import Task

PRUNE_RATIO = 1.02  # of the best loss on two folds; above it, the other folds are skipped
SELECTION_STEPS = 20  # greedy selection steps, with replacement
RESAMPLES = 10  # bootstrap samples over which weights are averaged
MAX_ROWS_FOR_WEIGHTS = 4000


class Dataset(NamedTuple):
    """Data shared by all evaluations of a family: task, targets, folds and features."""

    task: Task
    targets: list[Target]
    folds: list[tuple[NDArray[Any], NDArray[Any]]]
    parts: list[Any]


def make_datasets(
    task: Task, tables: Tables, families: list[Family], seen: dict[Any, list[Any]] | None = None
) -> list[Dataset]:
    """Return a dataset for each family of model; families with the same encoding share their features.

    `seen` caches features between calls. BLAS is limited to one thread: matrices are small, so a second
    thread gains nothing.
    """
    threadpool_limits(1, user_api="blas")
    targets = make_targets(task, tables.train)
    folds = make_folds(tables.train, targets[0], task.seed)
    seen = {} if seen is None else seen
    for family in families:
        if family.encode not in seen:
            seen[family.encode] = family.encode(task, tables)
    return [Dataset(task, targets, folds, seen[family.encode]) for family in families]


def fit_fold(
    dataset: Dataset, family: Family, settings: dict[str, Any], number: int, target: Target
) -> Model:
    """Fit a model on one fold; training rows of a single class get a constant model."""
    fit, held = (rows[target.is_known(rows)] for rows in dataset.folds[number])
    if target.classes and len(seen := np.unique(target.y[fit])) == 1:
        return Model(lambda x, _: one_class(target, int(seen[0]), x), 0)
    x = dataset.parts[0]
    return family.fit(
        Fold(dataset.task, target, take_rows(x, fit), target.y[fit], take_rows(x, held), target.y[held]),
        settings,
    )


class Evaluation(NamedTuple):
    """Result of evaluating one set of hyperparameters."""

    settings: dict[str, Any]
    """Including the number of rounds found, if the family has rounds."""
    losses: list[float]
    """Loss per fold; of the first two folds only if these were clearly worse."""
    predicting: float
    """Seconds of predicting the held-out rows."""


def evaluate(
    dataset: Dataset, family: Family, settings: dict[str, Any], best: list[float]
) -> Evaluation:
    """Evaluate hyperparameters by cross-validation, on two folds only if these are clearly worse.

    All folds use the same number of rounds, the mean of their early-stopping rounds: with a number of
    its own a fold's loss would be too optimistic.
    """
    held = [(take_rows(dataset.parts[0], rows), rows) for _, rows in dataset.folds]
    models: list[list[Model]] = []
    early: list[float] = []
    predicting = 0.0

    def loss(number: int, rounds: int | None) -> float:
        nonlocal predicting
        x, rows = held[number]
        begun = time.monotonic()
        raws = [model.predict(x, model.rounds if rounds is None else rounds) for model in models[number]]
        predicting += time.monotonic() - begun
        return sum(
            raw_loss(dataset.task, target, raw, rows)
            for target, raw in zip(dataset.targets, raws, strict=True)
        )

    for number in range(len(dataset.folds)):
        models.append(
            [fit_fold(dataset, family, settings, number, target) for target in dataset.targets]
        )
        if number == 1 and best:
            early = [loss(0, None), loss(1, None)]
            if sum(early) > PRUNE_RATIO * sum(best[:2]):
                return Evaluation(settings, early, predicting)
    if rounds := mean_rounds([model for of_fold in models for model in of_fold]):
        losses = [loss(n, rounds) for n in range(len(models))]
        return Evaluation(settings | {"rounds": rounds}, losses, predicting)
    losses = early + [loss(n, 0) for n in range(len(early), len(models))]
    return Evaluation(settings, losses, predicting)


def mean_rounds(models: list[Model]) -> int:
    """Return the mean number of rounds over the models with rounds; 0 if none has any."""
    found = [model.rounds for model in models if model.rounds]
    return round(float(np.mean(found))) if found else 0


def screen(task: Task, tables: Tables, families: list[tuple[str, Family]]) -> None:
    """Print family, loss on the first fold and seconds, as one line of JSON per family.

    The seconds are those of encoding the data, and of a fold's model with its predictions of validation
    and test. A family that fails is reported and skipped.
    """
    seen: dict[Any, list[Any]] = {}
    for name, family in families:
        begun = time.monotonic()
        try:
            [dataset] = make_datasets(task, tables, [family], seen)
            encoded = time.monotonic()
            found = evaluate(dataset._replace(folds=dataset.folds[:1]), family, family.start, [])
        except Exception as error:  # noqa: BLE001 - libraries raise anything
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            continue
        asked = (len(tables.validation) + len(tables.test)) / len(dataset.folds[0][1])
        seconds = time.monotonic() - encoded + asked * found.predicting
        line = {
            "family": name,
            "loss": float(found.losses[0]),
            "seconds": round(seconds, 3),
            "encoding": round(encoded - begun, 3),
        }
        print(json.dumps(line), flush=True)


def search(task: Task, tables: Tables, family: Family, evaluations: int, start: dict[str, Any]) -> None:
    """Print settings, loss and seconds as a line of JSON whenever the loss improves."""
    [dataset] = make_datasets(task, tables, [family])
    begin = {name: start[name] for name in family.space}
    sampler = Sampler(family.space, task.seed + evaluations, begin)
    best: list[float] = []
    for number in range(evaluations):
        begun = time.monotonic()
        settings = sampler.ask() if number else begin
        found = evaluate(dataset, family, settings, best)
        value = float(np.mean(found.losses + best[len(found.losses) :]))
        if len(found.losses) == len(dataset.folds) and (not best or value < np.mean(best)):
            best, sampler.best = found.losses, settings
            seconds = round(time.monotonic() - begun, 3)
            line = {"settings": found.settings, "loss": value, "seconds": seconds}
            print(json.dumps(line), flush=True)


class RawPredictions(NamedTuple):
    """Raw predictions for one target."""

    out_of_fold: NDArray[Any]
    parts: list[NDArray[Any]]


def predict_out_of_fold(
    dataset: Dataset, family: Family, settings: dict[str, Any], target: Target
) -> RawPredictions:
    """Return out-of-fold predictions, and the mean over the folds' models for the other parts."""
    shape = (len(target.y), len(target.classes)) if target.classes else (len(target.y),)
    out_of_fold = np.zeros(shape)
    sums: list[Any] = [0.0 for _ in dataset.parts[1:]]
    models = [
        fit_fold(dataset, family, settings, number, target) for number in range(len(dataset.folds))
    ]
    rounds = mean_rounds(models)
    for model, (_, held) in zip(models, dataset.folds, strict=True):
        out_of_fold[held] = model.predict(take_rows(dataset.parts[0], held), rounds)
        found = [model.predict(part, rounds) for part in dataset.parts[1:]]
        sums = [total + each for total, each in zip(sums, found, strict=True)]
    return RawPredictions(out_of_fold, [np.asarray(total / len(dataset.folds)) for total in sums])


def ensemble_weights(task: Task, target: Target, found: list[RawPredictions]) -> NDArray[Any]:
    """Return weights of models selected on out-of-fold predictions, averaged over resampled rows."""
    if len(found) == 1:
        return np.ones(1)
    draw = np.random.default_rng(task.seed)
    count = min(len(target.y), MAX_ROWS_FOR_WEIGHTS)
    drawn = [np.sort(draw.integers(len(target.y), size=count)) for _ in range(RESAMPLES)]
    return np.asarray(np.mean([greedy_weights(task, target, found, rows) for rows in drawn], axis=0))


def greedy_weights(
    task: Task, target: Target, found: list[RawPredictions], rows: NDArray[Any]
) -> NDArray[Any]:
    """Return weights by greedy selection with replacement, at its best step."""
    picks, kept, best = np.zeros(len(found)), np.zeros(len(found)), np.inf
    raws = [each.out_of_fold[rows] for each in found]
    total = np.zeros_like(raws[0])
    for number in range(1, SELECTION_STEPS + 1):
        losses = [raw_loss(task, target, (total + raw) / number, rows) for raw in raws]
        chosen = int(np.argmin(losses))
        picks[chosen] += 1
        total = total + raws[chosen]
        if losses[chosen] < best:
            best, kept = losses[chosen], picks / number
    return kept


def fit_and_submit(task: Task, tables: Tables, members: list[tuple[Family, dict[str, Any]]]) -> None:
    """Average models over folds and families; write both submissions and what is beside them."""
    datasets = make_datasets(task, tables, [family for family, _ in members])
    columns: list[list[pd.DataFrame]] = [[], [], []]
    for target in datasets[0].targets:
        found = [
            predict_out_of_fold(dataset, family, settings, target)
            for dataset, (family, settings) in zip(datasets, members, strict=True)
        ]
        weights = ensemble_weights(task, target, found)
        print(f"{target.name}: weights {weights.round(2).tolist()}")
        raws = zip(*([each.out_of_fold, *each.parts] for each in found), strict=True)
        for part, same in zip(columns, raws, strict=True):
            mean = sum(weight * raw for weight, raw in zip(weights, same, strict=True))
            part.append(to_target_columns(task, target, np.asarray(mean)))
    out_of_fold, *predicted = (pd.concat(part, axis=1) for part in columns)
    ids = tables.train[task.train_id_columns].set_axis(task.id_columns, axis=1)
    write_predictions(task, ids, out_of_fold, "out_of_fold.csv", "out_of_fold_probabilities.csv")
    write_submissions(task, tables, predicted)


PROPOSAL_STD = 0.15  # standard deviation around the best value, relative to the range
KEEP_PROBABILITY = 0.7  # probability of keeping the best choice


class Sampler:
    """Proposes hyperparameters; the caller records the best ones in `best`."""

    def __init__(self, space: dict[str, tuple[Any, ...]], seed: int, best: dict[str, Any]) -> None:
        self.space = space
        self.draw = np.random.default_rng(seed)
        self.best = best
        self.asked = 0

    def ask(self) -> dict[str, Any]:
        """Return hyperparameters to evaluate."""
        self.asked += 1
        near = self.asked % 2 == 1
        return {name: self.drawn(name, *how, near=near) for name, (_, *how) in self.space.items()}

    def drawn(self, name: str, how: str, *values: Any, near: bool) -> Any:
        """Return one value, near the best one or uniform over the range."""
        if how == "choice":
            keep = near and self.draw.random() < KEEP_PROBABILITY
            return self.best[name] if keep else values[int(self.draw.integers(len(values)))]
        low, high = values if how == "uniform" else np.log(values)
        if near:
            middle = self.best[name] if how == "uniform" else np.log(self.best[name])
            found = float(np.clip(self.draw.normal(middle, PROPOSAL_STD * (high - low)), low, high))
        else:
            found = float(self.draw.uniform(low, high))
        if how == "uniform":
            return found
        return round(np.exp(found)) if how == "log-int" else float(np.exp(found))


SHARED_FOLDS = "input/folds/folds.csv"  # fold of each row of train.csv, by the split rule
RANDOM_FOLDS = 5


def make_folds(
    train: pd.DataFrame, target: Target, seed: int
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return (training rows, held-out rows) for each fold; each row is held out once."""
    if Path(SHARED_FOLDS).is_file():
        shared = pd.read_csv(SHARED_FOLDS)["fold"].to_numpy()
        if len(shared) == len(train) and len(names := np.unique(shared)) > 1:
            return [(np.nonzero(shared != name)[0], np.nonzero(shared == name)[0]) for name in names]
    x = np.arange(len(train))
    if target.classes and target.is_known(x).all() and np.bincount(target.y).min() >= RANDOM_FOLDS:
        return list(StratifiedKFold(RANDOM_FOLDS, shuffle=True, random_state=seed).split(x, target.y))
    return list(KFold(RANDOM_FOLDS, shuffle=True, random_state=seed).split(x))
