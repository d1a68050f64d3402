"""Linear models on a kernel approximation (Nystroem)."""

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from comind.baseline.recipes.encoding import scaled_columns
from comind.baseline.recipes.kind import Fold, Kind, Model, wrap_sklearn

LANDMARKS = 400


def fit_kernel(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit on one fold; numbers are fitted as differences from their mean."""
    strength, mean = settings["strength"], 0.0 if fold.goal.classes else float(np.mean(fold.y))
    if fold.goal.classes:
        last: Any = LogisticRegression(C=1 / strength, max_iter=300)
    else:
        last = Ridge(strength, fit_intercept=False)
    near = Nystroem(
        gamma=settings["width"] / fold.x.shape[1],
        n_components=min(LANDMARKS, len(fold.y)),
        random_state=fold.task.seed,
    )
    model = make_pipeline(near, last).fit(fold.x, fold.y - mean if not fold.goal.classes else fold.y)
    return wrap_sklearn(model, fold.goal, plus=mean)


KERNEL = Kind(
    encode=scaled_columns,
    fit=fit_kernel,
    space={"strength": ("log", 1e-4, 10.0), "width": ("log", 1e-2, 3.0)},
    start={"strength": 0.05, "width": 0.2},
)
