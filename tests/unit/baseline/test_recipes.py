"""Each recipe by itself: what it learns, and the form in which it answers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comind.baseline.recipes import (
    audio,
    constant,
    image_masks,
    images,
    panel,
    pixels,
    table,
    text,
    text_to_text,
)
from comind.baseline.recipes.answers import SCALES
from comind.baseline.recipes.columns import feature_columns
from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.tables import Tables, read_tables, write_submissions
from comind.baseline.recipes.task import Task
from comind.campaign.log.measurements import seconds_of_models
from comind.competitions.row_files import AUDIO_SUFFIXES, IMAGE_SUFFIXES
from comind.domain.problem import AnswerKind, DataShape, Problem
from tests.unit.baseline import tiny

# sklearn 1.11 will have another way to the same; until then predictions stay as they are.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning"),
]

_TABLE, _TEXT, _IMAGES = DataShape.TABLE, DataShape.TEXT, DataShape.IMAGES
_PROBABILITIES = AnswerKind.CLASS_PROBABILITIES


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of its own, as programs name their files relative to one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _task(problem: Problem, seed: int = 0) -> Task:
    names = ("id_columns", "train_id_columns", "label_columns", "target_columns")
    columns = {name: list(getattr(problem, name)) for name in names}
    kind = problem.answer_kind.value
    traits = problem.traits.model_dump(exclude={"means"})
    return Task(folder=problem.folder, answer_kind=kind, seed=seed, **columns, **traits)


def _read(recipe: ModuleType, task: Task) -> Tables:
    return text_to_text.read_texts(task) if recipe is text_to_text else read_tables(task)


def _answers(recipe: ModuleType, problem: Problem) -> list[pd.DataFrame]:
    task = _task(problem)
    tables = _read(recipe, task)
    found: list[pd.DataFrame] = recipe.predict(task, tables)
    assert [len(part) for part in found] == [problem.validation_rows, problem.test_rows]
    assert all([*part.columns] == [*problem.target_columns] for part in found)
    return found


def _truth(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return what `rows` say of validation and test, as `tiny.competition` parts them."""
    half, quarter = len(rows) // 2, len(rows) // 4
    return [
        part.reset_index(drop=True) for part in (rows[half : half + quarter], rows[half + quarter :])
    ]


def _share_right(found: list[pd.DataFrame], rows: pd.DataFrame, column: str = "y") -> float:
    pairs = zip(found, _truth(rows), strict=True)
    right = [np.equal(*(each[column].astype(str).to_numpy() for each in pair)) for pair in pairs]
    return float(np.mean(np.concatenate(right)))


# --- what recipes share ---------------------------------------------------------------------------


def test_ids_are_handed_in_as_they_were_read(workspace: Path) -> None:
    """Submissions hold the ids and the target columns, in the order of the rows."""
    task = _task(tiny.table(workspace))
    tables = read_tables(task)
    write_submissions(
        task, tables, [pd.DataFrame({"y": np.arange(len(part)) / 2}) for part in tables[1:]]
    )
    for name, rows in zip(("validation_submission.csv", "submission.csv"), tables[1:], strict=True):
        found = pd.read_csv(name)
        assert found["id"].tolist() == rows["id"].tolist()
        assert found["y"].tolist() == [row / 2 for row in range(len(rows))]


def test_ids_with_leading_zeros_stay_text(workspace: Path) -> None:
    """An id such as `007` is handed in with its zeros, also where train has none."""
    problem = tiny.table(workspace)
    path = Path(problem.folder) / "test.csv"
    table = pd.read_csv(path).assign(id=lambda rows: [f"{row:05d}" for row in range(len(rows))])
    table.to_csv(path, index=False)
    task = _task(problem)
    tables = read_tables(task)
    write_submissions(task, tables, [pd.DataFrame({"y": np.zeros(len(part))}) for part in tables[1:]])
    assert pd.read_csv("submission.csv", dtype=str)["id"].tolist() == table["id"].tolist()


def test_texts_are_read_as_they_stand(workspace: Path) -> None:
    """Where texts are asked for, `NA` and `1` are texts."""
    task = _task(tiny.text_to_text(workspace))
    assert set(text_to_text.read_texts(task).train["before"]) == {"1", "2", "NA", "cat"}
    assert read_tables(task).train["before"].isna().any()


def test_a_column_names_the_files_of_rows(workspace: Path) -> None:
    """A row's file is found by its id with or without ending; a row without one has none."""
    problem = tiny.images(workspace)
    ours, held_back, asked = side_files(_task(problem), read_tables(_task(problem)), (".png",))
    assert [path.stem for path in ours if path] == [f"p{row:02d}" for row in range(30)]
    assert all(held_back)
    assert asked[-1] is None


