"""Matching of Kaggle's metric names."""

import pytest

from comind.evaluation.metrics import METRICS
from comind.layout.metric_names import match_metric, metric_table


def test_every_name_is_a_metric_of_ours() -> None:
    """The metrics of the table exist, with the right direction."""
    for entry in metric_table():
        for name in (entry.one, entry.many):
            if name is not None:
                assert METRICS[name].maximize is not entry.lower, name


def test_no_words_mean_two_things() -> None:
    """Each of Kaggle's names is in the table once."""
    words = [word for entry in metric_table() for word in entry.words]
    assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize("name", ["rmse-of-log", *(name for name in METRICS if name != "top-1-error")])
def test_our_own_names_are_read(name: str) -> None:
    """Our own metric names match themselves."""
    found = {match_metric(name, "", targets).metric for targets in (["a"], ["a", "b"])}
    assert found <= {name, None}
    assert name in found


@pytest.mark.parametrize(
    ("words", "targets", "metric"),
    [
        ("Root Mean Squared Error", ["y"], "rmse"),
        ("Mean Columnwise Root Mean Squared Error", ["y", "z"], "rmse"),
        ("Area Under Receiver Operating Characteristic Curve", ["y"], "roc-auc"),
        ("Roc Auc Score", ["y"], "roc-auc"),
        ("Categorization Accuracy", ["y"], "accuracy"),
        ("Log Loss", ["y"], "log-loss"),
        ("Multiclass Loss", ["a", "b", "c"], "multiclass-log-loss"),
        ("QuadraticWeightedKappa", ["y"], "quadratic-weighted-kappa"),
        ("Root Mean Squared Logarithmic Error", ["y"], "rmsle"),
        ("Mean Average Precision @ 5", ["y"], None),
        ("Custom Metric", ["y"], None),
        ("MAP@{K}", ["y"], None),
        ("Categorization Accuracy", ["a", "b"], None),
    ],
)
def test_kaggles_names(words: str, targets: list[str], metric: str | None) -> None:
    """Certain names match; all others give no metric."""
    assert match_metric(words, "", targets).metric == metric


def test_the_page_can_say_more() -> None:
    """A page that tells of logarithms excludes the plain error."""
    page = "Evaluated on RMSE between the logarithm of the predicted and of the observed price."
    reading = match_metric("Root Mean Squared Error", page, ["y"])
    assert reading.metric is None
    assert "logarithm" in reading.reason


@pytest.mark.parametrize(
    ("page", "metric"),
    [
        ("Submissions are evaluated on area under the ROC curve between the two.", "roc-auc"),
        ("Submissions are scored by the Root Mean Squared Error.", "rmse"),
        ("Submissions are evaluated using the balanced accuracy score.", "balanced-accuracy"),
        ("Submissions are evaluated using a weighted mean absolute error.", None),
        ("Scored by mean absolute error; ties by the quadratic weighted kappa.", None),
        ("Predict well. Accuracy of the sensors was not measured. Have fun.", None),
        ("", None),
    ],
)
def test_the_page_alone(page: str, metric: str | None) -> None:
    """Without a name the metric is found on the page, if there is exactly one."""
    assert match_metric("", page, ["y"]).metric == metric


def test_the_leaderboard_has_a_say() -> None:
    """A metric against the order of the leaderboard does not match."""
    assert match_metric("Log Loss", "", ["y"], [0.1, 0.2, 0.3]).metric == "log-loss"
    assert match_metric("Log Loss", "", ["y"], [0.3, 0.2, 0.1]).metric is None
    assert match_metric("Log Loss", "", ["y"], [0.3, 0.3]).metric == "log-loss"
