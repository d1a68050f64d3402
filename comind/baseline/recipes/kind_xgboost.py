"""XGBoost on histograms, with early stopping on held-out rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xgboost import XGBClassifier, XGBRegressor

from comind.baseline.recipes.encoding import columns_for_trees
from comind.baseline.recipes.kind import Fold, Kind, Model, threads
from comind.baseline.recipes.rounds import PATIENCE, rounds_for, without_rounds


def fit_xgboost(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit XGBoost on one fold; it requires class codes without gaps."""
    task, goal = fold.task, fold.goal
    options = {
        **without_rounds(settings),
        "n_estimators": rounds_for(fold, settings),
        "tree_method": "hist",
        "enable_categorical": True,
        "random_state": task.seed,
        "n_jobs": threads(),
        "early_stopping_rounds": None if "rounds" in settings else PATIENCE,
    }
    absolute = task.absolute
    objective = "reg:absoluteerror" if absolute else "reg:squarederror"
    model = XGBClassifier(**options) if goal.classes else XGBRegressor(objective=objective, **options)
    seen, codes = np.unique(fold.y, return_inverse=True) if goal.classes else (None, fold.y)
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
        raw = np.zeros((len(part), len(goal.classes)))
        raw[:, seen] = model.predict_proba(part, **few)
        return raw

    return Model(predict, 0 if "rounds" in settings else int(model.best_iteration) + 1)


XGBOOST = Kind(
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
