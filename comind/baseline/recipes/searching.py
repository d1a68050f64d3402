"""Screen kinds of models on one fold, search hyperparameters by cross-validation, average models.

Screening measures the loss and the time of each kind with its initial settings. A search evaluates the
initial settings, then a fixed number of others: half at random (Bergstra and Bengio 2012), half near the
best ones so far. A fitting program contains the settings found and searches no more. The weights of
several models are selected greedily on their out-of-fold predictions (Caruana et al. 2004).
"""

import json
import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from comind.baseline.recipes.folds import make_folds
from comind.baseline.recipes.goals import Goal, make_goals, raw_loss, to_target_columns
from comind.baseline.recipes.kind import Fold, Kind, Model, constant_model
from comind.baseline.recipes.sampling import Sampler
from comind.baseline.recipes.tables import Tables, write_submissions
from comind.baseline.recipes.task import Task

PRUNE_RATIO = 1.02  # of the best loss on two folds; above it, the other folds are skipped
SELECTION_STEPS = 20  # greedy selection steps, with replacement
RESAMPLES = 10  # bootstrap samples over which weights are averaged
MAX_ROWS_FOR_WEIGHTS = 4000


class Study(NamedTuple):
    """Data shared by all evaluations of a kind: task, goals, folds and features."""

    task: Task
    goals: list[Goal]
    folds: list[tuple[NDArray[Any], NDArray[Any]]]
    parts: list[Any]


def make_studies(
    task: Task, tables: Tables, kinds: list[Kind], seen: dict[Any, list[Any]] | None = None
) -> list[Study]:
    """Return a study for each kind of model; kinds with the same encoding share their features.

    `seen` caches features between calls. BLAS is limited to one thread: matrices are small, so a second
    thread gains nothing.
    """
    threadpool_limits(1, user_api="blas")
    goals = make_goals(task, tables.train)
    folds = make_folds(tables.train, goals[0], task.seed)
    seen = {} if seen is None else seen
    for kind in kinds:
        if kind.encode not in seen:
            seen[kind.encode] = kind.encode(task, tables)
    return [Study(task, goals, folds, seen[kind.encode]) for kind in kinds]