def test_files_are_found_where_train_calls_its_ids_otherwise(workspace: Path) -> None:
    """A column of train may have another name."""
    rows = pd.DataFrame({"id": list("abcdefgh"), "y": 1})
    problem = tiny.competition(workspace, _IMAGES, AnswerKind.NUMBER, rows, train_ids=["picture"])
    for name in "abcdefgh":
        (workspace / problem.folder / f"{name}.PNG").touch()
    task = _task(problem)
    found = side_files(task, read_tables(task), (".png",))
    assert [[path.stem for path in part if path] for part in found] == [
        list("abcd"),
        ["e", "f"],
        ["g", "h"],
    ]


@pytest.mark.parametrize("name", SCALES)
def test_a_scale_has_a_way_back(name: str) -> None:
    """There and back is where it began."""
    scale, y = SCALES[name], np.array([0.5, 3.0, 1000.0])
    assert np.allclose(scale.back(scale.forward(y)), y)


# --- constant -------------------------------------------------------------------------------------

_Y = AnswerKind


@pytest.mark.parametrize(
    ("kind", "metric", "y", "answer"),
    [
        (_Y.NUMBER, "rmse", [1, 2, 6, 9] * 2, 4.5),
        (_Y.NUMBER, "mae", [1, 2, 6, 90] * 2, 4.0),
        (_Y.NUMBER, "rmse-of-log", [1, 10, 100, 10] * 2, 10.0),
        (_Y.PROBABILITY, "roc-auc", [1, 0, 0, 0] * 2, 0.25),
        (_Y.LABEL, "accuracy", ["a", "b", "b", None] * 2, "b"),
        (_Y.TEXT, "exact-match", [None] * 8, ""),
        (_Y.LABEL_SET, "map-at-2", ["a", "b", "b c", "c b"] * 2, "b c"),
    ],
)
def test_a_constant_is_least_wrong(workspace: Path, kind: _Y, metric: str, y: Any, answer: Any) -> None:
    """Means, medians, shares and the commonest answer, whatever the features are."""
    rows = pd.DataFrame({"id": range(8), "odd": [[]] * 8, "y": y})
    found = _answers(constant, tiny.competition(workspace, _TABLE, kind, rows, metric=metric))
    assert found[0]["y"].tolist() == pytest.approx([answer] * 2) if kind is _Y.NUMBER else [answer] * 2


def test_a_constant_share_for_a_column_a_class(workspace: Path) -> None:
    """A column that train has not is a class of the label; its answer is the share of that class."""
    rows = pd.DataFrame({"id": range(8), "y": list("abaaabbb")})
    problem = tiny.competition(workspace, _TABLE, _PROBABILITIES, rows, targets=["a", "b", "c"])
    assert _answers(constant, problem)[1].iloc[0].tolist() == [0.75, 0.25, 0.0]


# --- table ----------------------------------------------------------------------------------------


def test_a_table_of_numbers(workspace: Path) -> None:
    """It learns a number from the feature that says it, and stays within what was seen."""
    found = _answers(table, tiny.table(workspace))
    rows = tiny.numbers()
    low, high = 10 * rows["x"][:30].min(), 10 * rows["x"][:30].max()
    for part, truth in zip(found, _truth(rows), strict=True):
        assert np.corrcoef(part["y"], truth["x"])[0, 1] > 0.95
        assert part["y"].between(low, high).all()


