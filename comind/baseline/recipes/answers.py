"""Fit a recipe's models and predict target columns, in the form that the competition requires.

Recipes differ in their features: tables, matrices or tensors. The kinds of prediction are the same for
all: numbers, classes, probabilities, or sets of labels.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from comind.baseline.recipes.ranked_labels import ranked_labels
from comind.baseline.recipes.scale import SCALES
from comind.baseline.recipes.task import Task

FEW_TARGETS = 4  # above this, one model predicts all numbers of a row
LABEL_THRESHOLD = 0.3  # minimum probability of a label in a set


def one_vs_rest() -> Any:
    """Return a multi-label classifier with one binary model per label."""
    return OneVsRestClassifier(LogisticRegression(C=10, max_iter=300))


class Models(NamedTuple):
    """Factories of unfitted models, by kind of prediction."""

    classifier: Callable[[], Any]
    regressor: Callable[[], Any]
    label_sets: Callable[[], Any] = one_vs_rest


def answers(
    task: Task, train: pd.DataFrame, models: Models, x: Any, parts: list[Any]
) -> list[pd.DataFrame]:
    """Fit on `x`, the features of `train`; return a table of target columns for each of `parts`."""
    targets = task.target_columns
    if task.answer_kind == "class-probabilities" and task.label_columns[0] not in targets:
        return class_probabilities(targets, train[task.label_columns[0]], models, x, parts)
    if task.answer_kind == "label-set":
        return label_sets(targets[0], train[targets[0]], models, x, parts, task.guesses)
    if task.answer_kind == "number" and len(targets) > FEW_TARGETS:
        found = numbers(task.scale, models.regressor(), x, train[targets], parts)
        return [pd.DataFrame(values, columns=targets) for values in found]
    columns = {target: predict_target(task, train[target], models, x, parts) for target in targets}
    return [
        pd.DataFrame({target: found[part] for target, found in columns.items()})
        for part in range(len(parts))
    ]


def numbers(scale_name: str, model: Any, x: Any, y: Any, parts: list[Any]) -> list[Any]:
    """Regress on the scale of the metric, and clip predictions to the range of the training values."""
    scale = SCALES[scale_name]
    y = scale.forward(np.asarray(y, dtype=float))
    model.fit(x, y)
    return [scale.back(np.clip(model.predict(part), y.min(axis=0), y.max(axis=0))) for part in parts]


def class_probabilities(
    targets: list[str], y: "pd.Series[Any]", models: Models, x: Any, parts: list[Any]
) -> list[pd.DataFrame]:
    """Return the probabilities of one label's classes, one column per class."""
    model = models.classifier().fit(x, y.astype(str))
    found = [pd.DataFrame(model.predict_proba(part), columns=model.classes_) for part in parts]
    return [shares.reindex(columns=targets, fill_value=0.0) for shares in found]


def label_sets(
    target: str, y: "pd.Series[Any]", models: Models, x: Any, parts: list[Any], guesses: int = 0
) -> list[pd.DataFrame]:
    """Return sets of labels: all above the threshold, and always the most probable one.

    With `guesses`, the `guesses` most probable labels, ranked; where each row has one label, by a
    classifier.
    """
    if guesses and not y.fillna("").astype(str).str.contains(r"\s|^$").any():
        model = models.classifier().fit(x, y.astype(str))
        found = [ranked_labels(model.predict_proba(part), model.classes_, guesses) for part in parts]
        return [pd.DataFrame({target: cells}) for cells in found]
    encoder = MultiLabelBinarizer()
    model = models.label_sets().fit(x, encoder.fit_transform(y.fillna("").astype(str).str.split()))
    tables = []
    for part in parts:
        shares = model.predict_proba(part)
        if guesses:
            tables.append(pd.DataFrame({target: ranked_labels(shares, encoder.classes_, guesses)}))
            continue
        chosen = (shares > LABEL_THRESHOLD) | (shares == shares.max(axis=1, keepdims=True))
        tables.append(pd.DataFrame({target: [" ".join(encoder.classes_[row]) for row in chosen]}))
    return tables


def predict_target(
    task: Task, y: "pd.Series[Any]", models: Models, x: Any, parts: list[Any]
) -> list[Any]:
    """Return one target's predictions for each of `parts`."""
    if task.answer_kind == "number":
        return numbers(task.scale, models.regressor(), x, y, parts)
    if task.ordered:  # ordered classes: regress, then round
        found = numbers(task.scale, models.regressor(), x, y, parts)
        return [np.clip(np.rint(values), y.min(), y.max()).astype(int) for values in found]
    if task.answer_kind == "label":
        model = models.classifier().fit(x, y.astype(str))
        return [model.predict(part) for part in parts]
    positive = (y.astype(float) >= 0.5).astype(int)
    if positive.min() == positive.max():
        return [np.full(len(part), float(positive.iloc[0])) for part in parts]
    model = models.classifier().fit(x, positive)
    return [model.predict_proba(part)[:, 1] for part in parts]
