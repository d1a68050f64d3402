"""Every metric equals the library's value, or the formula of its definition."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.metrics import METRICS, known_metric
from tests.examples import examples
from tests.unit.metrics.references import RANKED_REFERENCES, REFERENCES
from tests.unit.metrics.samples import random_sample

pytestmark = pytest.mark.slow


def test_every_metric_has_a_reference() -> None:
    """Every metric has a reference to compare with."""
    assert set(REFERENCES) == set(METRICS)


@pytest.mark.parametrize("name", METRICS)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(3, 60), columns=st.integers(1, 3))
@examples(15)
def test_a_metric_equals_its_reference(name: str, seed: int, rows: int, columns: int) -> None:
    """Metric and reference are equal on random tables with ties, empty cells and unknown labels."""
    sample = random_sample(METRICS[name], seed, rows=rows, columns=columns)
    expected = REFERENCES[name](sample.truth, sample.prediction)
    assert sample.score() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", RANKED_REFERENCES)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 40))
@examples(10)
def test_a_metric_of_ranked_guesses_equals_its_reference(name: str, seed: int, rows: int) -> None:
    """Metric and formula are equal with repeated guesses, empty cells and unknown labels."""
    sample = random_sample(known_metric(name), seed, rows=rows, columns=1)
    expected = RANKED_REFERENCES[name](sample.truth, sample.prediction)
    assert sample.score() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_a_draw_is_a_table_of_its_own(name: str) -> None:
    """The value over a bootstrap draw equals the value of the table with the drawn rows."""
    sample = random_sample(METRICS[name], seed=1, rows=30)
    truth, prediction = sample.parsed()
    random = np.random.default_rng(0)
    draws = [random.integers(0, 30, 30) for _ in range(10)] + [np.zeros(30, dtype=int)]
    expected = []
    for draw in draws:
        drawn = [table.iloc[draw].reset_index(drop=True) for table in (truth, prediction)]
        try:
            expected.append(sample.metric.score(*drawn))
        except ValueError:
            expected.append(np.nan)
    values = sample.metric.score_draws(truth, prediction, iter(draws))
    assert values == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "truth", "prediction", "value"),
    [
        ("cohen-kappa", ["a", "a"], ["a", "a"], 1.0),
        ("cohen-kappa", ["a", "a"], ["b", "b"], 0.0),
        ("quadratic-weighted-kappa", ["1", "1"], ["1", "1"], 1.0),
        ("quadratic-weighted-kappa", ["1", "1"], ["2", "2"], 0.0),
        ("f1", ["0", "0"], ["0", "0"], 0.0),
        ("matthews-correlation", ["a", "a"], ["a", "b"], 0.0),
        ("mape", ["0", "2"], ["0", "1"], 0.25),
        ("smape", ["0", "2"], ["0", "2"], 0.0),
        ("r2", ["2", "2"], ["2", "2"], 1.0),
        ("r2", ["2", "2"], ["2", "3"], 0.0),
        ("roc-auc", ["0", "1", "1"], ["0.5", "0.5", "0.5"], 0.5),
        ("log-loss", ["1"], ["0"], -np.log(1e-15)),
        ("micro-f1", ["", ""], ["", ""], 0.0),
        ("samples-f1", ["", "a"], ["", "a"], 0.5),
        ("word-jaccard", ["", "A b"], ["", "a B"], 1.0),
        ("pixel-f05", ["", "1 2"], ["", "1 2"], 0.5),
        ("pixel-f05", ["1 1"], ["-"], 0.0),
    ],
)
def test_the_edges_of_a_definition(
    name: str, truth: list[str], prediction: list[str], value: float
) -> None:
    """Divisions by zero give the value that the reference defines."""
    metric = METRICS[name]
    tables = (
        pd.DataFrame({"label": truth}).apply(metric.parse_truth),
        pd.DataFrame({"label": prediction}).apply(metric.parse),
    )
    assert metric.score(*tables) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "truth", "reason"),
    [
        ("roc-auc", ["1", "1"], "the rows are all of one class"),
        ("average-precision", ["0", "0"], "no row is positive"),
        ("lwlrap", ["0", "0"], "no row has a label"),
        ("pearson", ["2", "2"], "the truth is constant on these rows"),
        ("spearman", ["2", "2"], "the truth is constant on these rows"),
        ("r2", ["2"], "R squared needs two rows"),
    ],
)
def test_a_metric_without_a_value_says_why(name: str, truth: list[str], reason: str) -> None:
    """Undefined metrics raise an error."""
    metric = METRICS[name]
    prediction = pd.DataFrame({"label": ["0.25", "0.75"][: len(truth)]})
    with pytest.raises(ValueError, match=reason):
        metric.score(
            pd.DataFrame({"label": truth}).apply(metric.parse_truth), prediction.apply(metric.parse)
        )
