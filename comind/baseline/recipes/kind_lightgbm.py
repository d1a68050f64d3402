"""LightGBM with early stopping on held-out rows."""

from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from numpy.typing import NDArray

from comind.baseline.recipes.encoding import columns_for_trees
from comind.baseline.recipes.kind import Fold, Kind, Model, has_known_class, threads
from comind.baseline.recipes.rounds import PATIENCE, rounds_for, without_rounds


def fit_lightgbm(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit LightGBM on one fold."""
    task, goal = fold.task, fold.goal
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
    absolute = task.absolute
    model = (
        LGBMClassifier(**options)
        if goal.classes
        else LGBMRegressor(objective="l1" if absolute else "l2", **options)
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
        if not goal.classes:
            return np.asarray(model.predict(safe_column_names(part), **few))
        raw = np.zeros((len(part), len(goal.classes)))
        raw[:, model.classes_] = model.predict_proba(safe_column_names(part), **few)
        return raw

    return Model(predict, model.best_iteration_ or 0)


def safe_column_names(x: Any) -> Any:
    """Return a table with column names that LightGBM accepts."""
    return x.set_axis([f"c{number}" for number in range(x.shape[1])], axis=1)


LIGHTGBM = Kind(
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
