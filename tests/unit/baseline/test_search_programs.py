"""Programs that tune hyperparameters, and those that fit with the result."""

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from threadpoolctl import threadpool_limits

from comind.baseline.recipes.answers import Target, make_targets, raw_loss, to_target_columns
from comind.baseline.recipes.columns import columns_for_trees
from comind.baseline.recipes.searching import (
    RawPredictions,
    Sampler,
    ensemble_weights,
    greedy_weights,
    make_folds,
)
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.baseline.search_programs import (
    SearchResult,
    affordable,
    families_for,
    fit_program,
    is_tuned,
    missing_packages,
    parse_search_result,
    screen_program,
    screened_in,
    search_program,
    unsupported_reason,
)
from comind.domain.environment import StoreItem
from comind.domain.metric import MetricTraits
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.metrics import known_metric
from tests.unit.baseline import tiny

pytestmark = pytest.mark.slow

_ALL = ("lightgbm", "catboost", "xgboost-cpu", "torch", "pillow", "soundfile")


def _task(kind: str, metric: str, targets: list[str], label: str = "y") -> Task:
    traits = known_metric(metric).traits.model_dump(exclude={"means"})
    return Task("input/tiny", ["id"], ["id"], [label], targets, kind, 0, **traits)


def _run(code: str, workspace: Path) -> str:
    """Run a program in this process, as imports take longer than fits; return what it printed.

    What it sets for a process of its own is as before afterwards: threads, and the global generator.
    """
    said, threads = io.StringIO(), torch.get_num_threads()
    drawn = np.random.get_state()  # noqa: NPY002 - programs seed it
    try:
        with (
            contextlib.chdir(workspace),
            contextlib.redirect_stdout(said),
            warnings.catch_warnings(),
            threadpool_limits(1),
        ):
            warnings.simplefilter("ignore")
            exec(compile(code, "program", "exec"), {"__name__": "program"})
    finally:
        np.random.set_state(drawn)  # noqa: NPY002
        torch.set_num_threads(threads)
    return said.getvalue()


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs use one thread, as others are busy."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def _columns(rows: int = 120) -> pd.DataFrame:
    """Return a table with a category among its columns, and values of it that train lacks."""
    table = tiny.numbers(rows)
    table["word"] = np.where(table["z"] > 0, "up", "down")
    table.loc[table["z"].abs() < 0.2, "word"] = None
    table.loc[rows - 10 :, "word"] = "zebra"
    return table


def _labels(workspace: Path) -> Problem:
    """Return a table with a label that `x` tells but for some rows, so that boosting stops early."""
    table = _columns()
    label = np.where((table["x"] > 0) ^ (table["id"] % 15 == 0), "yes", "no")
    return tiny.competition(
        workspace, DataShape.TABLE, AnswerKind.LABEL, table.assign(y=label), metric="accuracy"
    )


def _numbers(workspace: Path) -> Problem:
    """Return a table with a number that grows with `x`."""
    table = _columns()
    return tiny.competition(
        workspace, DataShape.TABLE, AnswerKind.NUMBER, table.assign(y=10 * table["x"])
    )


# --- which kinds ----------------------------------------------------------------------------------


def test_kinds_follow_from_data_and_packages(tmp_path: Path) -> None:
    """Kinds of missing libraries are skipped; unsupported data and answers have none."""
    problem = tiny.table(tmp_path)
    assert {"LightGBM", "CatBoost", "XGBoost", "linear"} <= set(families_for(problem, _ALL))
    alone = families_for(problem, ())
    assert "histograms" in alone
    assert not {"LightGBM", "CatBoost", "XGBoost"} & set(alone)
    for change in ({"shape": DataShape.PANEL}, {"answer_kind": AnswerKind.TEXT}):
        assert families_for(problem.model_copy(update=change), _ALL) == ()
    texts = problem.model_copy(update={"shape": DataShape.TEXT})
    assert not {"naive Bayes", "weighted words"} & set(families_for(texts, _ALL))
    labels = texts.model_copy(update={"answer_kind": AnswerKind.LABEL, "metric": "accuracy"})
    assert families_for(labels, _ALL)[:2] == ("naive Bayes", "words")
    ordered = labels.model_copy(update={"traits": MetricTraits(ordered=True)})
    assert "naive Bayes" not in families_for(ordered, _ALL)
    wide = problem.model_copy(update={"target_columns": tuple("abcde")})
    assert families_for(wide, _ALL) == ()
    assert unsupported_reason(wide, _ALL) == "5 targets, more than 4"
    many = problem.model_copy(update={"train_rows": 50_000})
    assert set(families_for(many, _ALL)) < set(families_for(problem, _ALL))


