"""Networks for tables: RealMLP and TabM of pytabkit, and the pretrained TabICL and TabPFN.

Each has one setting for all tables. The pretrained ones learn from the training rows without a change of
their weights, so that their time is that of predicting.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from comind.baseline.recipes.boosting import text_categories
from comind.baseline.recipes.columns import columns_for_trees
from comind.baseline.recipes.family import Family, Fold, Model, threads, wrap_sklearn
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task


def without_gaps(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return tables with categories as text, and the median of train for missing numbers."""
    parts = text_categories(task, tables)
    medians = parts[0].select_dtypes("number").median().fillna(0.0)
    return [part.fillna(medians) for part in parts]


def pytabkit_options(fold: Fold) -> dict[str, Any]:
    """Return the options of both networks; the last epoch for classes is chosen by the log loss."""
    options: dict[str, Any] = {
        "device": "cpu",
        "random_state": fold.task.seed,
        "n_threads": threads(),
        "verbosity": 0,
    }
    return options | ({"val_metric_name": "cross_entropy"} if fold.target.classes else {})


def fit_realmlp(fold: Fold, _: dict[str, Any]) -> Model:
    """Fit RealMLP on one fold; it has few epochs, and needs no rows to choose the last of them."""
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    options = pytabkit_options(fold) | {"n_epochs": 64, "p_drop": 0.3, "val_fraction": 0.0}
    model = (
        RealMLP_TD_Classifier(**options, use_ls=False)
        if fold.target.classes
        else RealMLP_TD_Regressor(**options)
    )
    return wrap_sklearn(model.fit(fold.x, fold.y), fold.target)


def fit_tabm(fold: Fold, _: dict[str, Any]) -> Model:
    """Fit TabM on one fold; a tenth of its training rows stop it early."""
    from pytabkit import TabM_D_Classifier, TabM_D_Regressor

    options = pytabkit_options(fold) | {
        "arch_type": "tabm-mini",
        "tabm_k": 16,
        "n_blocks": 2,
        "d_block": 128,
        "val_fraction": 0.1,
        "patience": 12,
        "batch_size": 128,
        "lr": 4e-3,
    }
    make = TabM_D_Classifier if fold.target.classes else TabM_D_Regressor
    return wrap_sklearn(make(**options).fit(fold.x, fold.y), fold.target)


REALMLP = Family(encode=without_gaps, fit=fit_realmlp, space={})
TABM = Family(encode=without_gaps, fit=fit_tabm, space={})


def pretrained(fold: Fold, folder: str, *, columns: int, classes: int | None = None) -> Path:
    """Return the weights in a folder that are for classes or numbers, as the fold needs.

    Raises:
        ValueError: a model was not made for so many columns or classes.
    """
    if fold.x.shape[1] > columns:
        raise ValueError(f"{fold.x.shape[1]} columns, more than {columns}")
    if classes and len(fold.target.classes) > classes:
        raise ValueError(f"{len(fold.target.classes)} classes, more than {classes}")
    kind = "classifier" if fold.target.classes else "regressor"
    return max(path for path in Path(folder).glob("*.ckpt") if kind in path.name)


def fit_tabicl(folder: str, fold: Fold, _: dict[str, Any]) -> Model:
    """Fit TabICL on one fold, by the weights in a folder."""
    from tabicl import TabICLClassifier, TabICLRegressor

    make = TabICLClassifier if fold.target.classes else TabICLRegressor
    model = make(
        model_path=pretrained(fold, folder, columns=2_000),
        allow_auto_download=False,
        device="cpu",
        random_state=fold.task.seed,
        n_jobs=threads(),
    )
    return wrap_sklearn(model.fit(fold.x, fold.y), fold.target)


def tabicl(folder: str) -> Family:
    """Return TabICL with the weights in a folder; it is made for up to 100,000 rows, 2,000 columns."""
    return Family(encode=columns_for_trees, fit=partial(fit_tabicl, folder), space={})


def fit_tabpfn(folder: str, fold: Fold, _: dict[str, Any]) -> Model:
    """Fit TabPFN on one fold, by the weights in a folder; on a CPU, too, as its time is measured."""
    import torch
    from tabpfn import TabPFNClassifier, TabPFNRegressor

    torch.set_num_threads(threads())
    make = TabPFNClassifier if fold.target.classes else TabPFNRegressor
    model = make(
        model_path=pretrained(fold, folder, columns=500, classes=10),
        device="cpu",
        random_state=fold.task.seed,
        ignore_pretraining_limits=True,
    )
    return wrap_sklearn(model.fit(fold.x, fold.y), fold.target)


def tabpfn(folder: str) -> Family:
    """Return TabPFN 2 with the weights in a folder; it is made for up to 10,000 rows, 500 columns."""
    return Family(encode=columns_for_trees, fit=partial(fit_tabpfn, folder), space={})
