"""Candidates with known errors for metrics of each kind."""

import numpy as np
import pandas as pd

from comind.metrics import METRICS

__all__ = ["KINDS", "candidates", "truth_of"]

KINDS = ("accuracy", "quadratic-weighted-kappa", "rmse", "rmsle", "roc-auc", "log-loss", "spearman")


def truth_of(metric: str, rows: int, random: np.random.Generator, targets: int = 1) -> pd.DataFrame:
    """Return true values, parsed, in columns t0, t1, ..."""
    names = [f"t{number}" for number in range(targets)]
    match metric:
        case "accuracy":
            values = random.choice(["a", "b", "c"], (rows, targets))
        case "quadratic-weighted-kappa":
            values = random.integers(0, 5, (rows, targets))
        case "rmsle":
            values = random.lognormal(2, 1, (rows, targets))
        case "roc-auc" | "log-loss":
            values = random.integers(0, 2, (rows, targets)).astype(float)
        case _:
            values = random.normal(0, 1, (rows, targets))
    return pd.DataFrame(values, columns=names)


def candidates(
    metric: str, truth: pd.DataFrame, noise: list[float], random: np.random.Generator
) -> list[pd.DataFrame]:
    """Return predictions with independent errors of these sizes."""
    assert metric in METRICS
    return [_noisy(metric, truth, size, random) for size in noise]


def _noisy(metric: str, truth: pd.DataFrame, size: float, random: np.random.Generator) -> pd.DataFrame:
    errors = random.normal(0, size, truth.shape)
    match metric:
        case "accuracy":
            wrong = random.random(truth.shape) < min(0.6, size / 2)
            values = np.where(wrong, random.choice(["a", "b", "c"], truth.shape), truth.to_numpy())
        case "quadratic-weighted-kappa":
            values = np.clip(np.rint(truth.to_numpy() + errors), 0, 4).astype(int)
        case "rmsle":
            values = truth.to_numpy() * np.exp(errors)
        case "roc-auc" | "log-loss":
            values = 1 / (1 + np.exp(-(2 * truth.to_numpy() - 1 + errors)))
        case _:
            values = truth.to_numpy() + errors
    return pd.DataFrame(values, columns=truth.columns)
