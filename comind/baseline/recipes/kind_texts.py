"""Linear models on TF-IDF of words or characters."""

from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge

from comind.baseline.recipes.encoding_texts import characters_of, words_of
from comind.baseline.recipes.kind import Fold, Kind, Model, wrap_sklearn


def fit_texts(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit a linear model on one fold; larger matrices get fewer iterations."""
    strength = settings["strength"]
    steps = int(min(max(5e8 / (fold.x.nnz * max(1, len(fold.goal.classes))), 20), 200))
    if fold.goal.classes:
        labels = LogisticRegression(C=1 / strength, max_iter=steps, tol=1e-3)
        return wrap_sklearn(labels.fit(fold.x, fold.y), fold.goal)
    numbers = Ridge(10 * strength, solver="sparse_cg", max_iter=steps)
    return wrap_sklearn(numbers.fit(fold.x, fold.y), fold.goal)


WORDS = Kind(
    encode=words_of,
    fit=fit_texts,
    space={"strength": ("log", 3e-3, 3.0)},
    start={"strength": 0.05},
)
CHARACTERS = WORDS._replace(encode=characters_of)
