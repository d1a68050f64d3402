"""A metric may be a function of a package, or of a file beside competition.yaml."""

import hashlib
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import fbeta_score, median_absolute_error, ndcg_score

from comind.competitions.competition_folder import is_problem, load_competition
from comind.domain.competition import MetricFunction
from comind.errors import CompetitionError
from comind.grading.blending.cross_fit import fit_blend
from comind.grading.blending.error_correlation import error_correlations
from comind.grading.grader_server import SplitGrader
from comind.grading.past_competition import grade_past
from comind.metrics.bootstrap import Bootstrap
from comind.metrics.functions import function_metric
from comind.splits.checked_plan import check_competition
from comind.splits.extra_folds import make_fold
from comind.splits.split_files import make_split
from tests.unit.competitions.folders import competition_folder

_WITHIN = """
import numpy as np

def within(truth, prediction):
    return float(np.mean(truth == prediction))
"""
_FRAGILE = """
def within(truth, prediction):
    assert prediction[0] != "no", f"{truth}"
    return 1
"""


def _folder(root: Path, source: str = _WITHIN, **metric: Any) -> Path:
    """Write a competition with the classes yes and no, and a metric in a file."""
    asked = {"function": "score.py:within", "maximize": True, "needs": "labels"} | metric
    folder = competition_folder(root, rows=120, metric=asked)
    (folder / "score.py").write_text(source)
    return folder


def test_a_file_named_scorer_beside_tables_is_their_metrics(tmp_path: Path) -> None:
    """A competition of tables stays one, whatever the file of its metric is called."""
    (tmp_path / "public").mkdir()
    (tmp_path / "scorer.py").write_text("def within(truth, prediction): return 1.0\n")
    (tmp_path / "generator.py").write_text("")
    assert not is_problem(tmp_path)


def test_a_function_of_a_file_scores_splits_folds_and_past_submissions(tmp_path: Path) -> None:
    """Validation, a further fold, a comparison and `comind grade` use the function."""
    folder = _folder(tmp_path)
    competition = load_competition(folder)
    check_competition(competition)
    made = make_split(competition, tmp_path / "splits", seed=0)
    (folder / "score.py").unlink()  # the split has its own
    grader = SplitGrader(made)
    truth = tmp_path / "truth.csv"
    answers = pd.read_csv(made.answers, dtype=str)
    answers.to_csv(truth, index=False)
    report = grader.grade(truth, made.sample)
    assert report.score is not None
    assert (report.score.metric, report.score.value.value) == ("score.py:within", 1.0)
    wrong = tmp_path / "wrong.csv"
    answers.assign(label=answers["label"].iloc[::-1].to_numpy()).to_csv(wrong, index=False)
    assert grader.compare(truth, wrong).difference > 0
    assert SplitGrader(make_fold(made, 1)).check(made.sample).valid
    (folder / "score.py").write_text(_WITHIN)
    assert grade_past(competition, folder / "private" / "answers.csv").score == 1.0


def test_labels_of_a_function_are_averaged_by_vote(tmp_path: Path) -> None:
    """Labels, which are text, have no mean; a blend and the correlations of errors count votes."""
    asked = MetricFunction(function="score.py:within", maximize=True, needs="labels")
    metric = function_metric(asked, _folder(tmp_path))
    truth = pd.DataFrame({"label": ["yes", "no"] * 50})
    wrong = [
        truth.assign(label=np.where(np.arange(100) < size, "no", truth["label"])) for size in (50, 60)
    ]
    blend = fit_blend(metric, truth, wrong, None)
    assert blend.mean in {"", "vote"}
    assert error_correlations(metric, truth, wrong).correlations[1][0] > 0


