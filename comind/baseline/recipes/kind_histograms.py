"""Boosting on histograms, scikit-learn's own: for where no library of boosting is there."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from comind.baseline.recipes.encoding import columns_for_trees
from comind.baseline.recipes.kind import Fold, Kind, Model, model_of
from comind.baseline.recipes.rounds import rounds_for
from comind.baseline.recipes.scale import loss_of

__all__ = ["HISTOGRAMS"]


def fit_histograms(fold: Fold, settings: dict[str, Any]) -> Model:
    """Return a model of one fold; rounds follow from the step, as in the plain recipe."""
    rounds = int(min(settings["steps"] / settings["learning_rate"], rounds_for(fold, {})))
    told = {name: value for name, value in settings.items() if name != "steps"}
    told |= {"max_iter": rounds, "early_stopping": False, "random_state": fold.task.seed}
    if fold.goal.classes:
        model = HistGradientBoostingClassifier(**told)
    else:
        model = HistGradientBoostingRegressor(loss=loss_of(fold.task.metric), **told)
    model.fit(fold.x, fold.y)
    return model_of(model, fold.goal)


HISTOGRAMS = Kind(
    encode=columns_for_trees,
    fit=fit_histograms,
    space={
        "learning_rate": ("log", 0.03, 0.2),
        "steps": ("log", 4.0, 40.0),
        "max_leaf_nodes": ("whole", 4, 63),
        "min_samples_leaf": ("whole", 3, 60),
        "l2_regularization": ("log", 1e-2, 30.0),
        "max_features": ("even", 0.3, 1.0),
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