@pytest.mark.parametrize(
    ("shape", "needed"),
    [(DataShape.IMAGES, "torch and pillow"), (DataShape.AUDIO, "soundfile"), (DataShape.TEXT, "")],
)
def test_kinds_need_what_reads_the_data(shape: DataShape, needed: str, tmp_path: Path) -> None:
    """If a package that all programs of the data need is missing, there are no kinds."""
    problem = tiny.COMPETITIONS[shape](tmp_path)
    assert unsupported_reason(problem, _ALL) == ""
    assert unsupported_reason(problem, _ALL[:3]) == (f"{shape} without {needed}" if needed else "")
    assert bool(families_for(problem, _ALL[:3])) is not bool(needed)
    assert ("convolutions" in families_for(problem, _ALL)) is (shape is DataShape.IMAGES)


def _stored(name: str, form: str = "folder", kind: str = "", size: int = 0) -> StoreItem:
    path = f"input/models/{name}"
    return StoreItem(name=name, path=path, kind=form, load="", recommended_for=kind, bytes=size)


def test_stored_models_that_embed_rows_are_kinds(tmp_path: Path) -> None:
    """Two models of texts or images, those of the list first, then the smaller ones, each twice."""
    models = [
        _stored("mine", "transformers", size=1),
        _stored("me/large", "sentence-transformers", "texts", 9),
        _stored("wordllama", kind="texts", size=2),
        _stored("for-molecules", "transformers", "molecules", 1),
        _stored("net", "timm", size=1),
        _stored("a file", "file", size=1),
    ]
    packages = (*_ALL, "sentence-transformers", "transformers", "timm")

    def found(problem: Problem, *installed: str) -> list[str]:
        return [name for name in families_for(problem, installed, models) if "embedding" in name]

    texts, images = tiny.text(tmp_path), tiny.images(tmp_path)
    names = ("embedding of wordllama", "embedding of me/large")
    assert found(texts, *packages) == [each for name in names for each in (name, f"LightGBM on {name}")]
    assert found(images, *packages) == ["embedding of net", "LightGBM on embedding of net"]
    assert found(tiny.table(tmp_path), *packages) == []
    without = [name for name in packages if name != "transformers"]
    assert found(texts, *without)[0] == "embedding of me/large"
    assert missing_packages(images, _ALL, models) == (
        "without timm: no embedding of net, LightGBM on embedding of net"
    )
    assert missing_packages(images, packages, models) == ""
    many = texts.model_copy(update={"train_rows": 50_000})
    assert found(many, *packages)[:1] == ["embedding of wordllama"]
    assert "embedding of me/large" not in found(many, *packages)


def test_pretrained_kinds_of_tables_need_package_and_weights(tmp_path: Path) -> None:
    """TabPFN has weights for classes and others for numbers, and few rows; networks need none."""
    numbers, packages = tiny.table(tmp_path), (*_ALL, "tabicl", "tabpfn", "pytabkit")
    labels = numbers.model_copy(update={"answer_kind": AnswerKind.LABEL, "metric": "accuracy"})
    models = [_stored("jingang/TabICL"), _stored("Prior-Labs/TabPFN-v2-reg")]

    def found(problem: Problem, given: Collection[str] = packages) -> list[str]:
        return [name for name in families_for(problem, given, models) if name.startswith("Tab")]

    assert found(numbers) == ["TabICL", "TabPFN", "TabM"]
    assert found(labels) == ["TabICL", "TabM"]
    assert found(numbers, _ALL) == []
    assert missing_packages(numbers, _ALL, models) == (
        "without tabicl: no TabICL; without tabpfn: no TabPFN"
    )
    assert found(numbers.model_copy(update={"train_rows": 15_000})) == ["TabICL", "TabM"]
    assert [name for name in families_for(numbers, packages) if not is_tuned(name)] == [
        "RealMLP",
        "TabM",
    ]


