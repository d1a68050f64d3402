"""Matching of Kaggle's metric names."""

import pytest

from comind.metrics import METRICS, known_metric
from comind.metrics.metric_names import match_metric, metric_table, nearest_metrics


def test_every_name_is_a_metric_of_ours() -> None:
    """The metrics of the table exist, with the right direction."""
    for entry in metric_table():
        for name in (entry.one, entry.many):
            if name is not None:
                assert known_metric(name).maximize is not entry.lower, name


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
        ("Mean Average Precision @ 5", ["y"], "map-at-5"),
        ("MAP@3", ["y"], "map-at-3"),
        ("MAP@12", ["y"], "map-at-12"),
        ("Dice Coefficient", ["y"], None),
        ("Custom Metric", ["y"], None),
        ("MAP@{K}", ["y"], None),
        ("Categorization Accuracy", ["a", "b"], None),
    ],
)
def test_kaggles_names(words: str, targets: list[str], metric: str | None) -> None:
    """Certain names match; all others give no metric."""
    assert match_metric(words, "", targets).metric == metric


def test_the_page_can_say_more() -> None:
    """A page that speaks of the logarithm of the values means another error than the plain one."""
    page = "Evaluated on RMSE between the logarithm of the predicted and of the observed price."
    assert match_metric("Root Mean Squared Error", page, ["y"]).metric == "rmse-of-log"
    page = "Evaluated on RMSE of the log of the odds."
    found = match_metric("Root Mean Squared Error", page, ["y"])
    assert found.metric is None
    assert "log of" in found.reason


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
        ("# Toys\n\nOn a custom budget.\n\n## Evaluation\n\nClassification accuracy.\n", "accuracy"),
        (
            "Evaluation\n\nGoal\n\nPredict.\n\nMetric\n\nThe share of rows; that is accuracy.\n",
            "accuracy",
        ),
        ("Evaluated on MAE between the two.", "mae"),
        ("We met mae west, who evaluated things.", None),
        ("Evaluated on RMSE between the logarithm of the predicted and observed price.", "rmse-of-log"),
        ("Evaluated on the Root Mean Squared Logarithmic Error (RMSLE), where log is natural.", "rmsle"),
        ("Evaluated on a normalized root mean squared error.", None),
        ("Evaluated on accuracy. The final score is a weighted accuracy.", None),
        ("Evaluated on mean F1 of the labels.", None),
        ("Evaluated on the mean F1-Score; labels of each row are space delimited.", "samples-f1"),
        ("Evaluated on the macro-averaged F1 score.", "macro-f1"),
        ("Evaluated on mean average precision at 5.", "map-at-5"),
        (
            "Submissions are evaluated according to the Mean Average Precision @ 12 (MAP@12):",
            "map-at-12",
        ),
        ("Evaluated on the mean Dice coefficient. Use run-length encoding.", "mean-dice"),
        ("Evaluated on the global Dice coefficient. Use run-length encoding.", "global-dice"),
        ("Evaluated on the mean Dice coefficient of texts.", None),
        (
            (
                "Evaluated on the mean average precision at different intersection over union (IoU) "
                "thresholds. Masks have run-length encoding."
            ),
            "iou-precision",
        ),
        (
            (
                "Evaluated on the mean average precision at different intersection over union (IoU) "
                "thresholds. Boxes have a confidence."
            ),
            None,
        ),
        (
            (
                "Evaluated on the standard PASCAL VOC 2010 mean Average Precision (mAP) at IoU > 0.5. "
                "Each bounding box has a confidence."
            ),
            "pooled-box-map",
        ),
        (
            (
                "Evaluated on the standard PASCAL VOC 2010 mean Average Precision (mAP) at IoU > 0.4. "
                "Each bounding box has a confidence."
            ),
            "coco-map-40",
        ),
        ("Evaluated on the PASCAL VOC mean average precision of bounding boxes.", None),
        ("The metric in this competition is the word-level Jaccard score.", "word-jaccard"),
    ],
)
def test_the_page_alone(page: str, metric: str | None) -> None:
    """Without a name the metric is found on the page, if there is exactly one."""
    assert match_metric("", page, ["y"]).metric == metric


@pytest.mark.parametrize(
    ("page", "metric"),
    [
        ("Evaluated using multi-class logarithmic loss.", "multiclass-log-loss"),
        (
            "## Evaluation\nlog loss = -1/N sum, where M is the number of class labels",
            "multiclass-log-loss",
        ),
        ("Evaluated on the column-wise root mean squared logarithmic error (RMSLE).", "rmsle"),
        ("Evaluated on the mean column-wise ROC AUC.", "roc-auc"),
        ("Evaluated on the mean columnwise log loss.", "log-loss"),
        ("Evaluated on categorization accuracy.", None),
    ],
)
def test_the_page_of_several_targets(page: str, metric: str | None) -> None:
    """Of several target columns a name may mean another metric, or none."""
    assert match_metric("", page, ["a", "b", "c"]).metric == metric


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rootmeansquare", "rmse"),
        ("f1-makro", "macro-f1"),
        ("auc under roc", "roc-auc"),
        ("logloss multi", "multiclass-log-loss"),
    ],
)
def test_an_unknown_name_has_neighbours(name: str, expected: str) -> None:
    """The three nearest metrics hold the one that was meant."""
    nearest = nearest_metrics(name)
    assert expected in nearest
    assert len(nearest) == 3
    assert set(nearest) <= set(METRICS)


def test_the_leaderboard_has_a_say() -> None:
    """A metric against the order of the leaderboard does not match."""
    assert match_metric("Log Loss", "", ["y"], [0.1, 0.2, 0.3]).metric == "log-loss"
    assert match_metric("Log Loss", "", ["y"], [0.3, 0.2, 0.1]).metric is None
    assert match_metric("Log Loss", "", ["y"], [0.3, 0.3]).metric == "log-loss"


def test_a_score_that_the_metric_cannot_have_is_a_contradiction() -> None:
    """An AUC of 31.5 is none, nor an error below 0."""
    beyond = match_metric("AUC", "", ["y"], [31.5, 30.2])
    assert beyond.metric is None
    assert beyond.reason.endswith("but the leaderboard has 31.5, beyond 1")
    assert match_metric("Log Loss", "", ["y"], [-0.2, 0.3]).metric is None
    assert match_metric("AUC", "", ["y"], [1.0, 0.9]).metric == "roc-auc"