def test_a_table_prints_the_seconds_of_its_models(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The platform reads them for its facts, for numbers and for labels."""
    names = ["boosting", "trees", "linear"]
    _answers(table, tiny.table(workspace))
    assert list(seconds_of_models(capsys.readouterr().out)) == names
    rows = tiny.numbers(200)
    rows = rows.assign(y=np.where(rows["x"] > 0, "up", "down"))
    _answers(table, tiny.competition(workspace, _TABLE, _Y.LABEL, rows))
    assert list(seconds_of_models(capsys.readouterr().out)) == names


def test_a_table_leaves_the_paths_of_files_out(workspace: Path) -> None:
    """Measurements beside a column of pictures' paths are predicted as without the column."""
    problem = tiny.table(workspace)
    alone = _answers(table, problem)
    folder = workspace / problem.folder
    for part in ("train", "validation", "test"):
        rows = pd.read_csv(folder / f"{part}.csv")
        paths = [f"{part}-{number}.png" for number in range(len(rows))]
        for path in paths:
            (folder / path).touch()
        rows.assign(file=paths).to_csv(folder / f"{part}.csv", index=False)
    for before, after in zip(alone, _answers(table, problem), strict=True):
        pd.testing.assert_frame_equal(before, after)


def test_long_texts_are_no_paths(workspace: Path) -> None:
    """A cell that is longer than a file's name may be is read as text, whatever its script."""
    problem = tiny.table(workspace)
    folder = workspace / problem.folder
    for part in ("train", "validation", "test"):
        rows = pd.read_csv(folder / f"{part}.csv")
        rows.assign(said="\u0436" * 200).to_csv(folder / f"{part}.csv", index=False)
    task = _task(problem)
    assert "said" in feature_columns(task, read_tables(task))[0]


def test_a_table_of_many_numbers(workspace: Path) -> None:
    """More than four targets are learnt by one model."""
    rows = tiny.numbers()
    labels = [f"y{number}" for number in range(5)]
    rows = rows.assign(**{label: rows["x"] * number for number, label in enumerate(labels)})
    found = _answers(table, tiny.competition(workspace, _TABLE, _Y.NUMBER, rows, labels=labels))
    assert np.corrcoef(found[0]["y4"], _truth(rows)[0]["x"])[0, 1] > 0.9


def test_a_table_of_labels(workspace: Path) -> None:
    """It answers with the label's own words."""
    rows = tiny.numbers(200)
    rows = rows.assign(y=np.where(rows["x"] > 0, "up", "down"))
    assert _share_right(_answers(table, tiny.competition(workspace, _TABLE, _Y.LABEL, rows)), rows) > 0.9


def test_a_table_of_ordered_labels(workspace: Path) -> None:
    """Where the metric knows an order, classes are rounded numbers within those that were seen."""
    rows = tiny.numbers(200)
    rows = rows.assign(y=np.rint(rows["x"] * 2).astype(int))
    given = tiny.competition(workspace, _TABLE, _Y.LABEL, rows, metric="quadratic-weighted-kappa")
    found = _answers(table, given)
    assert found[0]["y"].dtype == int
    assert set(found[0]["y"]) <= {-2, -1, 0, 1, 2}
    assert _share_right(found, rows) > 0.7


def test_a_table_of_ranked_labels(workspace: Path) -> None:
    """One label a row is ranked by a classifier, several by a model each; columns may hold text."""
    rows = tiny.numbers(200).assign(soil=["clay", "sand"] * 100)
    rows["y"] = np.where(rows["x"] > 0, "up", np.where(rows["x"] > -0.5, "level", "down"))
    for y in (rows["y"], rows["y"] + " " + rows["soil"]):
        asked = tiny.competition(workspace, _TABLE, _Y.LABEL_SET, rows.assign(y=y), metric="map-at-2")
        found = _answers(table, asked)
        assert all(part["y"].str.split().str.len().eq(2).all() for part in found)
        pairs = [
            (cell.split()[0], right)
            for part, truth in zip(found, _truth(rows.assign(y=y)), strict=True)
            for cell, right in zip(part["y"], truth["y"], strict=True)
        ]
        assert np.mean([guess in right for guess, right in pairs]) > 0.9


def test_a_table_of_probabilities(workspace: Path) -> None:
    """Each target has its own model; one that is always the same needs none."""
    rows = tiny.numbers(200)
    rows = rows.assign(y=(rows["x"] > 0).astype(int), always=1)
    problem = tiny.competition(workspace, _TABLE, _Y.PROBABILITY, rows, labels=["y", "always"])
    for part, truth in zip(_answers(table, problem), _truth(rows), strict=True):
        assert ((part["y"] > 0.5) == (truth["y"] == 1)).mean() > 0.9
        assert (part["always"] == 1.0).all()


def test_a_table_of_a_column_a_class(workspace: Path) -> None:
    """Classes of one label share a row; a class that nobody has seen gets nothing."""
    rows = tiny.numbers(200)
    rows = rows.assign(y=np.where(rows["x"] > 0, "up", "down"))
    names = ["down", "never", "up"]
    found = _answers(table, tiny.competition(workspace, _TABLE, _PROBABILITIES, rows, targets=names))
    assert np.allclose(found[0].sum(axis=1), 1)
    assert (found[0]["never"] == 0).all()
    assert ((found[0]["up"] > 0.5) == (_truth(rows)[0]["x"] > 0)).mean() > 0.9


def test_a_table_of_many_classes(workspace: Path) -> None:
    """More than twenty classes are left to a linear model."""
    kinds = [f"kind {row % 25}" for row in range(100)]
    rows = pd.DataFrame({"id": range(100), "y": kinds})
    for number in range(25):
        rows[f"x{number}"] = (rows["y"] == f"kind {number}").astype(float)
    assert _share_right(_answers(table, tiny.competition(workspace, _TABLE, _Y.LABEL, rows)), rows) == 1


def test_a_date_is_a_feature_even_as_an_id(workspace: Path) -> None:
    """An id that is a date is learnt from; it is handed in as it stood, other ids are not looked at."""
    rows = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d 00:00:00")})
    rows = rows.assign(y=pd.to_datetime(rows["when"]).dt.month)
    problem = tiny.competition(
        workspace, _TABLE, _Y.NUMBER, rows.sample(frac=1, random_state=0), ids=["when"]
    )
    write_submissions(_task(problem), read_tables(_task(problem)), _answers(table, problem))
    found = pd.read_csv("submission.csv")
    assert found["when"].str.endswith(" 00:00:00").all()
    assert np.corrcoef(found["y"], pd.to_datetime(found["when"]).dt.month)[0, 1] > 0.9


def test_many_rows_are_left_to_boosting() -> None:
    """Above 30,000 rows there is one model; many targets or classes shorten its training."""
    task = Task("input/x", ["id"], ["id"], ["y"], ["y"], "label", 0)
    assert [name for name, _ in table.classifier(task, 30_000, 2).estimators] == [
        "boosting",
        "trees",
        "linear",
    ]
    assert [name for name, _ in table.classifier(task, 30_001, 2).estimators] == ["boosting"]
    assert table.boosting(task, 1_000_000, 2)["max_iter"] == 100
    assert table.boosting(task, 1_000_000, 10)["max_iter"] == 40


# --- texts ----------------------------------------------------------------------------------------


def test_texts_with_labels(workspace: Path) -> None:
    """It finds the word that tells the label."""
    rows = tiny.texts(200)
    rows = rows.assign(y=np.where(rows["text"].str.contains("dark"), "yes", "no"))
    assert _share_right(_answers(text, tiny.competition(workspace, _TEXT, _Y.LABEL, rows)), rows) == 1


def test_texts_with_numbers_beside_other_columns(workspace: Path) -> None:
    """Columns that are no texts stand beside the words."""
    rows = tiny.texts(200).assign(size=np.arange(200) % 7)
    rows = rows.assign(y=rows["text"].str.count("dark") + rows["size"])
    found = _answers(text, tiny.competition(workspace, _TEXT, _Y.NUMBER, rows))
    assert np.corrcoef(found[0]["y"], _truth(rows)[0]["y"])[0, 1] > 0.9


def test_texts_with_sets_of_labels(workspace: Path) -> None:
    """A row gets every label that is probable, and at least one."""
    rows = tiny.texts()
    sets = [
        " ".join(word for word in ("dark", "sea") if word in told) or "none" for told in rows["text"]
    ]
    found = _answers(text, tiny.competition(workspace, _TEXT, _Y.LABEL_SET, rows.assign(y=sets)))
    assert found[0]["y"].str.len().all()
    assert {label for cell in found[0]["y"] for label in cell.split()} <= {"dark", "sea", "none"}


def test_many_texts_are_not_looked_into() -> None:
    """Runs of characters are counted where there are few texts."""
    assert len(text.encoders(small=True)) == 3
    assert len(text.encoders(small=False)) == 2


def test_the_usual_answer_to_the_same_input(workspace: Path) -> None:
    """What was answered before is answered again, `NA` with `NA`."""
    problem = tiny.text_to_text(workspace)
    train, _, test = text_to_text.read_texts(_task(problem))
    usual = train.drop_duplicates("before").set_index("before")["y"]
    assert _answers(text_to_text, problem)[1]["y"].tolist() == test["before"].map(usual).tolist()


def test_new_inputs_are_answered_in_the_best_way(workspace: Path) -> None:
    """Where answers are the input itself, a new input is answered with itself."""
    rows = tiny.texts()
    rows["text"] += [f" {number}x" for number in range(len(rows))]
    given = tiny.competition(workspace, DataShape.TEXT_TO_TEXT, _Y.TEXT, rows.assign(y=rows["text"]))
    assert _share_right(_answers(text_to_text, given), rows.assign(y=rows["text"])) == 1


@pytest.mark.parametrize(
    ("similarity", "answer", "found", "worth"),
    [
        ("words", "a b", "B c", 1 / 3),
        ("whole", "a", "a", True),
        ("edits", "abc", "abd", -1),
    ],
)
def test_an_answer_is_worth_what_the_metric_says(
    similarity: str, answer: str, found: str, worth: float
) -> None:
    """Ways to answer are compared by the metric, or else by the number of edits."""
    assert text_to_text.value(similarity, answer, found) == worth


def test_a_span_is_the_words_that_gain_most() -> None:
    """A span holds a loss between two larger gains, and ends where it would only lose."""
    assert text_to_text.best_span("a b c d e", np.array([-1, 2, -1, 2, -3])) == "b c d"


def test_an_id_such_as_na_is_no_missing_value(workspace: Path) -> None:
    """Words that pandas takes for missing are ids like others, in both submissions."""
    rows = tiny.numbers().assign(y=1.0)
    rows["id"] = [
        ("NA", "nan", "None", "null", "DE")[row % 5] + f"{row // 5 or ''}" for row in range(60)
    ]
    task = _task(tiny.competition(workspace, _TABLE, AnswerKind.NUMBER, rows[::-1]))
    tables = read_tables(task)
    found = [*tables.train["id"], *tables.validation["id"], *tables.test["id"]]
    assert found == [*rows["id"]][::-1]
    write_submissions(task, tables, constant.predict(task, tables))
    assert pd.read_csv("submission.csv", keep_default_na=False)["id"].tolist() == found[45:]


def test_a_class_called_none_beside_the_positive_one_is_a_label(workspace: Path) -> None:
    """Rows of the class None count as the negative class, and not as rows without a label."""
    rows = tiny.numbers().assign(y=[("None", "apnea")[row % 3 == 0] for row in range(60)])
    problem = tiny.competition(workspace, _TABLE, AnswerKind.PROBABILITY, rows, metric="roc-auc")
    task = _task(problem)
    task = replace(task, positive_class="apnea")
    assert read_tables(task).train["y"].tolist() == [int(row % 3 == 0) for row in range(30)]


# --- targets without some labels ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "metric", "names"),
    [
        (AnswerKind.NUMBER, "rmse", ["p", "q"]),
        (AnswerKind.NUMBER, "rmse", ["p", "q", "r", "s", "t"]),
        (AnswerKind.PROBABILITY, "roc-auc", ["p", "q"]),
        (AnswerKind.LABEL, "accuracy", ["p", "q"]),
    ],
)
def test_each_target_is_learnt_from_the_rows_that_have_its_label(
    workspace: Path, kind: AnswerKind, metric: str, names: list[str]
) -> None:
    """A blank label is no class and no number: predictions are as good as the other rows allow."""
    rows = tiny.numbers(120)
    up = rows["x"] > 0
    truth = {
        AnswerKind.NUMBER: rows["x"] + 100,
        AnswerKind.PROBABILITY: up.astype(int),
        AnswerKind.LABEL: up.map({True: "up", False: "down"}),
    }[kind]
    for place, name in enumerate(names):
        rows[name] = truth.astype(object).where(rows["id"] % 5 != place % 5, "")
    problem = tiny.competition(workspace, _TABLE, kind, rows, labels=names, metric=metric)
    for found, true in zip(_answers(table, problem), _truth(pd.DataFrame({"y": truth})), strict=True):
        for name in names:
            if kind is AnswerKind.NUMBER:
                assert np.abs(found[name] - true["y"]).max() < 1
            else:
                classes = found[name] > 0.5 if kind is AnswerKind.PROBABILITY else found[name]
                assert (classes.astype(true["y"].dtype) == true["y"]).mean() > 0.9