# --- programs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["LightGBM", "XGBoost", "CatBoost", "histograms"])
def test_a_kind_of_boosting_is_searched_and_handed_in(kind: str, tmp_path: Path) -> None:
    """The program with the settings of a search writes the same submissions each time."""
    _check(kind, _labels(tmp_path), tmp_path)


@pytest.mark.parametrize("kind", ["linear", "kernel", "net", "nearest neighbours"])
def test_a_plain_kind_is_searched_and_handed_in(kind: str, tmp_path: Path) -> None:
    """Kinds of scikit-learn learn numbers, too."""
    _check(kind, _numbers(tmp_path), tmp_path)


def test_trees_on_several_threads_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extra trees and forests learn numbers, too; sums of them do not depend on which is done first."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    _check("trees", _numbers(tmp_path), tmp_path)


def test_a_category_that_train_lacks_is_a_gap() -> None:
    """What is new is no neighbour of it in the order of categories; all tables have those of train."""
    train, later = pd.DataFrame({"word": ["down", "up"] * 3}), pd.DataFrame({"word": ["aslant", "up"]})
    parts = columns_for_trees(_task("number", "rmse", ["y"]), Tables(train, later, later))
    assert [part["c0"].cat.categories.tolist() for part in parts] == [["down", "up"]] * 3
    assert parts[2]["c0"].isna().tolist() == [True, False]


@pytest.mark.parametrize("kind", ["words", "naive Bayes", "weighted words", "characters", "net"])
def test_texts_are_searched_and_handed_in(kind: str, tmp_path: Path) -> None:
    """Texts have kinds of their own, and their topics are a table to others."""
    _check(kind, tiny.text(tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("shape", "members"),
    [
        (DataShape.TEXT, ("words", "naive Bayes", "LightGBM")),
        (DataShape.AUDIO, ("kernel", "linear", "nearest neighbours")),
        (DataShape.IMAGES, ("kernel", "linear", "convolutions")),
    ],
)
def test_kinds_of_tables_see_other_data(
    shape: DataShape, members: tuple[str, ...], tmp_path: Path
) -> None:
    """What a recipe makes of texts, sounds and pictures is a table to kinds of models."""
    problem = tiny.COMPETITIONS[shape](tmp_path)
    settings = {kind: {"passes": 0.05} if kind == "convolutions" else None for kind in members}
    _run(fit_program(problem, 0, settings), tmp_path)
    assert len(pd.read_csv(tmp_path / "submission.csv")) == problem.test_rows
    out_of_fold = pd.read_csv(tmp_path / "out_of_fold.csv")
    train = pd.read_csv(tmp_path / problem.folder / "train.csv")
    assert (out_of_fold["y"] == train["y"]).mean() > 0.6


def test_ordered_labels_have_numbers_beside_them(tmp_path: Path) -> None:
    """The numbers of ordered labels are kept as they were before rounding."""
    rows = _columns()
    rows["y"] = np.rint(2 * rows["x"]).astype(int)
    given = DataShape.TABLE, AnswerKind.LABEL, rows
    problem = tiny.competition(tmp_path, *given, metric="quadratic-weighted-kappa")
    _run(fit_program(problem, 0, {"linear": None}), tmp_path)
    for name, beside in (
        ("submission.csv", "test_probabilities.csv"),
        ("out_of_fold.csv", "out_of_fold_probabilities.csv"),
    ):
        labels, numbers = (pd.read_csv(tmp_path / each) for each in (name, beside))
        assert (numbers["y"] % 1 != 0).any()
        assert numbers["y"].round().astype(int).equals(labels["y"])


@pytest.mark.parametrize("answers", [AnswerKind.PROBABILITY, AnswerKind.LABEL])
def test_one_class_alone_needs_no_model(answers: AnswerKind, tmp_path: Path) -> None:
    """Where all rows have the same class, every kind is sure of it, and a search of it ends."""
    rows = tiny.numbers(40).assign(y=1)
    problem = tiny.competition(tmp_path, DataShape.TABLE, answers, rows, metric="roc-auc")
    found = parse_search_result(_run(search_program(problem, 0, "linear", 2), tmp_path))
    assert found is not None
    assert found.loss == pytest.approx(0, abs=1e-5)
    _run(fit_program(problem, 0, dict.fromkeys(("LightGBM", "CatBoost"))), tmp_path)
    assert set(pd.read_csv(tmp_path / "submission.csv")["y"]) == {1}


def test_texts_of_numbers_beside_other_columns(tmp_path: Path) -> None:
    """Columns that are no texts stand beside the words."""
    rows = tiny.texts().assign(size=tiny.numbers()["x"])
    rows["y"] = rows["text"].str.contains("dark") + 2 * rows["size"]
    problem = tiny.competition(tmp_path, DataShape.TEXT, AnswerKind.NUMBER, rows)
    _check("words", problem, tmp_path)


_SENTENCE_TRANSFORMERS = """
import numpy as np

class SentenceTransformer:
    max_seq_length = None

    def __init__(self, path, device):
        assert path == "input/models/mine"

    def float(self):
        return self

    def encode(self, texts, batch_size, show_progress_bar):
        print(f"{len(texts)} texts are embedded")
        return np.array([[text.count("dark"), len(text), 1] for text in texts])
"""
_TIMM = """
import torch

def create_model(name, pretrained):
    assert (name, pretrained) == ("local-dir:input/models/mine", True)
    net = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten())
    net.reset_classifier = lambda classes: None
    return net
"""
_TIMM_DATA = """
def resolve_model_data_config(net):
    return {"input_size": (3, 8, 8), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Libraries of models with the calls that programs make, for the environment of tests has none."""
    folder = tmp_path / "packages"
    (folder / "timm").mkdir(parents=True)
    (folder / "sentence_transformers.py").write_text(_SENTENCE_TRANSFORMERS)
    (folder / "transformers" / "utils").mkdir(parents=True)
    (folder / "transformers" / "utils" / "logging.py").write_text("def disable_progress_bar(): ...\n")
    (folder / "timm" / "__init__.py").write_text(_TIMM)
    (folder / "timm" / "data.py").write_text(_TIMM_DATA)
    monkeypatch.syspath_prepend(folder)
    yield
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("sentence_transformers", "timm", "transformers"):
            del sys.modules[name]


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("shape", "form"), [(DataShape.TEXT, "sentence-transformers"), (DataShape.IMAGES, "timm")]
)
@pytest.mark.parametrize("kind", ["embedding of mine", "LightGBM on embedding of mine"])
def test_embeddings_are_searched_and_handed_in(
    kind: str, shape: DataShape, form: str, tmp_path: Path
) -> None:
    """A stored model embeds rows without a file, too; what it is fitted to is learnt."""
    _check(kind, tiny.COMPETITIONS[shape](tmp_path), tmp_path, [_stored("mine", form)])


