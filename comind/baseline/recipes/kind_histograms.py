"""scikit-learn's histogram boosting, for environments without a boosting library."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from comind.baseline.recipes.encoding import columns_for_trees
from comind.baseline.recipes.kind import Fold, Kind, Model, wrap_sklearn
from comind.baseline.recipes.rounds import rounds_for


def fit_histograms(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit histogram boosting on one fold; the rounds follow from the learning rate."""
    rounds = int(min(settings["steps"] / settings["learning_rate"], rounds_for(fold, {})))
    options = {name: value for name, value in settings.items() if name != "steps"}
    options |= {"max_iter": rounds, "early_stopping": False, "random_state": fold.task.seed}
    if fold.goal.classes:
        model = HistGradientBoostingClassifier(**options)
    else:
        model = HistGradientBoostingRegressor(loss=fold.task.loss, **options)
    model.fit(fold.x, fold.y)
    return wrap_sklearn(model, fold.goal)


HISTOGRAMS = Kind(
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
