"""Downloads of unusual shapes are solved as plain ones, or the one open question is asked."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from comind.competitions.competition_folder import load_competition
from comind.competitions.download.findings import OpenQuestionError
from comind.competitions.download.plain_download import Layout, arrange_download, upload_form_of
from comind.errors import CompetitionError
from comind.grading.true_answers import Answers
from comind.splits.checked_plan import check_competition
from tests.examples import examples
from tests.unit.competitions.download.downloads import Files, csv, place
from tests.unit.competitions.download.shapes import SHAPES, TEST, TRAIN, Shape, Tables, tables

pytestmark = pytest.mark.slow


def _arranged(shape: Shape, root: Path) -> Layout:
    source = place(shape.files(), root, packed=False)
    if shape.given:
        (source / "competition.yaml").write_text(yaml.safe_dump(shape.given))
    return arrange_download(source, root / "project" / "download")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_is_understood(shape: Shape, tmp_path: Path) -> None:
    """Labels, targets, rows and metric are inferred, the tables are valid, and the report says how."""
    layout = _arranged(shape, tmp_path)
    competition = load_competition(layout.folder)
    assert (competition.metric, competition.label_columns) == (shape.metric, shape.labels)
    assert competition.target_columns == shape.targets
    plan = check_competition(competition)
    assert (len(plan.data.train), len(plan.data.test)) == (shape.labelled, TEST)
    assert plan.rule.kind in ("random", "stratified")
    assert shape.finding in "\n".join(layout.lines())
    assert upload_form_of(layout.folder).columns == shape.upload


_LISTS = [shape for shape in SHAPES if shape.finding.startswith("here with blanks")]


@pytest.mark.parametrize("shape", _LISTS, ids=lambda shape: shape.name)
def test_lists_of_labels_get_their_separator_outside(shape: Shape, tmp_path: Path) -> None:
    """Answers with the separator of the download are graded, and an upload has it again."""
    competition = load_competition(_arranged(shape, tmp_path).folder)
    form = upload_form_of(competition.folder)
    here = pd.read_csv(competition.public / "train.csv", dtype=str)[:TEST]
    truth = here[["target"]].assign(id=pd.read_csv(competition.public / "test.csv")["id"].tolist())
    outside = form.outside(truth)
    downloaded = pd.read_csv(io.BytesIO(shape.files()["train.csv"]), dtype=str)[:TEST]
    assert outside["target"].str.replace(" ", "").tolist() == (
        downloaded["target"].str.replace(" ", "").tolist()
    )
    competition.answers.parent.mkdir()
    outside.to_csv(competition.answers, index=False)
    answers = Answers.of_test(competition)
    for name, table in (("here", truth), ("outside", outside)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        report = answers.grade(tmp_path / f"{name}.csv")
        assert report.score is not None
        assert report.score.value.value == 1


def test_labels_that_differ_in_blanks_alone_are_refused(tmp_path: Path) -> None:
    """They would become one label."""
    made = tables(classes=("a b;c", "a_b"))
    source = place(made.files("samples F1"), tmp_path, packed=False)
    with pytest.raises(CompetitionError, match="the labels 'a_b' and 'a b' are one"):
        arrange_download(source, tmp_path / "project" / "download")


@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if shape.upload], ids=lambda shape: shape.name
)
def test_the_truth_in_the_form_outside_has_the_best_score(shape: Shape, tmp_path: Path) -> None:
    """Answers and submissions with the names of the downloaded sample are graded."""
    layout = _arranged(shape, tmp_path)
    competition = load_competition(layout.folder)
    form = upload_form_of(layout.folder)
    labels = pd.read_csv(competition.public / "train.csv", dtype=str)[:TEST]
    one_hot = not {*shape.targets} <= {*labels}
    truth = pd.DataFrame({"id": pd.read_csv(competition.public / "test.csv")["id"]})
    for name in shape.targets:
        truth[name] = (labels[shape.labels[0]] == name).astype(int) if one_hot else labels[name]
    outside = form.outside(truth)
    competition.answers.parent.mkdir()
    outside.to_csv(competition.answers, index=False)
    report = Answers.of_test(competition).grade(competition.answers)
    assert report.valid, report.message
    assert report.score is not None
    best = 0 if shape.metric != "roc-auc" else 1
    assert report.score.value.value == pytest.approx(best, abs=1e-9)


def _files(train: pd.DataFrame, sample: pd.DataFrame | None = None) -> Files:
    made = tables()
    return Tables(train, made.test, made.sample if sample is None else sample).files()


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            lambda: _files(
                tables().train.assign(also=1), tables().sample.rename(columns={"target": "answer"})
            ),
            r"asks for 'answer', and train.csv has 2 columns that test.csv lacks \('target', 'also'\)",
        ),
        (
            lambda: _files(tables().train, tables().sample.assign(other=range(TEST))),
            r"asks for 'target', 'other', and train.csv has no column 'other'",
        ),
    ],
    ids=["two columns may be the target", "a column of the sample that train.csv lacks"],
)
def test_an_open_shape_is_asked_about(files: object, line: str, tmp_path: Path) -> None:
    """The question names the columns, and its key settles it."""
    source = place(files(), tmp_path, packed=False)  # type: ignore[operator]
    with pytest.raises(OpenQuestionError, match=line) as caught:
        arrange_download(source, tmp_path / "project" / "download")
    assert caught.value.question.key == "target_columns"
    assert "target_columns" in caught.value.hint
    layout = arrange_download(
        source, tmp_path / "project" / "download", answers={"target_columns": ["target"]}
    )
    assert check_competition(load_competition(layout.folder)).data.targets == ("target",)


_VARIED = [shape for shape in SHAPES if "workbook" not in shape.name and "comma" not in shape.name]


@examples(12)
@given(
    shape=st.sampled_from(_VARIED),
    sep=st.sampled_from([",", ";", "\t"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    seed=st.integers(0, 99),
)
def test_a_variation_is_understood_as_the_plain_form(
    shape: Shape, sep: str, encoding: str, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Separators, encodings and the order of rows and columns change nothing that is inferred."""
    root = tmp_path_factory.mktemp("shape")
    files = dict(shape.files())
    for name, content in files.items():
        if name.endswith(".csv"):
            (root / "raw").write_bytes(content)
            table = pd.read_csv(root / "raw", dtype=str, keep_default_na=False)
            rows = table.sample(frac=1, random_state=seed)
            inputs = [column for column in ("a", "b") if column in table]
            order = [*table.columns.drop(inputs), *inputs] if "sample" not in name else [*table]
            if "several" not in shape.finding:
                files[name] = rows[order].to_csv(index=False, sep=sep).encode(encoding)
    varied = Shape(**{**shape.__dict__, "files": lambda: files})
    layout = _arranged(varied, root)
    competition = load_competition(layout.folder)
    assert (competition.metric, competition.label_columns) == (shape.metric, shape.labels)
    assert competition.target_columns == shape.targets
    plan = check_competition(competition)
    assert (len(plan.data.train), len(plan.data.test)) == (shape.labelled, TEST)
    assert plan.rule.kind in ("random", "stratified")