@pytest.mark.usefixtures("packages")
def test_rows_are_embedded_once(tmp_path: Path) -> None:
    """Both kinds on a model's embedding, and later programs of the attempt, share the vectors."""
    rows = tiny.texts().assign(size=tiny.numbers()["x"])
    rows["y"] = rows["text"].str.contains("dark") + 2 * rows["size"]
    problem = tiny.competition(tmp_path, DataShape.TEXT, AnswerKind.NUMBER, rows)
    models, kinds = (
        [_stored("mine", "sentence-transformers")],
        dict.fromkeys(("embedding of mine", "LightGBM on embedding of mine")),
    )
    said = _run(screen_program(problem, 0, kinds, models), tmp_path)
    assert said.count("60 texts are embedded") == 1
    assert {each.family for each in screened_in(said)} == {*kinds}
    assert "embedded" not in _run(fit_program(problem, 0, kinds, models), tmp_path)
    train = pd.read_csv(tmp_path / problem.folder / "train.csv")
    assert np.corrcoef(pd.read_csv(tmp_path / "out_of_fold.csv")["y"], train["y"])[0, 1] > 0.7


def _check(kind: str, problem: Problem, workspace: Path, models: Collection[StoreItem] = ()) -> None:
    searched = _run(search_program(problem, 0, kind, 2, models=models), workspace)
    found = parse_search_result(searched)
    assert found is not None
    code = fit_program(problem, 0, {kind: found.settings}, models)
    assert "search(task" not in code.rpartition("tables = read_tables")[2]
    files = ["validation_submission.csv", "submission.csv", "out_of_fold.csv"]
    beside = ["validation_probabilities.csv", "test_probabilities.csv", "out_of_fold_probabilities.csv"]
    if problem.probability_form:
        files += beside
    handed_in = []
    for _ in range(2):
        _run(code, workspace)
        handed_in.append([(workspace / name).read_bytes() for name in files])
    assert handed_in[0] == handed_in[1]
    if problem.probability_form == "classes":
        for name, soft in zip(files[:3], beside, strict=True):
            labels, shares = (pd.read_csv(workspace / each) for each in (name, soft))
            assert labels["id"].equals(shares.pop("id"))
            assert shares.sum(axis=1).to_numpy() == pytest.approx(1)
            assert shares.idxmax(axis=1).equals(labels["y"])
    train = pd.read_csv(workspace / problem.folder / "train.csv")
    out_of_fold = pd.read_csv(workspace / "out_of_fold.csv")
    assert out_of_fold["id"].tolist() == train["id"].tolist()
    if problem.answer_kind is AnswerKind.LABEL:
        assert (out_of_fold["y"] == train["y"]).mean() > 0.8
    else:
        assert np.corrcoef(out_of_fold["y"], train["y"])[0, 1] > 0.5


