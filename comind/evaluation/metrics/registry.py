"""Look up metrics by name or alias.

To add a metric, append a `Metric` to the tuple of its family (`CLASSIFICATION_METRICS` ...), and its
other names to `_ALIASES`; without an entry there only its name finds it (`CUSTOM_METRICS`).
"""

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.evaluation.metrics.boxes import BOX_METRICS
from comind.evaluation.metrics.classification import CLASSIFICATION_METRICS
from comind.evaluation.metrics.instances import INSTANCE_METRICS
from comind.evaluation.metrics.losses import LOSS_METRICS
from comind.evaluation.metrics.masks import MASK_METRICS
from comind.evaluation.metrics.metric_types import Metric
from comind.evaluation.metrics.probabilities import PROBABILITY_METRICS
from comind.evaluation.metrics.regression import REGRESSION_METRICS
from comind.evaluation.metrics.sequences import SEQUENCE_METRICS
from comind.evaluation.metrics.texts import TEXT_METRICS
from comind.layout.metric_names import nearest_metrics

__all__ = ["CUSTOM_METRICS", "METRICS", "find_metric", "known_metric"]

_ALL: tuple[Metric, ...] = (
    *CLASSIFICATION_METRICS,
    *REGRESSION_METRICS,
    *SEQUENCE_METRICS,
    *PROBABILITY_METRICS,
    *TEXT_METRICS,
    *MASK_METRICS,
    *INSTANCE_METRICS,
    *LOSS_METRICS,
    *BOX_METRICS,
)
# Metrics over several targets are means over columns, so "mean columnwise" is redundant.
_ALIASES: dict[str, str] = {
    "accuracy": "acc | categorization accuracy | classification accuracy | top 1 accuracy",
    "top-1-error": "error rate | classification error",
    "quadratic-weighted-kappa": "qwk | kappa | cohen kappa | quadratic kappa",
    "f1": "binary f1",
    "macro-f1": "f1 macro | macro averaged f1",
    "matthews-correlation": "mcc | matthews correlation coefficient | matthews corrcoef",
    "balanced-accuracy": "macro recall",
    "rmse": "root mean squared error | root mean square error | mcrmse | mean columnwise rmse",
    "mse": "mean squared error | mean columnwise mse",
    "mae": "mean absolute error | mean columnwise mae | mcmae",
    "rmsle": "root mean squared logarithmic error | root mean squared log error | mcrmsle"
    " | mean columnwise rmsle",
    "rmse-of-log": "log rmse | rmse log",
    "mape": "mean absolute percentage error",
    "smape": "symmetric mean absolute percentage error",
    "pearson": "pearson correlation | pearson r | mean columnwise pearson",
    "spearman": "spearman correlation | mean columnwise spearman | mean column spearman",
    "r2": "r squared | coefficient of determination",
    "roc-auc": "auc | auroc | area under roc curve | area under the roc curve | macro roc auc"
    " | mean columnwise roc auc | mean column roc auc | mean columnwise auc",
    "average-precision": "pr auc | mean average precision",
    "log-loss": "binary log loss | logloss | binary cross entropy | mean columnwise log loss",
    "multiclass-log-loss": "multi class log loss | multiclass logloss | categorical cross entropy"
    " | multi class logarithmic loss | multiclass logarithmic loss",
    "lwlrap": "label weighted label ranking average precision",
    "exact-match": "text accuracy | string accuracy | exact string accuracy",
    "mean-levenshtein": "levenshtein | mean levenshtein distance | edit distance",
    "word-jaccard": "jaccard | mean word jaccard | word level jaccard",
    "micro-f1": "f1 micro | micro averaged f1 | multilabel micro f1",
    "samples-f1": "mean f1 | f1 samples",
    "pixel-f05": "f05 | f0.5 | pixel f0.5",
}

METRICS = {metric.name: metric for metric in _ALL if metric.name in _ALIASES}
CUSTOM_METRICS = {metric.name: metric for metric in _ALL if metric.name not in _ALIASES}
"""Metrics of few past competitions, found by their names, and by Kaggle's in `metrics.yaml`.

Those with a context need columns of the truth that only benchmark competitions have; `competition.yaml`
can name the others.
"""

_NAMES = {
    "-".join(alias.split()): name
    for name, aliases in _ALIASES.items()
    for alias in (name, *aliases.split("|"))
}


def known_metric(name: str) -> Metric:
    """Return the metric with exactly this name, as splits record it.

    Raises:
        KeyError: there is no such metric.
    """
    return METRICS[name] if name in METRICS else CUSTOM_METRICS[name]


def find_metric(competition: Competition) -> Metric:
    """Return the metric of a competition, by its name or an alias; case and separators are ignored.

    Raises:
        CompetitionError: `competition.yaml` names no metric, or an unknown one.
    """
    hint = f"known metrics: {', '.join(sorted(METRICS))}"
    where = competition.folder
    if competition.metric is None:
        raise CompetitionError(f"{where}: competition.yaml names no metric", hint=hint)
    plain = "-".join(competition.metric.lower().replace("_", " ").replace("-", " ").split())
    known = _NAMES.get(plain) or _NAMES.get(plain.removesuffix("-score")) or plain
    metric = METRICS.get(known) or CUSTOM_METRICS.get(known)
    if metric is None or (known in CUSTOM_METRICS and metric.context):
        nearest = f"nearest: {', '.join(nearest_metrics(competition.metric))}; {hint}"
        raise CompetitionError(f"{where}: unknown metric {competition.metric!r}", hint=nearest)
    return metric
