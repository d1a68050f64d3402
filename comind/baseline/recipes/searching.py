"""Screen kinds of models on one fold, search settings by cross-validation, average models of all folds.

A screening tells what each kind gives with its own settings, and how long that takes. A search tries the
settings that it starts from, then a fixed number of others, half of them at random (Bergstra and Bengio
2012) and half near the best ones so far. A program that hands in has the settings that were found
written into it, and searches no more. Of several models the weights are selected greedily on their
out-of-fold predictions (Caruana et al. 2004).
"""

import json
import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from comind.baseline.recipes.folds import folds_of
from comind.baseline.recipes.goals import Goal, answer, goals_of, raw_loss
from comind.baseline.recipes.kind import Fold, Kind, Model, one_class_alone
from comind.baseline.recipes.sampling import Sampler
from comind.baseline.recipes.tables import Tables, hand_in
from comind.baseline.recipes.task import Task

__all__ = ["fit_and_hand_in", "screen", "search"]

HOPELESS = 1.02  # times the best loss, on two folds: the other folds are not tried
PICKS = 20  # of models, with replacement
RESAMPLED = 10  # times, to weigh models
MOST_ROWS_WEIGHED = 4000


class Study(NamedTuple):
    """What all evaluations share."""

    task: Task
    goals: list[Goal]
    folds: list[tuple[NDArray[Any], NDArray[Any]]]
    parts: list[Any]


def studies_of(
    task: Task, tables: Tables, kinds: list[Kind], seen: dict[Any, list[Any]] | None = None
) -> list[Study]:
    """Return goals, folds and features for each kind of model; kinds that see the same share it.

    `seen` holds features from one call to the next.

    Matrices here are small: a second thread of BLAS gains nothing, and waits for the first one.
    """
    threadpool_limits(1, user_api="blas")
    goals = goals_of(task, tables.train)
    folds = folds_of(tables.train, goals[0], task.seed)
    seen = {} if seen is None else seen
    for kind in kinds:
        if kind.encode not in seen:
            seen[kind.encode] = kind.encode(task, tables)
    return [Study(task, goals, folds, seen[kind.encode]) for kind in kinds]


