"""Metrics of past competitions: values computed by hand, and properties."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.metrics.metric_names import metric_table
from comind.metrics.metric_types import RowMetric
from comind.mlebench.catalog import Mode, benchmark_competitions
from comind.mlebench.grading_rules import GradingRules
from comind.mlebench.ground_truth import read_answers
from comind.mlebench.metrics.boxes import _intersection_area
from tests.examples import examples
from tests.unit.metrics.custom import CUSTOM_METRICS
from tests.unit.mlebench.worlds import make_world

_Cells = list[str]


def _score(name: str, truth: dict[str, _Cells], guess: dict[str, _Cells]) -> float:
    """Return the value of a metric; columns that only the truth has are its context."""
    metric = CUSTOM_METRICS[name]
    true = {
        c: metric.parse_truth(pd.Series(cells, dtype=str)) for c, cells in truth.items() if c in guess
    }
    context = {c: pd.Series(cells, dtype=str) for c, cells in truth.items() if c not in guess}
    parsed = {c: metric.parse(pd.Series(cells, dtype=str)) for c, cells in guess.items()}
    return metric.score(pd.DataFrame({**true, **context}), pd.DataFrame(parsed))


def _one(name: str, truth: _Cells, guess: _Cells, **context: _Cells) -> float:
    return _score(name, {"c": truth, **context}, {"c": guess})


@pytest.mark.parametrize(
    ("name", "truth", "guess", "value"),
    [
        # hits at 1 and 3: (1/1 + 2/3) / 2 truths; a repeated label is one hit
        ("map-at-5", ["a b"], ["a c b"], (1 + 2 / 3) / 2),
        ("map-at-5", ["a b"], ["a a a"], 1 / 2),
        ("map-at-5", ["a"], ["b c d e f a"], 0.0),
        # one of three pairs is turned round: 1 - 4 * 1 / 6
        ("pooled-kendall-tau", ["x y z"], ["y x z"], 1 / 3),
        ("pooled-kendall-tau", ["x y z", "p q"], ["z y x", "p q"], 1 - 4 * 3 / 8),
        ("normalised-levenshtein", ["1 2 3", "4"], ["1 3", "4 4 4"], 3 / 4),
        # both positives above both negatives, and then all tied: the diagonal
        ("weighted-roc-auc", ["1", "1", "0", "0"], ["4", "3", "2", "1"], 1.0),
        ("weighted-roc-auc", ["1", "0"], ["1", "1"], (2 * 0.4 * 0.8 + 0.6 * 0.3) / 1.4),
        ("mean-dice", ["1 4", ""], ["3 4", ""], (0.5 + 1) / 2),
        ("global-dice", ["1 4", ""], ["3 4", "1 2"], 4 / 10),
        # overlap 4/6 is above 0.50, 0.55, 0.60, 0.65
        ("iou-precision", ["1 5"], ["2 5"], 0.4),
        ("iou-precision", ["", "1 5"], ["1 5", ""], 0.0),
        ("iou-precision-histogram", ["1 10201"], [""], 1.0),
        ("probabilistic-f1", ["1", "0"], ["0.5", "0.25"], 2 * 0.5 / (0.5 + 0.25 + 1)),
        ("span-f1", ["1:2|YES", "", "3:4"], ["YES", "1:2", ""], 2 / (2 + 1 + 1)),
        ("span-accuracy", ["1:2|YES", "", "", "3:4"], ["1:2", "", "1:2", ""], 0.5),
        ("point-in-box-f1", ["a 0 0 4 4 b 9 9 2 2"], ["a 2 2 a 1 1 b 9 10"], 2 / (2 + 2 + 1)),
        # hit, false alarm in the second image, where nothing is; AP = 1
        (
            "pooled-box-map",
            ["o 1 0 0 4 4", "n 1 0 0 1 1"],
            ["o 0.9 0 0 4 4", "o 0.5 0 0 1 1 n 1 0 0 1 1"],
            1.0,
        ),
        # the false alarm comes first: precision 1/2 at the only box
        ("coco-map-40", ["1 0 0 4 4"], ["1 0.5 0 0 4 4 1 0.9 20 20 30 30"], 0.5),
        ("coco-map-40", ["1 0 0 10 10"], ["1 1 0 0 10 4"], 1.0),
        ("coco-map-40", ["1 0 0 10 10"], ["1 1 0 0 10 3.9"], 0.0),
        # numbered from 0, the only box and the only detection never match
        ("coco-map-40-corners", ["1 0 0 4 4"], ["1 1 0 0 4 4"], 0.0),
        # half as high: overlap 1/2 is not above 0.5
        ("volume-map", ["1 0 0 0 2 4 2 0 car"], ["1 0 0 0 2 4 1 0 car"], 0.0),
        # a square turned by 45 degrees over itself: octagon, overlap 0.7071: five of ten thresholds
        ("volume-map", ["1 0 0 0 2 2 2 0 car"], [f"1 0 0 0 2 2 2 {math.pi / 4} car"], 0.5),
    ],
)
def test_values_by_hand(name: str, truth: _Cells, guess: _Cells, value: float) -> None:
    """The value equals one computed by hand."""
    assert _one(name, truth, guess) == pytest.approx(value, abs=1e-12)


def test_losses_by_hand() -> None:
    """Values of metrics with several columns or a context equal those computed by hand."""
    assert _score(
        "kl-divergence", {"a": ["1"], "b": ["3"]}, {"a": ["0.5"], "b": ["0.5"]}
    ) == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    assert _score(
        "laplace-log-likelihood", {"f": ["2000"], "c": ["0"]}, {"f": ["5000"], "c": ["10"]}
    ) == pytest.approx(-math.sqrt(2) * 1000 / 70 - math.log(math.sqrt(2) * 70))
    assert _score(
        "angular-error",
        {"a": ["0", "1"], "z": ["0", "1"]},
        {"a": ["0", "1"], "z": [str(math.pi / 2), "1"]},
    ) == pytest.approx(math.pi / 4)
    assert _one(
        "log-mae-of-types", ["0", "0", "0"], ["1", "3", "5"], type=["x", "x", "y"]
    ) == pytest.approx((math.log(2) + math.log(5)) / 2)
    assert _one(
        "weighted-log-loss", ["1", "0"], ["0.5", "0.25"], row=["s_patient_overall", "s_C1"]
    ) == pytest.approx((14 * math.log(2) - math.log(0.75)) / 15)
    degree = math.pi / 180 * 6_371_000
    assert _score(
        "trip-distance",
        {"la": ["0", "0"], "lo": ["0", "0"], "trip": ["t", "t"]},
        {"la": ["0", "1"], "lo": ["0", "0"]},
    ) == pytest.approx((0.5 + 0.95) / 2 * degree)
    assert _one(
        "dice-hausdorff", ["1 1"], ["2 1"], slice=["c_d_slice_1"], height=["2"], width=["1"]
    ) == pytest.approx(0.6 * (1 - 0.5 / math.sqrt(3)))


@pytest.mark.parametrize(
    ("name", "truth", "guess", "reason"),
    [
        ("pooled-kendall-tau", ["x y"], ["x x"], "does not name each once"),
        ("normalised-levenshtein", ["1"], ["one"], "no whole numbers"),
        ("weighted-roc-auc", ["1", "1"], ["1", "2"], "all of one class"),
        ("probabilistic-f1", ["0"], ["1"], "no row is positive"),
        ("point-in-box-f1", ["a 0 0 1 1"], ["a 0"], 'no list of "label x y" in 1 of 1 rows'),
        ("pooled-box-map", [""], [""], "no true box"),
        ("volume-map", ["1 0 0 0 1 1 1 0 car"], ["1 0 0 0 1 1 0 0 car"], "a size that is not above 0"),
        ("span-f1", [""], ["maybe"], "neither start:end nor YES nor NO"),
    ],
)
def test_what_has_no_value_is_said(name: str, truth: _Cells, guess: _Cells, reason: str) -> None:
    """An invalid submission raises a one-line error."""
    with pytest.raises(ValueError, match=reason):
        _one(name, truth, guess)


def test_a_refused_order_tells_nothing_of_the_true_one() -> None:
    """The error for an invalid order does not depend on the length of the true one."""
    said = []
    for truth in ("x y", "x y z"):
        with pytest.raises(ValueError, match="does not name each once") as refused:
            _one("pooled-kendall-tau", [truth], ["x x"])
        said.append(str(refused.value))
    assert said[0] == said[1]


@given(seed=st.integers(0, 10_000))
@examples(20)
def test_areas_of_turned_boxes(seed: int) -> None:
    """The intersection area of rotated rectangles equals that of a fine grid, and is symmetric."""
    random = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        turn, (x, y), size = random.uniform(0, 6), random.uniform(-1, 1, 2), random.uniform(0.5, 3, 2)
        corners = np.array([[1, -1], [1, 1], [-1, 1], [-1, -1]]) / 2 * size
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        sides.append(corners @ matrix.T + (x, y))
    points = np.stack(np.meshgrid(*[np.arange(-4, 4, 0.02)] * 2), axis=-1).reshape(-1, 2)
    inside = np.full(len(points), fill_value=True)
    for side in sides:
        for start, end in zip(side, np.roll(side, -1, axis=0), strict=True):
            edge, away = end - start, points - start
            inside &= edge[0] * away[:, 1] - edge[1] * away[:, 0] >= 0
    assert _intersection_area(*sides) == pytest.approx(inside.sum() * 0.02**2, abs=0.06)
    assert _intersection_area(*sides) == pytest.approx(_intersection_area(*sides[::-1]))


_USED = {
    entry.metric_in(mode).name: (entry, mode)
    for mode in Mode
    for entry in benchmark_competitions().values()
    if entry.metric_in(mode).name in CUSTOM_METRICS
}


def test_every_metric_is_somebodys() -> None:
    """Every custom metric is used by a competition of the benchmark, or has a name of Kaggle's."""
    named = {name for entry in metric_table() for name in (entry.one, entry.instances)}
    assert set(_USED) <= set(CUSTOM_METRICS)
    assert set(CUSTOM_METRICS) - set(_USED) <= named