# --- files ----------------------------------------------------------------------------------------


def test_images_with_labels(workspace: Path) -> None:
    """It tells light from dark; a row without a file gets an answer, too."""
    rows = pd.DataFrame({"y": ["light" if row % 2 else "dark" for row in range(60)]})
    assert _share_right(_answers(images, tiny.images(workspace)), rows) > 0.9


@pytest.mark.parametrize("kind", ["numbers", "sets"])
def test_a_network_predicts_numbers_and_sets(kind: str) -> None:
    """Numbers keep their form; labels of a set get a probability each."""
    draw = np.random.RandomState(0)
    x = images.torch.zeros(20, 3, images.SIDE, images.SIDE)
    y = draw.randint(0, 2, (20, 3)).astype(float)
    net = images.Net(kind, 2, draw).fit(x, y)
    found = net.predict(x) if kind == "numbers" else net.predict_proba(x)
    assert found.shape == (20, 3)
    assert kind == "numbers" or ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("one_id", [True, False], ids=["one id", "three ids"])
def test_pixels_of_images(workspace: Path, *, one_id: bool) -> None:
    """Stains go, and the folder with the answers is not learnt from."""
    problem = tiny.pixels(workspace, one_id=one_id)
    folder = Path(problem.folder)
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"pages", "answers"}
    found = _answers(pixels, problem)
    for part, page in zip(found, ("3", "4"), strict=True):
        shown = np.asarray(pixels.grey(folder / "pages" / f"{page}.png"), dtype=float)
        assert np.corrcoef(part["value"], shown.ravel())[0, 1] > 0.95
        assert part["value"].nunique() < 100