def test_an_average_needs_no_search(tmp_path: Path) -> None:
    """Kinds with the settings that a search begins with are averaged by one program."""
    problem = _numbers(tmp_path)
    said = _run(fit_program(problem, 0, dict.fromkeys(("LightGBM", "linear", "trees"))), tmp_path)
    assert "y: weights [" in said
    assert len(pd.read_csv(tmp_path / "submission.csv")) == problem.test_rows


def test_kinds_are_screened_on_one_fold(tmp_path: Path) -> None:
    """Each kind has a loss and seconds, the least loss first; one that fails stops no other."""
    problem = _numbers(tmp_path)
    kinds = ("linear", "naive Bayes", "nearest neighbours")  # the second learns nothing but classes
    said = _run(screen_program(problem, 0, kinds), tmp_path)
    assert "naive Bayes: " in said
    screened = screened_in(said)
    assert {each.family for each in screened} == {"linear", "nearest neighbours"}
    assert screened[0].loss <= screened[1].loss
    assert all(each.seconds > 0 for each in screened)
    assert screened[0].fit_seconds == screened[0].encoding + 5 * screened[0].seconds
    assert not (tmp_path / "submission.csv").exists()
    assert screened_in('{"family": "linear", "loss": NaN, "seconds": 1}\nnothing') == ()


@pytest.mark.parametrize("kind", ["LightGBM", "XGBoost", "CatBoost", "histograms"])
def test_columns_may_have_any_name(kind: str, tmp_path: Path) -> None:
    """Signs that a library refuses in names of columns, such as brackets, are no reason to skip it."""
    rows = tiny.numbers().rename(columns={"x": "x [m<3], {}"})
    rows["y"] = 10 * rows["x [m<3], {}"]
    problem = tiny.competition(tmp_path, DataShape.TABLE, AnswerKind.NUMBER, rows)
    said = _run(screen_program(problem, 0, [kind]), tmp_path)
    assert [each.family for each in screened_in(said)] == [kind], said


def test_what_is_affordable_fits_together() -> None:
    """Kinds are taken in their order as long as time lasts, five folds each."""
    screened = screened_in(
        "\n".join(
            json.dumps({"family": kind, "loss": number, "seconds": seconds})
            for number, (kind, seconds) in enumerate([("a", 1.0), ("b", 9.0), ("c", 1.0), ("d", 1.0)])
        )
    )
    assert affordable(screened, 12.0, 6) == ("a", "c")
    assert affordable(screened, 100.0, 2) == ("a", "b")
    assert affordable(screened, 1.0, 6) == ()


def test_what_a_search_printed_is_read() -> None:
    """The last valid line of settings is parsed; other output is ignored."""
    first = SearchResult(settings={"a": 1}, loss=0.5, seconds=1.0).model_dump_json()
    last = SearchResult(settings={"a": 2}, loss=0.4, seconds=1.0)
    assert parse_search_result(f'{first}\nnoise\n{last.model_dump_json()}\n{{"settings": cut') == last
    assert parse_search_result("nothing") is None


# --- folds ----------------------------------------------------------------------------------------


