"""CatBoost with its own encoding of categories and early stopping on held-out rows."""

from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from numpy.typing import NDArray

from comind.baseline.recipes.encoding import columns_for_trees
from comind.baseline.recipes.kind import Fold, Kind, Model, has_known_class, threads
from comind.baseline.recipes.rounds import PATIENCE, rounds_for, without_rounds
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task


def text_categories(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return tables with categories as text, and missing ones as an empty string."""
    found: list[pd.DataFrame] = columns_for_trees(task, tables)
    names = found[0].select_dtypes("category").columns
    return [
        part.assign(**{name: part[name].astype(object).fillna("") for name in names}) for part in found
    ]


def fit_catboost(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit CatBoost on one fold."""
    task, goal = fold.task, fold.goal
    options = {
        **without_rounds(settings),
        "iterations": min(rounds_for(fold, settings), 600),
        "random_seed": task.seed,
        "thread_count": threads(),
        "verbose": False,
        "allow_writing_files": False,
        "cat_features": [*fold.x.select_dtypes(exclude="number").columns],
    }
    absolute = task.absolute
    loss = "MAE" if absolute else "RMSE"
    model = (
        CatBoostClassifier(**options)
        if goal.classes
        else CatBoostRegressor(loss_function=loss, **options)
    )
    if "rounds" in settings:
        model.fit(fold.x, fold.y)
    else:
        known = has_known_class(fold)
        held = fold.x_held[known], fold.y_held[known]
        model.fit(fold.x, fold.y, eval_set=held, use_best_model=False, early_stopping_rounds=PATIENCE)

    def predict(part: Any, rounds: int) -> NDArray[Any]:
        few = {"ntree_end": min(rounds, model.tree_count_)}  # 0: all
        if not goal.classes:
            return np.asarray(model.predict(part, **few))
        raw = np.zeros((len(part), len(goal.classes)))
        raw[:, model.classes_.astype(int)] = model.predict_proba(part, **few)
        return raw

    return Model(predict, 0 if "rounds" in settings else int(model.get_best_iteration()) + 1)


CATBOOST = Kind(
    encode=text_categories,
    fit=fit_catboost,
    space={
        "learning_rate": ("log", 0.04, 0.3),
        "depth": ("log-int", 3, 6),
        "l2_leaf_reg": ("log", 0.5, 30.0),
        "random_strength": ("log", 0.1, 10.0),
        "bagging_temperature": ("uniform", 0.0, 1.0),
    },
    start={
        "learning_rate": 0.1,
        "depth": 4,
        "l2_leaf_reg": 3.0,
        "random_strength": 1.0,
        "bagging_temperature": 0.5,
    },
)