def test_pixels_of_pages_that_are_numbered_like_those_of_train(workspace: Path) -> None:
    """Pixels of test/1.png are learnt from train pages and read from the page of test."""
    problem = tiny.pixels(workspace)
    expected, folder = _answers(pixels, problem)[1], Path(problem.folder)
    (folder / "test").mkdir()
    (folder / "pages/4.png").rename(folder / "test/1.png")
    (folder / "pages").rename(folder / "train")
    rows = pd.read_csv(folder / "test.csv")
    rows.assign(id="1" + rows["id"].str[1:]).to_csv(folder / "test.csv", index=False)
    pd.testing.assert_frame_equal(_answers(pixels, problem)[1], expected)


def test_sounds_with_labels(workspace: Path) -> None:
    """It tells rising from falling; a row without a file gets an answer, too."""
    rows = pd.DataFrame({"y": ["up" if row % 2 else "down" for row in range(60)]})
    assert _share_right(_answers(audio, tiny.audio(workspace)), rows) > 0.9


def test_few_sounds_get_support_vectors() -> None:
    """They stand beside trees; a sound that is not there has features of zeros."""
    assert type(audio.regressor(0, few=False).model).__name__ == "ExtraTreesRegressor"
    assert len(audio.regressor(0, few=True).estimators) == 2
    assert not audio.features(None).any()


