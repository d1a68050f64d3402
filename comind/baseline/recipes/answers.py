"""Fit on features and predict the rows that are asked for, in the form that the competition wants.

What the models see is the recipe's affair: a table, a matrix, a tensor. What is asked of them is the
same for every recipe: numbers, classes, probabilities or sets of labels.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from comind.baseline.recipes.scale import scale_of
from comind.baseline.recipes.task import Task

__all__ = ["FEW_TARGETS", "Models", "answers"]

FEW_TARGETS = 4  # with more numbers a row, one model learns all of them
WORTH_NAMING = 0.3  # the probability from which on a label belongs to a set


def one_by_one() -> Any:
    """Return a model of sets of labels, each label for itself."""
    return OneVsRestClassifier(LogisticRegression(C=10, max_iter=300))


class Models(NamedTuple):
    """How to make a fresh model, by what it predicts."""

    classifier: Callable[[], Any]
    regressor: Callable[[], Any]
    label_sets: Callable[[], Any] = one_by_one


def answers(
    task: Task, train: pd.DataFrame, models: Models, x: Any, parts: list[Any]
) -> list[pd.DataFrame]:
    """Fit on `x`, the features of `train`; return a table of target columns for each of `parts`."""
    targets = task.target_columns
    if task.answer_kind == "class-probabilities" and task.label_columns[0] not in targets:
        return class_shares(targets, train[task.label_columns[0]], models, x, parts)
    if task.answer_kind == "label-set":
        return label_sets(targets[0], train[targets[0]], models, x, parts, guesses_of(task.metric))
    if task.answer_kind == "number" and len(targets) > FEW_TARGETS:
        found = numbers(task.metric, models.regressor(), x, train[targets], parts)
        return [pd.DataFrame(values, columns=targets) for values in found]
    columns = {target: one_target(task, train[target], models, x, parts) for target in targets}
    return [
        pd.DataFrame({target: found[part] for target, found in columns.items()})
        for part in range(len(parts))
    ]


def numbers(metric: str, model: Any, x: Any, y: Any, parts: list[Any]) -> list[Any]:
    """Regress on the scale that the metric looks at; stay within what was seen."""
    scale = scale_of(metric)
    y = scale.forward(np.asarray(y, dtype=float))
    model.fit(x, y)
    return [scale.back(np.clip(model.predict(part), y.min(axis=0), y.max(axis=0))) for part in parts]


def class_shares(
    targets: list[str], y: "pd.Series[Any]", models: Models, x: Any, parts: list[Any]
) -> list[pd.DataFrame]:
    """Return the probabilities of one label's classes, each in a column of its own."""
    model = models.classifier().fit(x, y.astype(str))
    found = [pd.DataFrame(model.predict_proba(part), columns=model.classes_) for part in parts]
    return [shares.reindex(columns=targets, fill_value=0.0) for shares in found]


def guesses_of(metric: str) -> int:
    """Return how many guesses a row has, best first; 0 where the order of labels is ignored."""
    return int(metric.removeprefix("map-at-")) if metric.startswith("map-at-") else 0


def label_sets(
    target: str, y: "pd.Series[Any]", models: Models, x: Any, parts: list[Any], guesses: int = 0
) -> list[pd.DataFrame]:
    """Return sets of labels: all that are probable, or else the most probable one.

    With `guesses`, so many of the most probable labels, best first.
    """
    encoder = MultiLabelBinarizer()
    model = models.label_sets().fit(x, encoder.fit_transform(y.fillna("").astype(str).str.split()))
    tables = []
    for part in parts:
        shares = model.predict_proba(part)
        if guesses:
            best = np.argsort(-shares, axis=1, kind="stable")[:, :guesses]
            tables.append(pd.DataFrame({target: [" ".join(encoder.classes_[row]) for row in best]}))
            continue
        chosen = (shares > WORTH_NAMING) | (shares == shares.max(axis=1, keepdims=True))
        tables.append(pd.DataFrame({target: [" ".join(encoder.classes_[row]) for row in chosen]}))
    return tables


def one_target(task: Task, y: "pd.Series[Any]", models: Models, x: Any, parts: list[Any]) -> list[Any]:
    """Return one target's values for each of `parts`."""
    if task.answer_kind == "number":
        return numbers(task.metric, models.regressor(), x, y, parts)
    if task.metric == "quadratic-weighted-kappa":  # the classes have an order: predict it, then round
        found = numbers(task.metric, models.regressor(), x, y, parts)
        return [np.clip(np.rint(values), y.min(), y.max()).astype(int) for values in found]
    if task.answer_kind == "label":
        model = models.classifier().fit(x, y.astype(str))
        return [model.predict(part) for part in parts]
    positive = (y.astype(float) >= 0.5).astype(int)
    if positive.min() == positive.max():
        return [np.full(len(part), float(positive.iloc[0])) for part in parts]
    model = models.classifier().fit(x, positive)
    return [model.predict_proba(part)[:, 1] for part in parts]