def test_folds_hold_each_row_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folds that attempts share are taken where they fit train.csv, else random ones."""
    monkeypatch.chdir(tmp_path)
    rows, target = pd.DataFrame({"x": range(60)}), Target("y", ["a", "b"], np.arange(60) % 2)
    drawn = make_folds(rows, target, 0)
    (tmp_path / "input" / "folds").mkdir(parents=True)
    shared = np.arange(60) // 20
    pd.DataFrame({"fold": shared}).to_csv("input/folds/folds.csv", index=False)
    taken = make_folds(rows, target, 0)
    assert [held.tolist() for _, held in taken] == [
        np.nonzero(shared == n)[0].tolist() for n in range(3)
    ]
    for folds in (drawn, taken):
        assert sorted(np.concatenate([held for _, held in folds])) == list(range(60))
        assert not any(set(fit) & set(held) for fit, held in folds)
    fewer = make_folds(rows[:50], Target("y", [], np.zeros(50)), 0)
    assert len(fewer) == 5


# --- targets ----------------------------------------------------------------------------------------


def test_answers_have_the_form_of_the_submission() -> None:
    """Numbers come back from the metric's scale, labels by name, probabilities in their columns."""
    rows = pd.DataFrame({"id": [1, 2, 3], "y": [1.0, 10.0, 100.0], "c": ["b", "a", "b"], "p": [0, 1, 1]})
    task = _task("number", "rmsle", ["y"])
    [target] = make_targets(task, rows)
    assert to_target_columns(task, target, target.y)["y"].tolist() == pytest.approx([1.0, 10.0, 100.0])
    assert raw_loss(task, target, target.y, np.arange(3)) == 0
    raw = np.array([[0.2, 0.8], [0.9, 0.1], [0.3, 0.7]])
    task = _task("label", "accuracy", ["c"], "c")
    assert to_target_columns(task, make_targets(task, rows)[0], raw)["c"].tolist() == ["b", "a", "b"]
    task = _task("class-probabilities", "multiclass-log-loss", ["b", "a", "z"], "c")
    [target] = make_targets(task, rows)
    assert to_target_columns(task, target, raw).iloc[0].tolist() == [0.8, 0.2, 0.0]
    task = _task("probability", "roc-auc", ["p"], "p")
    [target] = make_targets(task, rows)
    assert to_target_columns(task, target, raw)["p"].tolist() == [0.8, 0.1, 0.7]
    assert raw_loss(task, target, raw, np.arange(3)) == 1.0


def test_ordered_labels_are_rounded_numbers() -> None:
    """Where labels have an order, their number is learnt and rounded."""
    rows = pd.DataFrame({"y": [1, 2, 4]})
    task = _task("label", "quadratic-weighted-kappa", ["y"])
    [target] = make_targets(task, rows)
    assert to_target_columns(task, target, np.array([0.2, 2.6, 9.0]))["y"].tolist() == [1, 3, 4]


# --- searching ------------------------------------------------------------------------------------


def test_weights_prefer_what_is_right() -> None:
    """Models that err apart share the weight; one that guesses has next to none."""
    draw = np.random.default_rng(0)
    y = draw.normal(size=400)
    target, task = Target("y", [], y), _task("number", "rmse", ["y"])
    raws = [y + draw.normal(size=400), y + draw.normal(size=400), draw.normal(size=400) * 5]
    found = [RawPredictions(raw, [raw]) for raw in raws]
    weights = ensemble_weights(task, target, found)
    assert weights.sum() == pytest.approx(1)
    assert min(weights[:2]) > 0.3
    assert weights[2] < 0.05
    assert greedy_weights(task, target, found[:1], np.arange(400)).tolist() == [1.0]


def test_a_sampler_draws_the_same_for_a_seed() -> None:
    """Sampled settings are within the space, and deterministic for a seed."""
    space: dict[str, tuple[Any, ...]] = {
        "rate": (0.1, "log", 0.01, 1.0),
        "leaves": (64, "log-int", 2, 64),
        "share": (0.5, "uniform", 0.5, 1.0),
        "kind": ("a", "choice", "a", "b"),
    }
    drawn = []
    for _ in range(2):
        sampler = Sampler(space, 3, {"rate": 0.1, "leaves": 64, "share": 0.5, "kind": "a"})
        asked = []
        for number in range(12):
            asked.append(sampler.ask())
            if number % 5 == 4:
                sampler.best = asked[-1]
        drawn.append(asked)
    assert drawn[0] == drawn[1]
    for each in drawn[0]:
        assert 0.01 <= each["rate"] <= 1
        assert isinstance(each["leaves"], int)
        assert 2 <= each["leaves"] <= 64
        assert 0.5 <= each["share"] <= 1
        assert each["kind"] in ("a", "b")