@pytest.mark.parametrize("kept", [0, 20])
@pytest.mark.parametrize("recipe", [images, audio], ids=["images", "audio"])
def test_a_file_that_is_cut_off_leaves_the_other_rows_right(
    workspace: Path, recipe: ModuleType, kept: int
) -> None:
    """An image or sound that cannot be decoded has neutral features; all rows are answered."""
    problem = tiny.images(workspace) if recipe is images else tiny.audio(workspace)
    suffixes = IMAGE_SUFFIXES if recipe is images else AUDIO_SUFFIXES
    files = sorted(path for path in Path(problem.folder).rglob("*") if path.suffix in suffixes)
    for path in files[:: len(files) - 1]:
        path.write_bytes(path.read_bytes()[:kept])
    named = ("dark", "light") if recipe is images else ("down", "up")
    rows = pd.DataFrame({"y": [named[row % 2] for row in range(60)]})
    assert _share_right(_answers(recipe, problem), rows) > 0.85


# --- masks ----------------------------------------------------------------------------------------


def _dice(found: list[pd.DataFrame], truth: list[str], size: tuple[int, int]) -> float:
    def mask(cell: str) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        flat = np.zeros(size[0] * size[1], dtype=bool)
        numbers = [int(number) for number in cell.split()]
        for start, length in zip(numbers[::2], numbers[1::2], strict=True):
            flat[start - 1 : start - 1 + length] = True
        return flat

    cells = [cell for part in found for cell in part["y"]]
    pairs = [(mask(one), mask(other)) for one, other in zip(cells, truth, strict=True)]
    return float(
        np.mean([2 * (a & b).sum() / (a.sum() + b.sum()) if (a | b).any() else 1.0 for a, b in pairs])
    )


def test_masks_of_images(workspace: Path) -> None:
    """Squares are found by columns, none where there are none; pictures of masks are no inputs."""
    problem = tiny.masks(workspace)
    found = _answers(image_masks, problem)
    assert found[1]["y"].iloc[-1] == ""
    truth = tiny.mask_cells()[30:-1]
    assert _dice([found[0], found[1][:-1]], truth, (24, 28)) > 0.9
    assert (
        sum(cell == "" for cell in truth) == sum(cell == "" for part in found for cell in part["y"]) - 1
    )


def test_masks_of_classes_that_ids_name(workspace: Path) -> None:
    """Ids may be `<image>_<class>`: each class has masks of its own."""
    tiny.masks(workspace)
    folder = Path("input/tiny")
    for name in ("train.csv", "validation.csv", "test.csv"):
        rows = pd.read_csv(folder / name, keep_default_na=False)
        parts = [rows.assign(id=rows["id"] + "_light")]
        parts.append(rows.assign(id=rows["id"] + "_none", **({"y": ""} if "y" in rows else {})))
        pd.concat(parts).to_csv(folder / name, index=False)
    task = Task("input/tiny", ["id"], ["id"], ["y"], ["y"], "mask", 0)
    found = image_masks.predict(task, read_tables(task))
    assert (found[0]["y"][15:] == "").all()
    assert _dice([found[0][:15]], tiny.mask_cells()[30:45], (24, 28)) > 0.9


