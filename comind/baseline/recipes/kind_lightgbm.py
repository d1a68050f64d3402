"""LightGBM, which stops when the rows that are held out no longer gain."""

from typing import Any

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from numpy.typing import NDArray

from comind.baseline.recipes.encoding import columns_for_trees
from comind.baseline.recipes.kind import Fold, Kind, Model, seen_before, threads
from comind.baseline.recipes.rounds import PATIENCE, rounds_for, without_rounds
from comind.baseline.recipes.scale import loss_of

__all__ = ["LIGHTGBM"]


def fit_lightgbm(fold: Fold, settings: dict[str, Any]) -> Model:
    """Return a model of one fold."""
    task, goal = fold.task, fold.goal
    told = {
        **without_rounds(settings),
        "n_estimators": rounds_for(fold, settings),
        "subsample_freq": 1,
        "random_state": task.seed,
        "n_jobs": threads(),
        "verbose": -1,
        "deterministic": True,
        "force_row_wise": True,
    }
    absolute = loss_of(task.metric) == "absolute_error"
    model = (
        LGBMClassifier(**told)
        if goal.classes
        else LGBMRegressor(objective="l1" if absolute else "l2", **told)
    )
    if "rounds" in settings:
        model.fit(plainly_named(fold.x), fold.y)
    else:
        known = seen_before(fold)
        held = plainly_named(fold.x_held)[known], fold.y_held[known]
        stop = early_stopping(PATIENCE, verbose=False)
        model.fit(plainly_named(fold.x), fold.y, eval_set=[held], callbacks=[stop])

    def predict(part: Any, rounds: int) -> NDArray[Any]:
        few: dict[str, Any] = {"num_iteration": rounds or -1}
        if not goal.classes:
            return np.asarray(model.predict(plainly_named(part), **few))
        raw = np.zeros((len(part), len(goal.classes)))
        raw[:, model.classes_] = model.predict_proba(plainly_named(part), **few)
        return raw

    return Model(predict, model.best_iteration_ or 0)


def plainly_named(x: Any) -> Any:
    """Return a table with columns that LightGBM has no objection to."""
    return x.set_axis([f"c{number}" for number in range(x.shape[1])], axis=1)


LIGHTGBM = Kind(
    encode=columns_for_trees,
    fit=fit_lightgbm,
    space={
        "learning_rate": ("log", 0.015, 0.2),
        "num_leaves": ("whole", 4, 128),
        "min_child_samples": ("whole", 2, 100),
        "subsample": ("even", 0.5, 1.0),
        "colsample_bytree": ("even", 0.3, 1.0),
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