def _with_other_confidences(cell: str) -> str:
    """Return boxes, six fields each, with confidences that differ, also from those of other cells."""
    fields = cell.split()
    fields[1::6] = [
        str(np.random.default_rng([*cell.encode(), n]).random()) for n in range(len(fields) // 6)
    ]
    return " ".join(fields)


@pytest.mark.parametrize("name", _USED)
@given(seed=st.integers(0, 2**31), share=st.floats(0, 1))
@examples(4)
def test_the_truth_is_best_and_order_is_nothing(name: str, seed: int, share: float) -> None:
    """A perfect submission scores `best`, nothing scores better, and the order of rows is irrelevant."""
    metric, (entry, _) = CUSTOM_METRICS[name], _USED[name]
    world = make_world(entry, seed)
    with TemporaryDirectory() as folder:
        answers = read_answers(entry, world.write(Path(folder)))
    targets = entry.target_columns(answers.columns)
    tables = {}
    for case in ("perfect", "close"):
        text = world.submissions[case].astype(str)
        true, guess = GradingRules(entry, targets, Mode.KAGGLE).pair_rows(answers, text)
        tables[case] = guess.reset_index(drop=True)
    if name == "coco-map-40":  # equal confidences are ranked in the order of rows
        tables["close"] = tables["close"].map(_with_other_confidences)
    columns = {c: metric.parse_truth(true[c]) for c in targets if c in true}
    context = {c: true[entry.context[c]] for c in metric.context}
    truth = pd.DataFrame({**columns, **context}).reset_index(drop=True)
    perfect, close = (tables[c][targets].apply(metric.parse) for c in ("perfect", "close"))
    sign = 1 if metric.maximize else -1
    value = metric.score(truth, close)
    if metric.best is not None:
        assert metric.score(truth, perfect) == pytest.approx(metric.best, abs=1e-6)
        assert sign * (metric.best - value) >= -1e-9
    if name == "coco-map-40-corners":  # it takes the first image for another
        return
    order = np.random.default_rng(seed).permutation(len(truth))
    turned = (side.iloc[order].reset_index(drop=True) for side in (truth, close))
    assert metric.score(*turned) == pytest.approx(value, rel=1e-9)
    if isinstance(metric, RowMetric) and metric.row_bounds:
        rows = metric.rows(truth, close)
        assert metric.row_bounds[0] <= rows.min()
        assert rows.max() <= metric.row_bounds[1] + 1e-9


@pytest.mark.parametrize("name", CUSTOM_METRICS)
def test_a_metric_says_what_it_is(name: str) -> None:
    """Each metric has a direction and a reference, and its name is not a standard metric's."""
    from comind.metrics import METRICS

    assert CUSTOM_METRICS[name].reference
    assert name not in METRICS