_PARTS = {"train": range(50), "test": range(50, 60)}
_SCORE = """
def score(truth, prediction):
    return sum(a == b for a, b in zip(truth, prediction)) / len(truth)
"""


def _image(row: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (4, 4), row).save(file, "png")
    return file.getvalue()


def test_boxes_are_asked_for_and_images_without_one_have_a_row(tmp_path: Path) -> None:
    """The label and the metric are asked for; both keys settle it, and background images are rows."""
    files: Files = {
        f"{part}/{row:03d}.png": _image(row) for part, rows in _PARTS.items() for row in rows
    }
    boxes = [(f"{row:03d}", 32, f"[{row}, 0, 9, {5 + place}]") for row in range(40) for place in (0, 1)]
    train = pd.DataFrame(boxes, columns=["image_id", "width", "bbox"])
    asked = [f"{row:03d}" for row in _PARTS["test"]]
    sample = pd.DataFrame({"image_id": asked, "PredictionString": "1.0 0 0 50 50"})
    files |= {"train.csv": csv(train), "sample_submission.csv": csv(sample), "score.py": _SCORE.encode()}
    source = place(files, tmp_path, packed=False)
    with pytest.raises(OpenQuestionError) as asked_for:
        arrange_download(source, tmp_path / "project" / "download")
    assert asked_for.value.question.choices == ("width", "bbox")
    given: dict[str, Any] = {"target_columns": ["bbox"]}
    (source / "competition.yaml").write_text(yaml.safe_dump(given))
    layout = arrange_download(source, tmp_path / "project" / "download")
    report = "\n".join(layout.lines())
    assert "10 files have no row in train.csv, such as train/040.png: they have one without" in report
    line = report.rpartition("`metric: ")[2].partition("`")[0]
    (source / "competition.yaml").write_text(yaml.safe_dump(given | {"metric": yaml.safe_load(line)}))
    competition = load_competition(arrange_download(source, tmp_path / "project" / "other").folder)
    data = check_competition(competition).data
    assert (len(data.train), (data.train["bbox"] == "").sum()) == (50, 10)
    assert not (competition.public / "score.py").exists()


