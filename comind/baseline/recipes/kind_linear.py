"""Linear models on scaled columns, optionally with splines."""

from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from comind.baseline.recipes.encoding import scaled_columns
from comind.baseline.recipes.kind import Fold, Kind, Model, wrap_sklearn


def fit_linear(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit a linear model on one fold."""
    strength = settings["strength"]
    model = LogisticRegression(C=1 / strength, max_iter=300) if fold.goal.classes else Ridge(strength)
    knots = settings["knots"]
    steps = (
        [SplineTransformer(knots, degree=2, knots="quantile", extrapolation="linear")] if knots else []
    )
    model = make_pipeline(*steps, model).fit(fold.x, fold.y)
    return wrap_sklearn(model, fold.goal)


LINEAR = Kind(
    encode=scaled_columns,
    fit=fit_linear,
    space={"strength": ("log", 1e-3, 1e3), "knots": ("choice", 0, 3, 5)},
    start={"strength": 1.0, "knots": 0},
)
