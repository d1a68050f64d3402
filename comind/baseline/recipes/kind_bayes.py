"""Naive Bayes on word counts, and linear models on words weighted by naive Bayes.

The second is the NB-SVM of Wang and Manning (2012, section 2.3) with a logistic loss, one model per
class against the rest.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from comind.baseline.recipes.encoding_texts import counts_of
from comind.baseline.recipes.kind import Fold, Kind, Model


def fit_counts(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit naive Bayes on one fold, for classes only.

    Naive Bayes takes correlated words as independent evidence, so it is overconfident; `sharpness` is
    the exponent applied to its probabilities.
    """
    model = MultinomialNB(alpha=settings["alpha"]).fit(fold.x, fold.y)

    def predict(x: Any, rounds: int) -> NDArray[Any]:
        del rounds
        raw = np.zeros((x.shape[0], len(fold.goal.classes)))
        raw[:, model.classes_] = softmax(settings["sharpness"] * model.predict_log_proba(x), axis=1)
        return raw

    return Model(predict, 0)


class OneClass(NamedTuple):
    """A model of one class against the rest, and the word weights that it was fitted with."""

    weights: Any
    model: Any


def fit_weighted(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit an NB-SVM on one fold, for classes only; classes without rows get probability 0."""
    there, seen = fold.x.sign(), np.unique(fold.y)
    models = [one_class(there, fold.y == code, fold.task.seed, settings) for code in seen]

    def predict(x: Any, rounds: int) -> NDArray[Any]:
        del rounds
        found = np.column_stack(
            [each.model.predict_proba(x.sign().multiply(each.weights).tocsr())[:, 1] for each in models]
        )
        raw = np.zeros((x.shape[0], len(fold.goal.classes)))
        raw[:, seen] = (found + 1e-9) / (found + 1e-9).sum(axis=1, keepdims=True)
        return raw

    return Model(predict, 0)


def one_class(there: Any, mine: NDArray[Any], seed: int, settings: dict[str, Any]) -> OneClass:
    """Fit one class against the rest, with words weighted by their log-count ratio."""
    alpha = settings["alpha"]
    inside = alpha + np.asarray(there[mine].sum(axis=0))
    outside = alpha + np.asarray(there[~mine].sum(axis=0))
    weights = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    model = LogisticRegression(
        C=1 / settings["strength"], solver="liblinear", random_state=seed, tol=1e-2
    )
    return OneClass(weights, model.set_params(dual=True).fit(there.multiply(weights).tocsr(), mine))


COUNTS = Kind(
    encode=counts_of,
    fit=fit_counts,
    space={"alpha": ("log", 1e-2, 3.0), "sharpness": ("log", 0.1, 1.0)},
    start={"alpha": 0.1, "sharpness": 0.3},
)
WEIGHTED = Kind(
    encode=counts_of,
    fit=fit_weighted,
    space={"strength": ("log", 1e-2, 30.0), "alpha": ("log", 0.1, 3.0)},
    start={"strength": 0.5, "alpha": 1.0},
)
