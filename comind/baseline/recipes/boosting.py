"""Boosting: LightGBM, CatBoost and XGBoost, with early stopping on held-out rows, and histograms.

The last is for environments without a boosting library: its rounds follow from the learning rate.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from xgboost import XGBClassifier, XGBRegressor

from comind.baseline.recipes.columns import columns_for_trees
from comind.baseline.recipes.family import (
    Family,
    Fold,
    Model,
    all_classes,
    threads,
    without,
    wrap_sklearn,
)
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

PATIENCE = 30  # early-stopping rounds


def rounds_for(fold: Fold, settings: dict[str, Any]) -> int:
    """Return the rounds in the settings, else an upper limit, lower for many rows and classes."""
    if "rounds" in settings:
        return int(settings["rounds"])
    classes = len(fold.target.classes)
    a_round = len(fold.y) * (classes if classes > 2 else 1)
    return int(min(max(2e8 / a_round, 100), 1000))


def held_out(fold: Fold, settings: dict[str, Any]) -> list[tuple[Any, NDArray[Any]]]:
    """Return rows for early stopping, without classes that training rows lack; none with `rounds`."""
    if "rounds" in settings:
        return []
    known = np.isin(fold.y_held, fold.y) if fold.target.classes else np.ones(len(fold.y_held), bool)
    return [(fold.x_held[known], fold.y_held[known])]


def wrap_boosting(model: Any, fold: Fold, rounds: int, first: Callable[[int], dict[str, Any]]) -> Model:
    """Wrap a fitted model; `first` returns the library's argument for so many rounds, 0 for all."""
    target = fold.target
    if not target.classes:
        return Model(lambda x, n: np.asarray(model.predict(x, **first(n)), dtype=float), rounds)
    seen = np.unique(fold.y)
    return Model(lambda x, n: all_classes(target, seen, model.predict_proba(x, **first(n))), rounds)