def rows_of(x: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of a table or a matrix."""
    return x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows]


def fitted(study: Study, kind: Kind, settings: dict[str, Any], number: int, goal: Goal) -> Model:
    """Return a model of one fold; where it has one class alone, there is nothing to learn."""
    fit, held = study.folds[number]
    if goal.classes and len(seen := np.unique(goal.y[fit])) == 1:
        return one_class_alone(int(seen[0]), goal)
    x = study.parts[0]
    return kind.fit(
        Fold(study.task, goal, rows_of(x, fit), goal.y[fit], rows_of(x, held), goal.y[held]), settings
    )


class Tried(NamedTuple):
    """What came of some settings."""

    settings: dict[str, Any]
    """With the rounds that were found, where the kind has any."""
    losses: list[float]
    """By fold; of two folds only, where these were worse than the best ones."""


def tried(study: Study, kind: Kind, settings: dict[str, Any], best: list[float]) -> Tried:
    """Return what settings give.

    All folds have the same rounds, the mean of those after which each was predicted best: a fold that
    has a number of its own looks better than it is.
    """
    held = [(rows_of(study.parts[0], rows), rows) for _, rows in study.folds]
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
        models.append([fitted(study, kind, settings, number, goal) for goal in study.goals])
        if number == 1 and best:
            early = [loss(0, None), loss(1, None)]
            if sum(early) > HOPELESS * sum(best[:2]):
                return Tried(settings, early)
    if rounds := rounds_found([model for of_fold in models for model in of_fold]):
        return Tried(settings | {"rounds": rounds}, [loss(n, rounds) for n in range(len(models))])
    return Tried(settings, early + [loss(n, 0) for n in range(len(early), len(models))])


def rounds_found(models: list[Model]) -> int:
    """Return the mean number of rounds of those models that have any; 0 where none has."""
    found = [model.rounds for model in models if model.rounds]
    return round(float(np.mean(found))) if found else 0


def screen(task: Task, tables: Tables, kinds: list[tuple[str, Kind]]) -> None:
    """Print the loss of each kind on the first fold, and its seconds, as a line of JSON a kind.

    A kind that fails has no loss; the others are tried all the same.
    """
    seen: dict[Any, list[Any]] = {}
    for name, kind in kinds:
        begun = time.monotonic()
        try:
            [study] = studies_of(task, tables, [kind], seen)
            found = tried(study._replace(folds=study.folds[:1]), kind, kind.start, [])
        except Exception as error:  # noqa: BLE001 - whatever a library raises on these data
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            continue
        seconds = round(time.monotonic() - begun, 3)
        told = {"kind": name, "loss": float(found.losses[0]), "seconds": seconds}
        print(json.dumps(told), flush=True)


def search(task: Task, tables: Tables, kind: Kind, evaluations: int, start: dict[str, Any]) -> None:
    """Print settings whenever they are the best so far, as a line of JSON with loss and seconds."""
    [study] = studies_of(task, tables, [kind])
    begin = {name: start[name] for name in kind.space}
    sampler = Sampler(kind.space, task.seed + evaluations, begin)
    best: list[float] = []
    for number in range(evaluations):
        begun = time.monotonic()
        settings = sampler.ask() if number else begin
        found = tried(study, kind, settings, best)
        value = float(np.mean(found.losses + best[len(found.losses) :]))
        if len(found.losses) == len(study.folds) and (not best or value < np.mean(best)):
            best, sampler.best = found.losses, settings
            seconds = round(time.monotonic() - begun, 3)
            told = {"settings": found.settings, "loss": value, "seconds": seconds}
            print(json.dumps(told), flush=True)


class Predicted(NamedTuple):
    """Raw predictions of one goal."""

    out_of_fold: NDArray[Any]
    parts: list[NDArray[Any]]


def bagged(study: Study, kind: Kind, settings: dict[str, Any], goal: Goal) -> Predicted:
    """Return each row's prediction by the model that has not seen it, and the models' mean elsewhere."""
    shape = (len(goal.y), len(goal.classes)) if goal.classes else (len(goal.y),)
    out_of_fold = np.zeros(shape)
    sums: list[Any] = [0.0 for _ in study.parts[1:]]
    models = [fitted(study, kind, settings, number, goal) for number in range(len(study.folds))]
    rounds = rounds_found(models)
    for model, (_, held) in zip(models, study.folds, strict=True):
        out_of_fold[held] = model.predict(rows_of(study.parts[0], held), rounds)
        found = [model.predict(part, rounds) for part in study.parts[1:]]
        sums = [total + each for total, each in zip(sums, found, strict=True)]
    return Predicted(out_of_fold, [np.asarray(total / len(study.folds)) for total in sums])


def weights_of(task: Task, goal: Goal, found: list[Predicted]) -> NDArray[Any]:
    """Return the weights with which out-of-fold predictions are best: their mean over resampled rows."""
    if len(found) == 1:
        return np.ones(1)
    draw = np.random.default_rng(task.seed)
    count = min(len(goal.y), MOST_ROWS_WEIGHED)
    drawn = [np.sort(draw.integers(len(goal.y), size=count)) for _ in range(RESAMPLED)]
    return np.asarray(np.mean([greedy_weights(task, goal, found, rows) for rows in drawn], axis=0))


def greedy_weights(task: Task, goal: Goal, found: list[Predicted], rows: NDArray[Any]) -> NDArray[Any]:
    """Return weights: how often each was picked up to the best average on the way."""
    picks, kept, best = np.zeros(len(found)), np.zeros(len(found)), np.inf
    raws = [each.out_of_fold[rows] for each in found]
    total = np.zeros_like(raws[0])
    for number in range(1, PICKS + 1):
        losses = [raw_loss(task, goal, (total + raw) / number, rows) for raw in raws]
        chosen = int(np.argmin(losses))
        picks[chosen] += 1
        total = total + raws[chosen]
        if losses[chosen] < best:
            best, kept = losses[chosen], picks / number
    return kept


def fit_and_hand_in(task: Task, tables: Tables, members: list[tuple[Kind, dict[str, Any]]]) -> None:
    """Average models of all folds and kinds; write both submissions and out_of_fold.csv."""
    studies = studies_of(task, tables, [kind for kind, _ in members])
    columns: list[list[pd.DataFrame]] = [[], [], []]
    for goal in studies[0].goals:
        found = [
            bagged(study, kind, settings, goal)
            for study, (kind, settings) in zip(studies, members, strict=True)
        ]
        weights = weights_of(task, goal, found)
        print(f"{goal.name}: weights {weights.round(2).tolist()}")
        raws = zip(*([each.out_of_fold, *each.parts] for each in found), strict=True)
        for part, same in zip(columns, raws, strict=True):
            mean = sum(weight * raw for weight, raw in zip(weights, same, strict=True))
            part.append(answer(task, goal, np.asarray(mean)))
    out_of_fold, *predicted = (pd.concat(part, axis=1)[task.target_columns] for part in columns)
    ids = tables.train[task.train_id_columns].set_axis(task.id_columns, axis=1)
    pd.concat([ids, out_of_fold], axis=1).to_csv("out_of_fold.csv", index=False)
    hand_in(task, tables, predicted)