def test_areas_apart_are_masks_of_their_own() -> None:
    """For metrics of instances each connected area has runs of its own."""
    mask = np.array([[1, 0, 1], [1, 0, 0]], dtype=bool)
    assert image_masks.encode(mask, by_columns=True, apart=True) == "1 2;5 1"
    assert image_masks.encode(mask, by_columns=False, apart=False) == "1 1 3 2"
    assert image_masks.encode(np.zeros((2, 2), dtype=bool), by_columns=True, apart=True) == ""


# --- panel ----------------------------------------------------------------------------------------


def test_a_panel_that_grows(workspace: Path) -> None:
    """Counts go on growing, for each series at its own pace."""
    found = _answers(panel, tiny.panel(workspace))
    values = np.concatenate([part["y"] for part in found]).reshape(-1, 2)
    assert (np.diff(values, axis=0) >= 0).mean() > 0.9
    assert values[-1] == pytest.approx([60, 600], rel=0.4)


def test_a_panel_knows_its_series_and_its_season(workspace: Path) -> None:
    """Series are named by the columns that tell rows of a day apart; a season is a week of days."""
    task = _task(tiny.panel(workspace))
    found = panel.make_panel(task, read_tables(task))
    assert (found.series.max() + 1, found.last_labelled, found.season) == (2, 29, 7)
    assert found.horizon[~found.past].max() == 30
    assert found.longest_horizon == 14


def test_a_panel_of_one_series(workspace: Path) -> None:
    """The date may be the only feature, and written with points; values stay near what they were."""
    months = pd.date_range("2000-01-01", periods=120, freq="MS").strftime("%d.%m.%Y")
    season = 50 + 10 * np.sin(np.arange(120) * 2 * np.pi / 12)
    rows = pd.DataFrame({"id": range(120), "month": months, "y": season})
    found = _answers(panel, tiny.competition(workspace, DataShape.PANEL, _Y.NUMBER, rows))
    assert all(part["y"].between(35, 65).all() for part in found)


def test_a_panel_whose_ids_are_its_dates(workspace: Path) -> None:
    """The id is the date where no other column is one."""
    days = pd.date_range("2024-01-01", periods=120).strftime("%Y-%m-%d")
    rows = pd.DataFrame({"date": days, "y": 50 + 10 * (np.arange(120) % 7)})
    asked = tiny.competition(workspace, DataShape.PANEL, _Y.NUMBER, rows, ids=["date"])
    for part, truth in zip(_answers(panel, asked), _truth(rows), strict=True):
        assert np.corrcoef(part["y"], truth["y"])[0, 1] > 0.9


# --- side tables ----------------------------------------------------------------------------------


def _with_side_table(workspace: Path, side: pd.DataFrame, rows: pd.DataFrame) -> list[pd.DataFrame]:
    task = _task(tiny.competition(workspace, _TABLE, AnswerKind.NUMBER, rows))
    side.to_csv(Path(task.folder) / "side.csv", index=False)
    return feature_columns(task, read_tables(task))


def test_a_side_table_adds_its_columns(workspace: Path) -> None:
    """A table with one row per key is joined, but for labels; rows without a match have no values."""
    rows = pd.DataFrame({"id": range(8), "town": list("abcabcab"), "y": 1.0})
    side = pd.DataFrame({"town": ["a", "b", "x"], "people": [10, 20, 30], "y": 5.0})
    train, *parts = _with_side_table(workspace, side, rows)
    assert [*train.columns] == ["town", "side_people"]
    assert train["side_people"].fillna(0).tolist() == [10, 20, 0, 10]
    assert all([*part.columns] == [*train.columns] for part in parts)