def take_rows(x: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of a table or a matrix."""
    return x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows]


def fit_fold(study: Study, kind: Kind, settings: dict[str, Any], number: int, goal: Goal) -> Model:
    """Fit a model on one fold; training rows of a single class get a constant model."""
    fit, held = study.folds[number]
    if goal.classes and len(seen := np.unique(goal.y[fit])) == 1:
        return constant_model(int(seen[0]), goal)
    x = study.parts[0]
    return kind.fit(
        Fold(study.task, goal, take_rows(x, fit), goal.y[fit], take_rows(x, held), goal.y[held]),
        settings,
    )


class Evaluation(NamedTuple):
    """Result of evaluating one set of hyperparameters."""

    settings: dict[str, Any]
    """Including the number of rounds found, if the kind has rounds."""
    losses: list[float]
    """Loss per fold; of the first two folds only if these were clearly worse."""


def evaluate(study: Study, kind: Kind, settings: dict[str, Any], best: list[float]) -> Evaluation:
    """Evaluate hyperparameters by cross-validation, on two folds only if these are clearly worse.

    All folds use the same number of rounds, the mean of their early-stopping rounds: with a number of
    its own a fold's loss would be too optimistic.
    """
    held = [(take_rows(study.parts[0], rows), rows) for _, rows in study.folds]
    models: list[list[Model]] = []
    early: list[float] = []

    def loss(number: int, rounds: int | None) -> float:
        x, rows = held[number]
        return sum(
            raw_loss(
                study.task, goal, model.predict(x, model.rounds if rounds is None else rounds), rows
            )
            for goal, model in zip(study.goals, models[number], strict=True)
        )

    for number in range(len(study.folds)):
        models.append([fit_fold(study, kind, settings, number, goal) for goal in study.goals])
        if number == 1 and best:
            early = [loss(0, None), loss(1, None)]
            if sum(early) > PRUNE_RATIO * sum(best[:2]):
                return Evaluation(settings, early)
    if rounds := mean_rounds([model for of_fold in models for model in of_fold]):
        return Evaluation(settings | {"rounds": rounds}, [loss(n, rounds) for n in range(len(models))])
    return Evaluation(settings, early + [loss(n, 0) for n in range(len(early), len(models))])


def mean_rounds(models: list[Model]) -> int:
    """Return the mean number of rounds over the models with rounds; 0 if none has any."""
    found = [model.rounds for model in models if model.rounds]
    return round(float(np.mean(found))) if found else 0


def screen(task: Task, tables: Tables, kinds: list[tuple[str, Kind]]) -> None:
    """Print kind, loss on the first fold and seconds, as one line of JSON per kind.

    A kind that fails is reported and skipped.
    """
    seen: dict[Any, list[Any]] = {}
    for name, kind in kinds:
        begun = time.monotonic()
        try:
            [study] = make_studies(task, tables, [kind], seen)
            found = evaluate(study._replace(folds=study.folds[:1]), kind, kind.start, [])
        except Exception as error:  # noqa: BLE001 - libraries raise anything
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            continue
        seconds = round(time.monotonic() - begun, 3)
        line = {"kind": name, "loss": float(found.losses[0]), "seconds": seconds}
        print(json.dumps(line), flush=True)


def search(task: Task, tables: Tables, kind: Kind, evaluations: int, start: dict[str, Any]) -> None:
    """Print settings, loss and seconds as a line of JSON whenever the loss improves."""
    [study] = make_studies(task, tables, [kind])
    begin = {name: start[name] for name in kind.space}
    sampler = Sampler(kind.space, task.seed + evaluations, begin)
    best: list[float] = []
    for number in range(evaluations):
        begun = time.monotonic()
        settings = sampler.ask() if number else begin
        found = evaluate(study, kind, settings, best)
        value = float(np.mean(found.losses + best[len(found.losses) :]))
        if len(found.losses) == len(study.folds) and (not best or value < np.mean(best)):
            best, sampler.best = found.losses, settings
            seconds = round(time.monotonic() - begun, 3)
            line = {"settings": found.settings, "loss": value, "seconds": seconds}
            print(json.dumps(line), flush=True)


class RawPredictions(NamedTuple):
    """Raw predictions for one goal."""

    out_of_fold: NDArray[Any]
    parts: list[NDArray[Any]]


def predict_out_of_fold(
    study: Study, kind: Kind, settings: dict[str, Any], goal: Goal
) -> RawPredictions:
    """Return out-of-fold predictions, and the mean over the folds' models for the other parts."""
    shape = (len(goal.y), len(goal.classes)) if goal.classes else (len(goal.y),)
    out_of_fold = np.zeros(shape)
    sums: list[Any] = [0.0 for _ in study.parts[1:]]
    models = [fit_fold(study, kind, settings, number, goal) for number in range(len(study.folds))]
    rounds = mean_rounds(models)
    for model, (_, held) in zip(models, study.folds, strict=True):
        out_of_fold[held] = model.predict(take_rows(study.parts[0], held), rounds)
        found = [model.predict(part, rounds) for part in study.parts[1:]]
        sums = [total + each for total, each in zip(sums, found, strict=True)]
    return RawPredictions(out_of_fold, [np.asarray(total / len(study.folds)) for total in sums])


def ensemble_weights(task: Task, goal: Goal, found: list[RawPredictions]) -> NDArray[Any]:
    """Return weights of models selected on out-of-fold predictions, averaged over resampled rows."""
    if len(found) == 1:
        return np.ones(1)
    draw = np.random.default_rng(task.seed)
    count = min(len(goal.y), MAX_ROWS_FOR_WEIGHTS)
    drawn = [np.sort(draw.integers(len(goal.y), size=count)) for _ in range(RESAMPLES)]
    return np.asarray(np.mean([greedy_weights(task, goal, found, rows) for rows in drawn], axis=0))


def greedy_weights(
    task: Task, goal: Goal, found: list[RawPredictions], rows: NDArray[Any]
) -> NDArray[Any]:
    """Return weights by greedy selection with replacement, at its best step."""
    picks, kept, best = np.zeros(len(found)), np.zeros(len(found)), np.inf
    raws = [each.out_of_fold[rows] for each in found]
    total = np.zeros_like(raws[0])
    for number in range(1, SELECTION_STEPS + 1):
        losses = [raw_loss(task, goal, (total + raw) / number, rows) for raw in raws]
        chosen = int(np.argmin(losses))
        picks[chosen] += 1
        total = total + raws[chosen]
        if losses[chosen] < best:
            best, kept = losses[chosen], picks / number
    return kept


def fit_and_submit(task: Task, tables: Tables, members: list[tuple[Kind, dict[str, Any]]]) -> None:
    """Average models over folds and kinds; write both submissions and out_of_fold.csv."""
    studies = make_studies(task, tables, [kind for kind, _ in members])
    columns: list[list[pd.DataFrame]] = [[], [], []]
    for goal in studies[0].goals:
        found = [
            predict_out_of_fold(study, kind, settings, goal)
            for study, (kind, settings) in zip(studies, members, strict=True)
        ]
        weights = ensemble_weights(task, goal, found)
        print(f"{goal.name}: weights {weights.round(2).tolist()}")
        raws = zip(*([each.out_of_fold, *each.parts] for each in found), strict=True)
        for part, same in zip(columns, raws, strict=True):
            mean = sum(weight * raw for weight, raw in zip(weights, same, strict=True))
            part.append(to_target_columns(task, goal, np.asarray(mean)))
    out_of_fold, *predicted = (pd.concat(part, axis=1)[task.target_columns] for part in columns)
    ids = tables.train[task.train_id_columns].set_axis(task.id_columns, axis=1)
    pd.concat([ids, out_of_fold], axis=1).to_csv("out_of_fold.csv", index=False)
    write_submissions(task, tables, predicted)
