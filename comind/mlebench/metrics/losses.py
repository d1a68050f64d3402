"""Losses and likelihoods of past competitions, as defined by their evaluation pages."""

from functools import partial

import numpy as np
import pandas as pd

from comind.domain.problem import AnswerKind
from comind.metrics.metric_types import RowMetric, TableMetric
from comind.metrics.parsing import number_parser

_CLIP = 1e-15
_EARTH = 6_371_000.0  # metres
_LEAST_ERROR = 1e-9  # CHAMPS: "the MAE for any group has a floor of 1e-9"
_LEAST_SIGMA, _LARGEST_ERROR = 70.0, 1000.0  # OSIC, in ml
_OVERALL = "patient_overall"
_SUM_TOLERANCE = 1e-5

_PROBABILITY, _ANY = number_parser(at_least=0, at_most=1), number_parser()


def _divergence_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return sum q log(q / p) of each row, with q the shares of votes; 0 where q is 0."""
    votes, p = truth.to_numpy(dtype=float), prediction.to_numpy(dtype=float)
    wrong = int((np.abs(p.sum(axis=1) - 1) > _SUM_TOLERANCE).sum())
    if wrong:
        raise ValueError(f"the probabilities do not add up to 1 in {wrong} of {len(p)} rows")
    total = votes.sum(axis=1, keepdims=True)
    if (total <= 0).any():
        raise ValueError(f"no vote at all in {int((total <= 0).sum())} of {len(votes)} true rows")
    q = votes / total
    ratio = np.where(q > 0, q, 1.0) / np.clip(p, _CLIP, 1 - _CLIP)
    return np.asarray((q * np.log(ratio)).sum(axis=1, keepdims=True))


def _weighted_log_loss(truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
    """Return the mean over studies of the weighted mean of log losses.

    Rows are named `<study>_<label>`. Weights: 1 for vertebrae and 7 for the patient as a whole, doubled
    for positive labels.
    """
    named = truth["row"].str.split("_", n=1, expand=True)
    studies = pd.factorize(named[0])[0]
    true = truth.iloc[:, 0].to_numpy(dtype=float)
    p = np.clip(prediction.iloc[:, 0].to_numpy(dtype=float), _CLIP, 1 - _CLIP)
    weights = np.where(named[1] == _OVERALL, 7.0, 1.0) * (1 + true)
    loss = -(true * np.log(p) + (1 - true) * np.log(1 - p))
    return float((np.bincount(studies, weights * loss) / np.bincount(studies, weights)).mean())


def _probabilistic_counts(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return probabilistic true and false positives, and positives, of each row; shape (rows, 3)."""
    positive = truth.iloc[:, 0].to_numpy(dtype=float) > 0
    if not positive.any():
        raise ValueError("no row is positive")
    p = np.clip(prediction.iloc[:, 0].to_numpy(dtype=float), 0, 1)
    return np.stack([p * positive, p * ~positive, positive], axis=1).astype(float)


def _probabilistic_f1(means: np.ndarray) -> float:
    """Return the harmonic mean of cTP / (cTP + cFP) and cTP / positives."""
    return float(2 * means[0] / means.sum())


