"""Boosting: LightGBM, CatBoost and XGBoost, with early stopping on held-out rows, and histograms.

The last is for environments without a boosting library: its rounds follow from the learning rate.
"""

from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from xgboost import XGBClassifier, XGBRegressor

from comind.baseline.recipes.columns import columns_for_trees
from comind.baseline.recipes.family import Family, Fold, Model, has_known_class, threads, wrap_sklearn
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task

PATIENCE = 30  # early-stopping rounds


def without_rounds(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the library's own settings."""
    return {name: value for name, value in settings.items() if name != "rounds"}


def rounds_for(fold: Fold, settings: dict[str, Any]) -> int:
    """Return the rounds in the settings, else an upper limit, lower for many rows and classes."""
    if "rounds" in settings:
        return int(settings["rounds"])
    a_round = len(fold.y) * max(1, len(fold.target.classes) if len(fold.target.classes) > 2 else 1)
    return int(min(max(2e8 / a_round, 100), 1000))


def fit_lightgbm(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit LightGBM on one fold."""
    task, target = fold.task, fold.target
    options = {
        **without_rounds(settings),
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
        if target.classes
        else LGBMRegressor(objective="l1" if task.absolute else "l2", **options)
    )
    if "rounds" in settings:
        model.fit(safe_column_names(fold.x), fold.y)
    else:
        known = has_known_class(fold)
        held = safe_column_names(fold.x_held)[known], fold.y_held[known]
        stop = early_stopping(PATIENCE, verbose=False)
        model.fit(safe_column_names(fold.x), fold.y, eval_set=[held], callbacks=[stop])

    def predict(part: Any, rounds: int) -> NDArray[Any]:
        few: dict[str, Any] = {"num_iteration": rounds or -1}
        if not target.classes:
            return np.asarray(model.predict(safe_column_names(part), **few))
        raw = np.zeros((len(part), len(target.classes)))
        raw[:, model.classes_] = model.predict_proba(safe_column_names(part), **few)
        return raw

    return Model(predict, model.best_iteration_ or 0)


def safe_column_names(x: Any) -> Any:
    """Return a table with column names that LightGBM accepts."""
    return x.set_axis([f"c{number}" for number in range(x.shape[1])], axis=1)


LIGHTGBM = Family(
    encode=columns_for_trees,
    fit=fit_lightgbm,
    space={
        "learning_rate": ("log", 0.015, 0.2),
        "num_leaves": ("log-int", 4, 128),
        "min_child_samples": ("log-int", 2, 100),
        "subsample": ("uniform", 0.5, 1.0),
        "colsample_bytree": ("uniform", 0.3, 1.0),
        "reg_lambda": ("log", 1e-3, 30.0),
        "cat_smooth": ("log", 1.0, 100.0),
    },
    start={
        "learning_rate": 0.05,
        "num_leaves": 15,
        "min_child_samples": 10,
        "subsample": 0.8,
        "colsample_bytree": 0.7,
        "reg_lambda": 1.0,
        "cat_smooth": 10.0,
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
    task, target = fold.task, fold.target
    options = {
        **without_rounds(settings),
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
        if target.classes
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
        if not target.classes:
            return np.asarray(model.predict(part, **few))
        raw = np.zeros((len(part), len(target.classes)))
        raw[:, model.classes_.astype(int)] = model.predict_proba(part, **few)
        return raw

    return Model(predict, 0 if "rounds" in settings else int(model.get_best_iteration()) + 1)


CATBOOST = Family(
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


def fit_xgboost(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit XGBoost on one fold; it requires class codes without gaps."""
    task, target = fold.task, fold.target
    options = {
        **without_rounds(settings),
        "n_estimators": rounds_for(fold, settings),
        "tree_method": "hist",
        "enable_categorical": True,
        "random_state": task.seed,
        "n_jobs": threads(),
        "early_stopping_rounds": None if "rounds" in settings else PATIENCE,
    }
    objective = "reg:absoluteerror" if task.absolute else "reg:squarederror"
    model = XGBClassifier(**options) if target.classes else XGBRegressor(objective=objective, **options)
    seen, codes = np.unique(fold.y, return_inverse=True) if target.classes else (None, fold.y)
    if "rounds" in settings:
        model.fit(fold.x, codes, verbose=False)
    else:
        known, held = np.ones(len(fold.y_held), bool), fold.y_held
        if seen is not None:
            known, held = np.isin(held, seen), np.searchsorted(seen, held)
        model.fit(fold.x, codes, eval_set=[(fold.x_held[known], held[known])], verbose=False)
    trained = model.get_booster().num_boosted_rounds()

    def predict(part: Any, rounds: int) -> NDArray[Any]:
        few: dict[str, Any] = {"iteration_range": (0, min(rounds or trained, trained))}
        if seen is None:
            return np.asarray(model.predict(part, **few), dtype=float)
        raw = np.zeros((len(part), len(target.classes)))
        raw[:, seen] = model.predict_proba(part, **few)
        return raw

    return Model(predict, 0 if "rounds" in settings else int(model.best_iteration) + 1)


XGBOOST = Family(
    encode=columns_for_trees,
    fit=fit_xgboost,
    space={
        "learning_rate": ("log", 0.015, 0.2),
        "max_depth": ("log-int", 2, 9),
        "min_child_weight": ("log", 0.5, 30.0),
        "subsample": ("uniform", 0.5, 1.0),
        "colsample_bytree": ("uniform", 0.3, 1.0),
        "reg_lambda": ("log", 1e-2, 30.0),
        "gamma": ("log", 1e-4, 1.0),
    },
    start={
        "learning_rate": 0.05,
        "max_depth": 4,
        "min_child_weight": 1.0,
        "subsample": 0.8,
        "colsample_bytree": 0.7,
        "reg_lambda": 1.0,
        "gamma": 1e-4,
    },
)


def fit_histograms(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit histogram boosting on one fold; the rounds follow from the learning rate."""
    rounds = int(min(settings["steps"] / settings["learning_rate"], rounds_for(fold, {})))
    options = {name: value for name, value in settings.items() if name != "steps"}
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
        "learning_rate": ("log", 0.03, 0.2),
        "steps": ("log", 4.0, 40.0),
        "max_leaf_nodes": ("log-int", 4, 63),
        "min_samples_leaf": ("log-int", 3, 60),
        "l2_regularization": ("log", 1e-2, 30.0),
        "max_features": ("uniform", 0.3, 1.0),
    },
    start={
        "learning_rate": 0.06,
        "steps": 12.0,
        "max_leaf_nodes": 15,
        "min_samples_leaf": 10,
        "l2_regularization": 1.0,
        "max_features": 0.7,
    },
)
