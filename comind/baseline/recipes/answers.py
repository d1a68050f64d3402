"""Convert raw predictions to target columns, and fit models of each target.

A target is one label with classes, or one number on the scale of the metric. Raw predictions for a
target have shape (rows,) for a number and (rows, classes) for probabilities, and can be averaged over
folds and models.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from comind.baseline.recipes.task import Task

FEW_TARGETS = 4  # above this, one model predicts all numbers of a row
LABEL_THRESHOLD = 0.3  # minimum probability of a label in a set
LOG_LOSS_WEIGHT = 0.1  # weight of the log loss added to an error rate, which is coarse on few rows


class Scale(NamedTuple):
    """A transformation of numbers after which the metric is a plain error, and its inverse."""

    forward: Callable[[Any], Any]
    back: Callable[[Any], Any]


SCALES = {
    "": Scale(lambda y: y, lambda y: y),
    "log": Scale(np.log, np.exp),
    "log1p": Scale(np.log1p, np.expm1),
}


class Target(NamedTuple):
    """One value to predict: a label with classes, or a number."""

    name: str
    """Target column; with one target column per class, the label column."""
    classes: list[str]
    """Classes of a label, in the order of their codes; empty for a number."""
    y: NDArray[Any]
    """Codes of classes, or numbers on the metric's scale; -1 or NaN where the label is not known."""

    def is_known(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return for each of some rows whether its label is known."""
        y = self.y[rows]
        return np.asarray(y >= 0 if self.classes else ~np.isnan(y))


def make_targets(task: Task, train: pd.DataFrame) -> list[Target]:
    """Return the competition's targets with their values in train.csv."""
    columns = task.target_columns
    if task.answer_kind == "class-probabilities" and task.label_columns[0] not in columns:
        return [label_target(task.label_columns[0], train)]
    if task.answer_kind == "label" and not task.ordered:
        return [label_target(name, train) for name in columns]
    if task.answer_kind == "label-set":  # MAP@k: the first label of a row is the one to rank high
        first = train[columns[0]].fillna("").astype(str).str.split().str[0].fillna("")
        return [label_target(columns[0], pd.DataFrame({columns[0]: first}))]
    if task.answer_kind in ("number", "label"):
        forward = SCALES[task.scale].forward
        return [Target(name, [], forward(train[name].to_numpy(dtype=float))) for name in columns]
    shares = {name: train[name].to_numpy(dtype=float) for name in columns}
    return [
        Target(name, ["0", "1"], np.where(np.isnan(share), -1, share >= 0.5).astype(int))
        for name, share in shares.items()
    ]


def label_target(name: str, train: pd.DataFrame) -> Target:
    """Return a label as a target, with its classes in sorted order."""
    known = train[name].notna().to_numpy()
    codes = np.full(len(train), -1)
    codes[known], classes = pd.factorize(train[name][known].astype(str), sort=True)
    return Target(name, [*classes], codes)


def take_rows(x: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of a table or a matrix."""
    return x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows]


def raw_predictions(model: Any, target: Target, x: Any) -> NDArray[Any]:
    """Return raw predictions of a model of scikit-learn; classes that it has not seen get 0."""
    if not target.classes:
        return np.asarray(model.predict(x), dtype=float)
    raw = np.zeros((x.shape[0], len(target.classes)))
    raw[:, model.classes_.astype(int)] = model.predict_proba(x)
    return raw


def one_class(target: Target, code: int, x: Any) -> NDArray[Any]:
    """Return raw predictions of one class for all rows, where training rows have no other."""
    return np.tile(np.eye(len(target.classes))[code], (x.shape[0], 1))


def raw_loss(task: Task, target: Target, raw: NDArray[Any], rows: NDArray[Any]) -> float:
    """Return the loss of raw predictions for `rows`, close to the metric; lower is better."""
    known = target.is_known(rows)
    y, raw = target.y[rows[known]], raw[known]
    if not len(y):
        return 0.0
    if not target.classes:
        off = np.abs(raw - y)
        return float(np.mean(off) if task.absolute else np.sqrt(np.mean(off**2)))
    if len(target.classes) == 1:
        return 0.0
    clipped = np.clip(raw, 1e-6, 1)
    clipped = clipped / clipped.sum(axis=1, keepdims=True)
    if task.ranking and len(target.classes) == 2 and len(np.unique(y)) == 2:
        return float(1 - roc_auc_score(y, raw[:, 1]))
    loss = float(log_loss(y, clipped, labels=np.arange(len(target.classes))))
    if task.answer_kind != "label":
        return loss
    return float(np.mean(raw.argmax(axis=1) != y)) + LOG_LOSS_WEIGHT * loss


def to_target_columns(task: Task, target: Target, raw: NDArray[Any]) -> pd.DataFrame:
    """Convert raw predictions for a target to target columns or, beside labels, to probabilities."""
    if not target.classes:
        values = to_numbers(task, raw, target.y)
        whole = task.answer_kind == "label" and not task.probabilities
        return pd.DataFrame({target.name: np.rint(values).astype(int) if whole else values})
    if task.probabilities:
        return pd.DataFrame(raw, columns=target.classes)
    if task.answer_kind == "label":
        return pd.DataFrame({target.name: np.array(target.classes)[raw.argmax(axis=1)]})
    if task.answer_kind == "label-set":
        return pd.DataFrame({target.name: ranked_labels(raw, target.classes, task.guesses)})
    if target.name in task.target_columns:
        return pd.DataFrame({target.name: raw[:, 1]})
    shares = pd.DataFrame(raw, columns=target.classes)
    return shares.reindex(columns=task.target_columns, fill_value=0.0)


def to_numbers(task: Task, raw: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Clip predictions to the range of the training values, and return them on their own scale."""
    clipped: NDArray[Any] = np.clip(raw, np.nanmin(y, axis=0), np.nanmax(y, axis=0))
    return np.asarray(SCALES[task.scale].back(clipped))


def ranked_labels(shares: Any, classes: Sequence[str], guesses: int) -> list[str]:
    """Return the `guesses` most probable labels of each row, the best first, separated by spaces.

    `shares` are probabilities with shape (rows, classes).
    """
    best = np.argsort(-np.asarray(shares), axis=1, kind="stable")[:, :guesses]
    return [" ".join(classes[each] for each in row) for row in best]


def one_vs_rest() -> Any:
    """Return a multi-label classifier with one binary model per label."""
    return OneVsRestClassifier(LogisticRegression(C=10, max_iter=300))


class Models(NamedTuple):
    """Factories of unfitted models, by kind of prediction."""

    classifier: Callable[[], Any]
    regressor: Callable[[], Any]
    label_sets: Callable[[], Any] = one_vs_rest


def answers(
    task: Task, train: pd.DataFrame, models: Models, x: Any, parts: list[Any]
) -> list[pd.DataFrame]:
    """Fit on `x`, the features of `train`; return a table for each of `parts`.

    It has target columns or, beside labels, probabilities.
    """
    names = task.target_columns
    if task.answer_kind == "label-set":
        cells = train[names[0]].fillna("").astype(str)
        if not task.guesses or cells.str.contains(r"\s|^$").any():
            return label_sets(task, cells, models.label_sets(), x, parts)
    if task.answer_kind == "number" and len(names) > FEW_TARGETS and train[names].notna().all(axis=None):
        y = SCALES[task.scale].forward(train[names].to_numpy(dtype=float))
        model = models.regressor().fit(x, y)
        return [pd.DataFrame(to_numbers(task, model.predict(part), y), columns=names) for part in parts]
    found = [fit_target(task, target, models, x, parts) for target in make_targets(task, train)]
    tables = (pd.concat(columns, axis=1) for columns in zip(*found, strict=True))
    return [table if task.probabilities else table[names] for table in tables]


def fit_target(
    task: Task, target: Target, models: Models, x: Any, parts: list[Any]
) -> list[pd.DataFrame]:
    """Fit one model, on all rows of train, and return the table of each of `parts`."""
    rows = np.flatnonzero(target.is_known(np.arange(len(target.y))))
    y = target.y[rows]
    if target.classes and len(seen := np.unique(y)) == 1:
        raws = [one_class(target, int(seen[0]), part) for part in parts]
    else:
        if len(rows) < len(target.y):
            x = [take_rows(each, rows) for each in x] if isinstance(x, list) else take_rows(x, rows)
        model = (models.classifier if target.classes else models.regressor)().fit(x, y)
        raws = [raw_predictions(model, target, part) for part in parts]
    return [to_target_columns(task, target, raw) for raw in raws]


def label_sets(
    task: Task, cells: "pd.Series[Any]", model: Any, x: Any, parts: list[Any]
) -> list[pd.DataFrame]:
    """Return sets of labels: all above the threshold, and always the most probable one.

    Where a metric takes a number of guesses, so many of the most probable labels, ranked.
    """
    encoder = MultiLabelBinarizer()
    model.fit(x, encoder.fit_transform(cells.str.split()))
    tables = []
    for part in parts:
        shares = model.predict_proba(part)
        if task.guesses:
            found = ranked_labels(shares, encoder.classes_, task.guesses)
        else:
            chosen = (shares > LABEL_THRESHOLD) | (shares == shares.max(axis=1, keepdims=True))
            found = [" ".join(encoder.classes_[row]) for row in chosen]
        tables.append(pd.DataFrame({task.target_columns[0]: found}))
    return tables