def _log_mae(truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
    errors = pd.Series(np.abs(truth.iloc[:, 0].to_numpy() - prediction.iloc[:, 0].to_numpy()))
    means = errors.groupby(truth["type"].to_numpy()).mean()
    return float(np.log(np.maximum(means, _LEAST_ERROR)).mean())


def _laplace_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the modified Laplace log likelihood of each row; columns: value, standard deviation."""
    sigma = np.maximum(prediction.iloc[:, 1].to_numpy(dtype=float), _LEAST_SIGMA)
    true, pred = (side.iloc[:, 0].to_numpy(dtype=float) for side in (truth, prediction))
    error = np.minimum(np.abs(true - pred), _LARGEST_ERROR)
    return np.asarray(-np.sqrt(2) * error / sigma - np.log(np.sqrt(2) * sigma))[:, None]


def _angle_rows(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return the angle between the two directions of each row, in radians.

    Columns: azimuth, zenith, in radians.
    """
    (azimuth, zenith), (other, lower) = (
        side.iloc[:, :2].to_numpy(dtype=float).T for side in (truth, prediction)
    )
    cosine = np.sin(zenith) * np.sin(lower) * np.cos(azimuth - other) + np.cos(zenith) * np.cos(lower)
    return np.asarray(np.arccos(np.clip(cosine, -1, 1)))[:, None]


def _haversine(truth: pd.DataFrame, prediction: pd.DataFrame) -> np.ndarray:
    """Return great-circle distances in metres, shape (rows,).

    Columns: latitude, longitude, in degrees.
    """
    (latitude, longitude), (other, further) = (
        np.deg2rad(side.iloc[:, :2].to_numpy(dtype=float)).T for side in (truth, prediction)
    )
    half = np.sin((other - latitude) / 2) ** 2
    half += np.cos(latitude) * np.cos(other) * np.sin((further - longitude) / 2) ** 2
    return np.asarray(2 * _EARTH * np.arcsin(np.sqrt(half)))


def _trip_error(truth: pd.DataFrame, prediction: pd.DataFrame) -> float:
    """Return the mean over trips of the mean of the median and the 95th percentile of the distances."""
    distances = pd.Series(_haversine(truth, prediction)).groupby(truth["trip"].to_numpy())
    return float(((distances.quantile(0.5) + distances.quantile(0.95)) / 2).mean())


_row_metric = partial(RowMetric, answer_kind=AnswerKind.NUMBER, parse=_ANY)
_table_metric = partial(TableMetric, maximize=False, answer_kind=AnswerKind.NUMBER, parse=_ANY)

KL_DIVERGENCE = _row_metric(
    "kl-divergence",
    "mean over rows of sum of scipy.special.rel_entr(shares of votes, clipped p)",
    _divergence_rows,
    maximize=False,
    answer_kind=AnswerKind.CLASS_PROBABILITIES,
    parse=_PROBABILITY,
    truth_parser=number_parser(at_least=0),
    best=0.0,
)
WEIGHTED_LOG_LOSS = _table_metric(
    "weighted-log-loss",
    "mean over studies of the log loss weighted 7 (14) overall, 1 (2) for each vertebra",
    _weighted_log_loss,
    answer_kind=AnswerKind.PROBABILITY,
    parse=_PROBABILITY,
    context=("row",),
    best=0.0,
)
PROBABILISTIC_F1 = _row_metric(
    "probabilistic-f1",
    "2 cTP / (cTP + cFP + positives), probabilities in place of counts",
    _probabilistic_counts,
    maximize=True,
    answer_kind=AnswerKind.PROBABILITY,
    truth_parser=_PROBABILITY,
    finish=_probabilistic_f1,
    best=1.0,
)
LOG_MAE_OF_TYPES = _table_metric(
    "log-mae-of-types",
    "mean over types of log sklearn.metrics.mean_absolute_error, which is at least 1e-9",
    _log_mae,
    context=("type",),
    best=float(np.log(_LEAST_ERROR)),
)
LAPLACE_LOG_LIKELIHOOD = _row_metric(
    "laplace-log-likelihood",
    "mean of -sqrt(2) d / s - log(sqrt(2) s), s at least 70, d at most 1000",
    _laplace_rows,
    maximize=True,
    best=float(-np.log(np.sqrt(2) * _LEAST_SIGMA)),
)
ANGULAR_ERROR = _row_metric(
    "angular-error",
    "mean angle between two directions, in radian",
    _angle_rows,
    maximize=False,
    row_bounds=(0.0, float(np.pi)),
    best=0.0,
)
TRIP_DISTANCE = _table_metric(
    "trip-distance",
    "mean over trips of (median + 95th percentile) / 2 of haversine distances, in metres",
    _trip_error,
    context=("trip",),
    best=0.0,
)
