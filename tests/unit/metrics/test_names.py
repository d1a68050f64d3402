"""Metrics are found by names and aliases, by one table."""

from pathlib import Path
from typing import Any

import pytest

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.metrics import METRICS, find_metric, meant_metrics
from comind.metrics.metric_names import match_metric, metric_table
from comind.metrics.registry import is_known_metric
from tests.unit.metrics.references import REFERENCES
from tests.unit.metrics.samples import random_sample

_WORDS = sorted({words for entry in metric_table() for words in (*entry.words, *entry.names)})

_ALIASES = {
    "hamming-loss": ("hamming loss"),
    "f05": ("f0 5 score | f 0 5 score | f0 5 | f05"),
    "f2": ("f2 score | f 2 score | f2"),
    "samples-f2": ("samples f2 | f2 samples"),
    "brier-score": ("brier score | brier score loss"),
    "balanced-log-loss": ("balanced log loss | balanced logarithmic loss"),
    "rmspe": ("root mean square percentage error | root mean squared percentage error | rmspe"),
    "normalised-gini": (
        "normalized gini coefficient | normalised gini coefficient | normalized gini index | "
        "gini coefficient normalized | normalized gini | normalised gini"
    ),
    "concordance-index": ("concordance index | c index | harrell s concordance index"),
    "pinball-5": ("pinball 5 | pinball loss 5"),
    "pinball-10": ("pinball 10 | pinball loss 10"),
    "pinball-25": ("pinball 25 | pinball loss 25"),
    "pinball-50": ("pinball 50 | pinball loss 50"),
    "pinball-75": ("pinball 75 | pinball loss 75"),
    "pinball-90": ("pinball 90 | pinball loss 90"),
    "pinball-95": ("pinball 95 | pinball loss 95"),
    "accuracy": (
        "accuracy | accuracy score | categorization accuracy | classification accuracy | "
        "percentage of correctly classified | percentage of correct predictions | fraction of "
        "correct predictions | multiclass accuracy | multi class accuracy | multi class "
        "classification accuracy | acc | top 1 accuracy"
    ),
    "balanced-accuracy": (
        "balanced accuracy | balanced accuracy score | mean class accuracy | mean per class accuracy | "
        "average per class accuracy | average class accuracy | class averaged accuracy | "
        "mean per class recall | macro averaged recall | macro recall | unweighted average recall"
    ),
    "roc-auc": (
        "auc | auroc | auc roc | roc auc | roc auc score | area under receiver operating "
        "characteristic curve | area under the receiver operating characteristic curve | area "
        "under the roc curve | area under the curve | area under roc curve | area under roc | "
        "mean column wise auc | mean columnwise auc | mean column wise area under the roc "
        "curve | average of the individual aucs | mean columnwise area under receiver "
        "operating characteristic curve | mean column wise roc auc | mean columnwise roc auc "
        "| mc auc | macro roc auc | mean column roc auc"
    ),
    "average-precision": (
        "average precision score | average precision | average precision ap | pr auc | auc pr | auprc | "
        "prauc | aucpr | precision recall auc | area under the precision recall curve | "
        "area under precision recall curve | area under the pr curve | "
        "area under the curve of precision and recall | area under the precision and recall curve"
    ),
    "log-loss": (
        "log loss | logloss | logarithmic loss | binary log loss | binary cross entropy | "
        "mean columnwise log loss | mean column wise log loss"
    ),
    "multiclass-log-loss": (
        "multiclass loss | multiclass log loss | multi class log loss | multiclass "
        "logarithmic loss | multi class logarithmic loss | multiclass cross entropy loss | "
        "multi class cross entropy | categorical cross entropy | multiclass logloss"
    ),
    "matthews-correlation": (
        "matthews correlation coefficient | matthews correlation | mcc | matthews corrcoef"
    ),
    "quadratic-weighted-kappa": (
        "quadratic weighted kappa | quadraticweightedkappa | qwk | cohen kappa score "
        "quadratic | quadratic kappa | quadratically weighted kappa | "
        "quadratic weighted cohen s kappa | "
        "kappa with quadratic weights | cohen s kappa with quadratic weights | "
        "quadratic weighted cohen kappa"
    ),
    "cohen-kappa": ("cohen kappa | cohen kappa score | cohen s kappa | unweighted kappa"),
    "macro-f1": (
        "macro f1 | macro f1 score | macro averaged f1 | macro averaged f1 score | f1 score "
        "macro | macro f score | mean f1 score macro | f1 macro"
    ),
    "mae": (
        "mean absolute error | mae | mean columnwise mean absolute error | mean columnwise mae | mcmae"
    ),
    "mse": ("mean squared error | mse | mean columnwise mse"),
    "rmse": (
        "root mean squared error | root mean square error | root mean squared deviation | "
        "rmse | mean columnwise root mean squared error | mean column wise root mean squared "
        "error | column wise root mean squared error | mean columnwise rmse | mcrmse"
    ),
    "rmsle": (
        "root mean squared logarithmic error | root mean squared log error | rmsle | mean "
        "columnwise root mean squared logarithmic error | mean column wise root mean squared "
        "logarithmic error | column wise root mean squared logarithmic error | mean "
        "columnwise rmsle | mean column wise rmsle | mcrmsle"
    ),
    "r2": ("r2 | r2 score | r squared | coefficient of determination"),
    "median-absolute-error": ("median absolute error | medae"),
    "mape": ("mean absolute percentage error | mape"),
    "smape": ("smape | symmetric mean absolute percentage error"),
    "pearson": (
        "pearson correlation coefficient | pearson correlation | pearson | pearson r | mean "
        "columnwise pearson"
    ),
    "spearman": (
        "spearman s rank correlation coefficient | spearman correlation coefficient | "
        "spearman correlation | spearman | mean columnwise spearman s correlation coefficient "
        "| mean column wise spearman s correlation coefficient | mean columnwise spearman | "
        "mean column spearman"
    ),
    "mean-levenshtein": (
        "levenshtein mean | mean levenshtein | mean levenshtein distance | levenshtein distance"
    ),
    "rmse-of-log": ("rmse of log"),
    "exact-match": ("exact match | text accuracy | string accuracy | exact string accuracy"),
    "f1": ("f1 | binary f1"),
    "lwlrap": ("lwlrap | label weighted label ranking average precision"),
    "micro-f1": (
        "micro f1 | micro averaged f1 | micro averaged f1 score | micro f1 score | f1 score "
        "micro | f1 micro | multilabel micro f1"
    ),
    "samples-f1": ("samples f1 | example based f1 | f1 score samples | f1 samples"),
    "pixel-f05": ("pixel f05 | pixel f0 5"),
    "top-1-error": ("top 1 error | error rate | classification error"),
    "word-jaccard": ("word jaccard | word level jaccard score | word level jaccard | mean word jaccard"),
}
"""By the function of `REFERENCES` that a name means, all names that mean one metric."""