def test_the_text_of_the_file_is_part_of_the_splits_name(tmp_path: Path) -> None:
    """Another function is another split; the file is sealed, and not public."""
    first = make_split(load_competition(_folder(tmp_path / "a")), tmp_path / "splits", seed=0)
    other = _folder(tmp_path / "b", _WITHIN.replace("==", "!="), maximize=False)
    assert make_split(load_competition(other), tmp_path / "splits", seed=0).root != first.root
    assert (first.metric_sources / "score.py").read_text() == _WITHIN
    assert not [path for path in first.public.rglob("*") if path.suffix == ".py"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"function": "other.py:within"}, "other.py: there is no such file"),
        ({"function": "score.py:without"}, "there is no function 'score.py:without'"),
        ({"function": "no_such_package.score"}, "the package 'no_such_package' of"),
        ({"function": "sklearn.metrics.no_such"}, "there is no function 'sklearn.metrics.no_such'"),
        ({"function": "public/score.py:within"}, "agents see the files in public/"),
        ({"function": "within"}, "metric.function: name it as file.py:function, or"),
        ({"function": "../score.py:within"}, "metric.function: name it as file.py:function, or"),
        ({"needs": "wishes"}, "metric.needs"),
        ({"maximise": True}, "metric.maximise"),
        ({"maximize": False}, "`maximize` may have to be true"),
    ],
)
def test_a_wrong_function_is_one_line(tmp_path: Path, change: dict[str, Any], line: str) -> None:
    """What cannot be loaded, or has the other direction, is refused before anything is run."""
    with pytest.raises(CompetitionError) as caught:
        check_competition(load_competition(_folder(tmp_path, **change)))
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_function_that_fails_is_named(tmp_path: Path) -> None:
    """A bug of the function is told before a campaign starts."""
    folder = _folder(tmp_path, "def within(truth, prediction):\n    return truth.no_such\n")
    with pytest.raises(CompetitionError, match=r"score.py:within fails: AttributeError"):
        check_competition(load_competition(folder))


def test_a_message_to_agents_has_nothing_of_the_functions_own(tmp_path: Path) -> None:
    """An exception of the function may have true values in its text, which no report shows."""
    source = (
        "def within(truth, prediction):\n    assert prediction[0] != 'no', f'{truth}'\n    return 1\n"
    )
    folder = _folder(tmp_path, source)
    made = make_split(load_competition(folder), tmp_path / "splits", seed=0)
    answers = pd.read_csv(made.answers, dtype=str).assign(label="no")
    answers.to_csv(tmp_path / "no.csv", index=False)
    report = SplitGrader(made).grade(tmp_path / "no.csv", made.sample)
    assert report.message == "no.csv: score.py:within fails on it (AssertionError)"


def test_a_file_that_exits_is_one_line(tmp_path: Path) -> None:
    """A file that ends the process is refused as one that fails."""
    with pytest.raises(CompetitionError, match=r"score.py: cannot be loaded: SystemExit: 3"):
        check_competition(load_competition(_folder(tmp_path, "raise SystemExit(3)")))


def _metric(function: str, needs: str) -> Any:
    values = {"function": function, "maximize": True, "needs": needs}
    return function_metric(MetricFunction.model_validate(values), Path())


def test_functions_of_scikit_learn_get_arrays_of_their_shape() -> None:
    """One target column is one dimension, several are two, and labels that are numbers are numbers."""
    rng = np.random.default_rng(0)
    truth = pd.DataFrame(rng.integers(0, 4, (50, 3)), columns=list("abc"))
    scores = pd.DataFrame(rng.random((50, 3)), columns=list("abc"))
    ranks = _metric("sklearn.metrics.ndcg_score", "ranks")
    assert ranks.score(truth.astype(float), scores) == ndcg_score(truth, scores)
    numbers = _metric("sklearn.metrics.median_absolute_error", "numbers")
    one = truth[["a"]].astype(float), scores[["a"]]
    assert numbers.score(*one) == median_absolute_error(*one)
    labels = pd.DataFrame({"y": rng.integers(0, 2, 50).astype(str)}, dtype=object)
    other = labels.iloc[::-1].reset_index(drop=True)
    balanced = _metric("sklearn.metrics.f1_score", "labels").score(labels, other)
    assert balanced == fbeta_score(labels["y"].astype(int), other["y"].astype(int), beta=1)


def test_a_slow_function_has_fewer_draws() -> None:
    """The interval of a function that takes long is of fifty draws, and of a quick one of a thousand."""
    calls: list[int] = []

    def slow(truth: np.ndarray, prediction: np.ndarray) -> float:
        calls.append(len(truth))
        if len(calls) == 1:
            _spin(0.25)
        return float((truth == prediction).mean())

    metric = _metric("sklearn.metrics.accuracy_score", "numbers")
    table = pd.DataFrame({"y": np.arange(40.0)})
    interval = Bootstrap(40).interval(metric, table, table + (table > 30), 0.75)
    assert interval.low < 0.75 < interval.high
    Bootstrap(40).interval(replace(metric, function=slow), table, table, 1.0)
    assert len(calls) == 51


def _spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        hashlib.sha256(b"x" * 10_000).digest()