def _dated(folder: Path, **given: object) -> Layout:
    made = tables()
    folder.mkdir()
    days = [f"0{1 + row % 9}/{1 + row // 8:02d}/2024" for row in range(TRAIN + TEST)]
    train, test = made.train.assign(day=days[:TRAIN]), made.test.assign(day=days[TRAIN:])
    source = place(Tables(train, test, made.sample).files(), folder, packed=False)
    if given:
        (source / "competition.yaml").write_text(yaml.safe_dump(given))
    return arrange_download(source, folder / "project" / "download")


def test_the_order_of_day_and_month_is_asked_for(tmp_path: Path) -> None:
    """Where no cell decides it, it is a question; the key that it names makes ISO dates of them."""
    layout = _dated(tmp_path / "open")
    [asked] = layout.questions()
    assert (asked.key, asked.choices) == ("day_first", ("day",))
    assert "NOT CERTAIN: no cell decides whether day or month is first: day (01/01/2024)" in "\n".join(
        layout.lines()
    )
    for named, first in ((["day"], "2024-01-02"), ([], "02/01/2024")):
        settled = _dated(tmp_path / f"given{len(named)}", day_first=named)
        assert not settled.questions()
        train = pd.read_csv(settled.folder / "public" / "train.csv")
        assert train["day"].iloc[1] == first
        assert check_competition(load_competition(settled.folder)).data.competition.metric == "roc-auc"


@pytest.mark.parametrize(
    ("train", "test", "expected"),
    [
        ("0{}/05/2024", "1{}/06/2024", ("2024-05-01", "2024-06-11")),
        ("1{}/05/2024", "0{}/06/2024", ("2024-05-11", "2024-06-01")),
        ("05/1{}/2024", "1{}/06/2024", ("05/11/2024", "2024-06-11")),
        ("1{}/05/2024", "1{}/06/2024", ("11/05/2024", "11/06/2024")),
    ],
)
def test_one_table_decides_the_order_of_day_and_month_for_both(
    tmp_path: Path, train: str, test: str, expected: tuple[str, str]
) -> None:
    """Dates with the day first are ISO dates where one table's cells alone are read otherwise."""
    made = tables()
    days = [[form.format(1 + row % 9) for row in range(TRAIN)] for form in (train, test)]
    files = Tables(
        made.train.assign(day=days[0]), made.test.assign(day=days[1][:TEST]), made.sample
    ).files()
    layout = arrange_download(place(files, tmp_path, packed=False), tmp_path / "project" / "download")
    assert not layout.questions()
    first = tuple(
        pd.read_csv(layout.folder / "public" / f"{name}.csv")["day"].iloc[0]
        for name in ("train", "test")
    )
    assert first == expected


def test_a_column_named_for_the_order_of_dates_has_to_exist(tmp_path: Path) -> None:
    """A misspelt name in `day_first` is one line."""
    with pytest.raises(CompetitionError, match="day_first names 'days', which is no column"):
        _dated(tmp_path / "in", day_first="days")


_DAYS = pd.date_range("2020-01-01", periods=TRAIN + TEST)


def _of_ids(sample: list[str], test: list[str] | None = None) -> Files:
    made = tables()
    asked = pd.DataFrame({"id": sample, "target": 0})
    return Tables(made.train, made.test.assign(id=test or made.test["id"]), asked).files()


@pytest.mark.parametrize(
    ("files", "hint"),
    [
        pytest.param(
            _of_ids([f"R{row}" for row in range(TRAIN, TRAIN + TEST)]),
            "they agree as words ('R60' is 'r60'): write the ids of both alike",
            id="another case",
        ),
        pytest.param(
            _of_ids(
                [f"{day:%d.%m.%Y}" for day in _DAYS[TRAIN:]], [f"{day:%F}" for day in _DAYS[TRAIN:]]
            ),
            "they agree as dates",
            id="another form of dates",
        ),
        pytest.param(
            _of_ids([f"r{row}" for row in range(TRAIN, TRAIN + TEST + 5)]),
            "add these rows to test.csv, or leave them out of sample_submission.csv",
            id="more rows",
        ),
        pytest.param(
            _of_ids([str(row) for row in range(TEST)]),
            "give sample_submission.csv the ids of test.csv, whose number of rows is the same",
            id="other ids",
        ),
    ],
)
def test_a_sample_of_other_ids_is_refused_with_the_step_to_take(
    files: Files, hint: str, tmp_path: Path
) -> None:
    """The hint depends on how the ids of the two differ."""
    with pytest.raises(CompetitionError, match="does not ask for the rows of test") as caught:
        arrange_download(place(files, tmp_path, packed=False), tmp_path / "project" / "download")
    assert hint in caught.value.hint