def _competition(metric: str, targets: tuple[str, ...] = ("y",)) -> Competition:
    columns: dict[str, Any] = {"id_columns": ("id",), "label_columns": ("y",), "target_columns": targets}
    return Competition(folder=Path("rain"), id="rain", title="Rain", metric=metric, **columns)


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        ("accuracy", "accuracy"),
        ("RMSE", "rmse"),
        ("mean-columnwise-rmsle", "rmsle"),
        ("Quadratic Weighted Kappa", "quadratic-weighted-kappa"),
        ("cohen_kappa_score", "cohen-kappa"),
        ("Area Under ROC Curve", "roc-auc"),
        ("roc_auc_score", "roc-auc"),
        ("Multi-Class Log Loss", "multiclass-log-loss"),
        ("logloss", "log-loss"),
        ("  log   loss ", "log-loss"),
    ],
)
def test_a_metric_is_found_however_it_is_spelt(spelt: str, name: str) -> None:
    """Case, dashes, underscores and the suffix "score" are ignored."""
    assert find_metric(_competition(spelt)).name == name


@pytest.mark.parametrize("name", ["", "niceness", "log", "score", "rmse2", "jaccard", "map at 0"])
def test_no_metric_is_guessed(name: str) -> None:
    """Unknown names find no metric."""
    with pytest.raises(CompetitionError, match=f"unknown metric '{name}'"):
        find_metric(_competition(name))


@pytest.mark.parametrize(
    ("name", "targets", "meant"),
    [
        ("kappa", ("y",), "cohen-kappa or quadratic-weighted-kappa"),
        ("mean f1", ("y",), "samples-f1 or macro-f1 or micro-f1"),
        ("mean average precision", ("y",), "average-precision or map-at-5 or iou-precision or "),
        ("log_rmse", ("y",), "rmse-of-log or rmsle"),
        ("logloss", ("a", "b"), "log-loss or multiclass-log-loss"),
    ],
)
def test_a_name_with_several_meanings_is_refused(
    name: str, targets: tuple[str, ...], meant: str
) -> None:
    """The line lists what the name may mean, in competition.yaml and where Kaggle names it."""
    with pytest.raises(CompetitionError, match=f"the metric '{name}' may mean {meant}"):
        find_metric(_competition(name, targets))
    assert match_metric(name, "", targets).metric is None


@pytest.mark.parametrize("words", _WORDS)
@pytest.mark.parametrize("targets", [("y",), ("a", "b", "c")], ids=["one", "several"])
def test_competition_yaml_and_downloads_agree(words: str, targets: tuple[str, ...]) -> None:
    """Where a name is certain for a download, competition.yaml means the same metric by it."""
    meant, matched = meant_metrics(words, len(targets)), match_metric(words, "", targets).metric
    assert meant
    assert matched is None or meant == (matched,)
    assert all(map(is_known_metric, meant))


def test_each_alias_has_a_function() -> None:
    """The names of the table that mean one metric are those that the next test compares."""
    certain = {
        words for words in _WORDS if len(meant := meant_metrics(words)) == 1 and meant[0] in METRICS
    }
    assert {alias for aliases in _ALIASES.values() for alias in aliases.split(" | ")} == certain


@pytest.mark.parametrize(
    ("alias", "function"),
    [(alias, each) for each, aliases in _ALIASES.items() for alias in aliases.split(" | ")],
)
def test_an_alias_has_the_value_of_its_function(alias: str, function: str) -> None:
    """A name has the value that the function of scikit-learn or SciPy by that name computes."""
    metric = find_metric(_competition(alias))
    sample = random_sample(metric, seed=7, rows=50, columns=1)
    assert sample.score() == pytest.approx(REFERENCES[function](sample.truth, sample.prediction))
