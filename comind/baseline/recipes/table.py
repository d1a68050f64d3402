"""Tables: skrub's encoders, and an average of boosting, extremely randomized trees and a linear model.

Many rows are left to boosting alone, which is fast enough for them.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from skrub import tabular_pipeline

from comind.baseline.recipes.answers import FEW_TARGETS, Models, answers, one_vs_rest
from comind.baseline.recipes.columns import feature_columns
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

SMALL = 30_000  # rows; above this, boosting alone
MANY_CLASSES = 20  # above this, a linear model: trees need many rows per class


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of target columns for validation and for test."""
    np.random.seed(task.seed)  # skrub's encoders draw from the global generator
    train = tables.train
    x, *parts = feature_columns(task, tables)
    if len(train) > SMALL:  # encode once for all targets
        encoder = tabular_pipeline(HistGradientBoostingRegressor())[0].fit(x)
        x, *parts = (encoder.transform(part) for part in (x, *parts))
    classes = train[task.label_columns[0]].nunique() if task.answer_kind != "number" else 0
    models = Models(
        partial(classifier, task, len(train), classes),
        partial(regressor, task, len(train), classes),
        linear_label_sets,
    )
    return answers(task, train, models, x, parts)


def boosting(task: Task, rows: int, classes: int) -> dict[str, Any]:
    """Return hyperparameters; many rows, targets and classes get fewer rounds with larger steps."""
    together = task.answer_kind in ("number", "probability")
    trees_a_round = len(task.target_columns) if together else max(1, classes if classes > 2 else 1)
    rounds = int(np.clip(1e8 / (rows * trees_a_round), 40, 400))
    return {
        "learning_rate": min(20 / rounds, 0.2),
        "max_iter": rounds,
        "l2_regularization": 1.0,
        "random_state": task.seed,
    }


def classifier(task: Task, rows: int, classes: int) -> Any:
    """Return a classifier for this many rows and classes."""
    if classes > MANY_CLASSES:
        steps = int(np.clip(1e9 / (rows * classes), 50, 1000))
        return tabular_pipeline(LogisticRegression(C=30.0, max_iter=steps))
    boosted = HistGradientBoostingClassifier(**boosting(task, rows, classes))
    if rows > SMALL:
        return VotingClassifier([("boosting", boosted)], voting="soft", verbose=True)
    trees = ExtraTreesClassifier(400, min_samples_leaf=2, random_state=task.seed)
    models = {"boosting": boosted, "trees": trees, "linear": LogisticRegression(max_iter=1000)}
    return VotingClassifier(
        [(name, tabular_pipeline(model)) for name, model in models.items()], voting="soft", verbose=True
    )


def linear_label_sets() -> Any:
    """Return a multi-label classifier of columns: one linear model per label."""
    return make_pipeline(tabular_pipeline(LogisticRegression())[:-1], one_vs_rest())


def regressor(task: Task, rows: int, classes: int) -> Any:
    """Return a regressor for this many rows."""
    trees = ExtraTreesRegressor(400, min_samples_leaf=2, random_state=task.seed)
    if len(task.target_columns) > FEW_TARGETS:
        return tabular_pipeline(trees.set_params(n_estimators=int(np.clip(4e6 / rows, 20, 400))))
    boosted = HistGradientBoostingRegressor(loss=task.loss, **boosting(task, rows, classes))
    if rows > SMALL:
        return VotingRegressor([("boosting", boosted)], verbose=True)
    models = {"boosting": boosted, "trees": trees, "linear": RidgeCV(alphas=np.logspace(-1, 3, 9))}
    named = [(name, tabular_pipeline(model)) for name, model in models.items()]
    return VotingRegressor(named, verbose=True)  # prints the seconds of each