def fit_lightgbm(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit LightGBM on one fold."""
    task = fold.task
    options = {
        **without(settings, "rounds"),
        "n_estimators": rounds_for(fold, settings),
        "subsample_freq": 1,
        "random_state": task.seed,
        "n_jobs": threads(),
        "verbose": -1,
        "deterministic": True,
        "force_row_wise": True,
    }
    model = (
        LGBMClassifier(**options)
        if fold.target.classes
        else LGBMRegressor(objective="l1" if task.absolute else "l2", **options)
    )
    held = held_out(fold, settings)
    stop = [early_stopping(PATIENCE, verbose=False)] if held else None
    model.fit(fold.x, fold.y, eval_set=held or None, callbacks=stop)
    return wrap_boosting(model, fold, model.best_iteration_ or 0, lambda n: {"num_iteration": n or -1})


LIGHTGBM = Family(
    encode=columns_for_trees,
    fit=fit_lightgbm,
    space={
        "learning_rate": (0.05, "log", 0.015, 0.2),
        "num_leaves": (15, "log-int", 4, 128),
        "min_child_samples": (10, "log-int", 2, 100),
        "subsample": (0.8, "uniform", 0.5, 1.0),
        "colsample_bytree": (0.7, "uniform", 0.3, 1.0),
        "reg_lambda": (1.0, "log", 1e-3, 30.0),
        "cat_smooth": (10.0, "log", 1.0, 100.0),
    },
)


def text_categories(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return tables with categories as text, and missing ones as an empty string."""
    found: list[pd.DataFrame] = columns_for_trees(task, tables)
    names = found[0].select_dtypes("category").columns
    return [
        part.assign(**{name: part[name].astype(object).fillna("") for name in names}) for part in found
    ]


def fit_catboost(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit CatBoost on one fold."""
    task = fold.task
    options = {
        **without(settings, "rounds"),
        "iterations": min(rounds_for(fold, settings), 600),
        "random_seed": task.seed,
        "thread_count": threads(),
        "verbose": False,
        "allow_writing_files": False,
        "cat_features": [*fold.x.select_dtypes(exclude="number").columns],
    }
    loss = "MAE" if task.absolute else "RMSE"
    model = (
        CatBoostClassifier(**options)
        if fold.target.classes
        else CatBoostRegressor(loss_function=loss, **options)
    )
    held = held_out(fold, settings)
    patience = PATIENCE if held else None
    model.fit(
        fold.x, fold.y, eval_set=held or None, use_best_model=False, early_stopping_rounds=patience
    )
    best = int(model.get_best_iteration()) + 1 if held else 0
    return wrap_boosting(model, fold, best, lambda n: {"ntree_end": min(n, model.tree_count_)})


CATBOOST = Family(
    encode=text_categories,
    fit=fit_catboost,
    space={
        "learning_rate": (0.1, "log", 0.04, 0.3),
        "depth": (4, "log-int", 3, 6),
        "l2_leaf_reg": (3.0, "log", 0.5, 30.0),
        "random_strength": (1.0, "log", 0.1, 10.0),
        "bagging_temperature": (0.5, "uniform", 0.0, 1.0),
    },
)


def fit_xgboost(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit XGBoost on one fold; it requires class codes without gaps."""
    task, held = fold.task, held_out(fold, settings)
    options = {
        **without(settings, "rounds"),
        "n_estimators": rounds_for(fold, settings),
        "tree_method": "hist",
        "enable_categorical": True,
        "random_state": task.seed,
        "n_jobs": threads(),
        "early_stopping_rounds": PATIENCE if held else None,
    }
    objective = "reg:absoluteerror" if task.absolute else "reg:squarederror"
    if fold.target.classes:
        model, seen = XGBClassifier(**options), np.unique(fold.y)
        y, held = np.searchsorted(seen, fold.y), [(x, np.searchsorted(seen, y)) for x, y in held]
    else:
        model, y = XGBRegressor(objective=objective, **options), fold.y
    model.fit(fold.x, y, eval_set=held or None, verbose=False)
    trained = model.get_booster().num_boosted_rounds()
    best = int(model.best_iteration) + 1 if held else 0
    return wrap_boosting(
        model, fold, best, lambda n: {"iteration_range": (0, min(n or trained, trained))}
    )


XGBOOST = Family(
    encode=columns_for_trees,
    fit=fit_xgboost,
    space={
        "learning_rate": (0.05, "log", 0.015, 0.2),
        "max_depth": (4, "log-int", 2, 9),
        "min_child_weight": (1.0, "log", 0.5, 30.0),
        "subsample": (0.8, "uniform", 0.5, 1.0),
        "colsample_bytree": (0.7, "uniform", 0.3, 1.0),
        "reg_lambda": (1.0, "log", 1e-2, 30.0),
        "gamma": (1e-4, "log", 1e-4, 1.0),
    },
)


def fit_histograms(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit histogram boosting on one fold; the rounds follow from the learning rate."""
    rounds = int(min(settings["steps"] / settings["learning_rate"], rounds_for(fold, {})))
    options = without(settings, "steps")
    options |= {"max_iter": rounds, "early_stopping": False, "random_state": fold.task.seed}
    if fold.target.classes:
        model = HistGradientBoostingClassifier(**options)
    else:
        model = HistGradientBoostingRegressor(loss=fold.task.loss, **options)
    model.fit(fold.x, fold.y)
    return wrap_sklearn(model, fold.target)


HISTOGRAMS = Family(
    encode=columns_for_trees,
    fit=fit_histograms,
    space={
        "learning_rate": (0.06, "log", 0.03, 0.2),
        "steps": (12.0, "log", 4.0, 40.0),
        "max_leaf_nodes": (15, "log-int", 4, 63),
        "min_samples_leaf": (10, "log-int", 3, 60),
        "l2_regularization": (1.0, "log", 1e-2, 30.0),
        "max_features": (0.7, "uniform", 0.3, 1.0),
    },
)