def test_ids_with_leading_zeros_are_keys_of_side_tables(workspace: Path) -> None:
    """An id such as `007` is the same text in a side table."""
    rows = pd.DataFrame({"id": [f"{row:03d}" for row in range(8)], "x": 0.5, "y": 1.0})
    side = pd.DataFrame({"id": rows["id"], "weight": range(8)})
    train, *_ = _with_side_table(workspace, side, rows)
    assert train["side_weight"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("words", [True, False], ids=["words", "numbers"])
def test_both_of_a_pair_get_the_columns_of_a_side_table(workspace: Path, *, words: bool) -> None:
    """Columns that name rows of a table under another name each get its columns."""
    ids = [f"i{row}" if words else row for row in range(30)]
    side = pd.DataFrame({"team": ids, "weight": range(30)})
    pairs = {name: np.random.default_rng(seed).choice(ids, 60) for seed, name in enumerate("ab")}
    rows = pd.DataFrame({"id": range(60), "team_a": pairs["a"], "team_b": pairs["b"], "y": 0.5})
    train, *parts = _with_side_table(workspace, side, rows)
    for each in (train, *parts):
        for name in ("team_a", "team_b"):
            weights = each[name].astype(str).str.removeprefix("i").astype(int)
            assert each[f"{name}_side_weight"].tolist() == weights.tolist()


def test_a_file_that_is_no_table_is_no_side_table(workspace: Path) -> None:
    """A file that ends within quotes, and has no column of the tables, is passed over."""
    rows = pd.DataFrame({"id": range(8), "town": list("abcabcab"), "y": 1.0})
    task = _task(tiny.competition(workspace, _TABLE, AnswerKind.NUMBER, rows))
    (Path(task.folder) / "side.csv").write_text('town_name,people\na,"1\n')
    assert [*feature_columns(task, read_tables(task))[0].columns] == ["town"]


def test_a_side_table_of_several_rows_adds_statistics(workspace: Path) -> None:
    """Of the earlier rows of an id it adds their number, statistics, and counts of frequent texts."""
    rows = pd.DataFrame({"id": range(8), "y": 1.0})
    side = pd.DataFrame({"id": [0, 0, 1, 4, 5, 6, 7], "sum": [1.0, 3.0, 5.0, *[0.0] * 4]})
    side["kind"] = ["card", "loan", *["card"] * 5]
    train, *_ = _with_side_table(workspace, side, rows)
    assert train["side_rows"].fillna(0).tolist() == [2, 1, 0, 0]
    assert train["side_sum_mean"].fillna(0).tolist() == [2, 5, 0, 0]
    assert train["side_kind_loan"].fillna(0).tolist() == [1, 0, 0, 0]


def test_side_files_that_are_no_tables_are_left_out(workspace: Path) -> None:
    """Empty, binary and ragged CSV files add nothing, and nothing fails."""
    rows = pd.DataFrame({"id": range(8), "x": 0.5, "y": 1.0})
    folder = Path(tiny.competition(workspace, _TABLE, AnswerKind.NUMBER, rows).folder)
    odd = {"empty": b"", "binary": b"\xff\xfe\0", "ragged": b"id,a\n1,2\n1,2,3,4,5\n"}
    for name, content in odd.items():
        (folder / f"{name}.csv").write_bytes(content)
    assert [*_with_side_table(workspace, pd.DataFrame({"z": [1]}), rows)[0].columns] == ["x"]


@pytest.mark.parametrize(
    "side",
    [
        pd.DataFrame({"other": [1, 2], "more": [3, 4]}),
        pd.DataFrame({"id": [100, 101], "more": [3, 4]}),
        pd.DataFrame({"id": ["0", "x"], "more": [3, 4]}),
    ],
    ids=["no column in common", "other ids", "ids of another type"],
)
def test_a_side_table_of_something_else_is_left_out(workspace: Path, side: pd.DataFrame) -> None:
    """Tables that few rows have a key in common with add nothing."""
    rows = pd.DataFrame({"id": range(8), "x": 0.5, "y": 1.0})
    assert [*_with_side_table(workspace, side, rows)[0].columns] == ["x"]


_ALL: list[tuple[ModuleType, Callable[[Path], Problem]]] = [
    (table, tiny.table),
    (text, tiny.text),
    (text_to_text, tiny.text_to_text),
    (images, tiny.images),
    (image_masks, tiny.masks),
    (pixels, tiny.pixels),
    (audio, tiny.audio),
    (panel, tiny.panel),
    (constant, tiny.table),
]


@pytest.mark.parametrize(("recipe", "make"), _ALL, ids=lambda each: each.__name__.rpartition(".")[2])
def test_the_seed_decides(recipe: ModuleType, make: Callable[[Path], Problem], workspace: Path) -> None:
    """With the same seed the answers are the same, whatever was drawn before, and the tables stay."""
    task = _task(make(workspace))
    tables = _read(recipe, task)
    kept = Tables(*(part.copy() for part in tables))
    first = recipe.predict(task, tables)
    np.random.default_rng().random()
    for part, before in zip(tables, kept, strict=True):
        pd.testing.assert_frame_equal(part, before)
    for one, other in zip(first, recipe.predict(task, tables), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
