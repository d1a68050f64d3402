"""Downloads of unusual shapes: columns called otherwise, missing rows and labels, odd numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tests.unit.competitions.download.downloads import Files, csv
from tests.unit.workbooks import workbook

TRAIN, TEST = 60, 20

_PAGE = "# Small test\n\n## Evaluation\n\nSubmissions are evaluated on {}.\n"
_AUC, _RMSE, _ACCURACY = "area under the ROC curve", "root mean squared error", "classification accuracy"
_COLUMNS = "mean columnwise root mean squared error"
_LOG_LOSS = "multi-class logarithmic loss"


@dataclass(frozen=True)
class Tables:
    """The tables of a download; the first column of each has the ids."""

    train: pd.DataFrame
    test: pd.DataFrame
    sample: pd.DataFrame

    def files(self, metric: str = _AUC, **options: object) -> Files:
        """Return the files as CSV, with a page that names the metric."""
        return {
            "train.csv": csv(self.train, **options),
            "test.csv": csv(self.test, **options),
            "sample_submission.csv": csv(self.sample, **options),
            "description.md": _PAGE.format(metric).encode(),
        }


@dataclass(frozen=True)
class Shape:
    """A download of an unusual shape, and what has to be inferred."""

    name: str
    files: Callable[[], Files]
    metric: str = "roc-auc"
    labels: tuple[str, ...] = ("target",)
    targets: tuple[str, ...] = ("target",)
    labelled: int = TRAIN
    finding: str = ""
    """A part of the report."""
    upload: tuple[str, ...] = ()
    """The header outside, where it is another one."""
    given: dict[str, list[str]] = field(default_factory=dict)
    """What competition.yaml beside the files says."""


def tables(label: str = "target", *, classes: tuple[object, ...] = (0, 1)) -> Tables:
    """Return tables with two inputs and a label."""
    draw = np.random.default_rng(1)
    rows = TRAIN + TEST
    table = pd.DataFrame(
        {
            "id": [f"r{row}" for row in range(rows)],
            "a": draw.normal(size=rows).round(3),
            "b": draw.integers(0, 9, rows),
            label: [classes[row % len(classes)] for row in range(rows)],
        }
    )
    test = table[TRAIN:].drop(columns=label)
    return Tables(table[:TRAIN], test, pd.DataFrame({"id": test["id"], label: classes[0]}))


def numbers() -> Tables:
    """Return tables whose label is a number."""
    made = tables()
    price = (np.arange(TRAIN) * 7 % 31 + 1000.5).round(2)
    return Tables(
        made.train.drop(columns="target").assign(target=price), made.test, made.sample.assign(target=0.5)
    )


def _spread(names: tuple[str, ...], classes: tuple[object, ...]) -> Files:
    made = tables("kind", classes=classes)
    shares = {name: 1 / len(names) for name in names}
    sample = pd.DataFrame({"id": made.test["id"], **shares})
    return Tables(made.train, made.test, sample).files(_LOG_LOSS)


def _named(name: str, train: str = "target") -> Files:
    made = tables(train)
    return Tables(made.train, made.test, made.sample.rename(columns={train: name})).files()


def _with_test_label(value: object) -> Files:
    made = tables()
    return Tables(made.train, made.test.assign(target=value), made.sample).files()


def _extra(name: str, values: list[object]) -> Files:
    made = tables()
    return Tables(made.train, made.test, made.sample.assign(**{name: values})).files()


def _blank(rows: int, made: Tables | None = None, metric: str = _AUC) -> Files:
    made = made or tables()
    labels = made.train["target"].astype(object).where(np.arange(TRAIN) >= rows, "")
    return Tables(made.train.assign(target=labels), made.test, made.sample).files(metric)


def _some_blank(kind: str) -> Files:
    made = tables()
    rows = np.arange(TRAIN)
    train = made.train.drop(columns="target")
    for name, step in (("low", 3), ("high", 4)):
        numbers = pd.Series(rows * 7 % 31 + 0.5 if kind == _COLUMNS else rows // 3 % 2)
        train[name] = numbers.astype(object).where(rows % step > 0, "")
    return Tables(train, made.test, made.sample.drop(columns="target").assign(low=0.5, high=0.5)).files(
        kind
    )


def _labels_apart(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Files:
    made = tables()
    ids = made.train["id"].str.removeprefix("r")
    train, test = made.train.assign(id=ids), made.test.assign(id=made.test["id"].str.removeprefix("r"))
    files = Tables(train.drop(columns="target"), test, made.sample.assign(id=test["id"])).files()
    files["train_features.csv"] = files.pop("train.csv")
    return files | {"train_labels.csv": csv(change(train[["id", "target"]]))}


def _one_table(name: str, placeholder: object = "") -> Files:
    made = tables()
    whole = pd.concat([made.train, made.test.assign(target=placeholder)], ignore_index=True)
    whole = whole.sample(frac=1, random_state=1)
    return {
        name: csv(whole),
        "sample_submission.csv": csv(made.sample),
        "description.md": _PAGE.format(_AUC).encode(),
    }


def _renamed(part: str, old: str, new: str) -> Files:
    made = tables()
    changed = {name: getattr(made, name) for name in ("train", "test", "sample")}
    changed[part] = changed[part].rename(columns={old: new})
    return Tables(**changed).files()


def _twice() -> Files:
    made = tables()
    both = (made.train.assign(c=1), made.test.assign(c=1))
    train, test = (table.rename(columns={"c": "a"}) for table in both)
    return Tables(train, test, made.sample).files()


def _written(
    change: Callable[[float], str], *, sep: str = ",", b: Callable[[int], object] = int
) -> Files:
    made = numbers()
    train, test = (
        each.assign(a=each["a"].map(change), b=each["b"].map(b)) for each in (made.train, made.test)
    )
    train = train.assign(target=train["target"].map(change))
    return Tables(train, test, made.sample.assign(target=0)).files(_RMSE, sep=sep)


def _as_workbooks() -> Files:
    made = tables()
    files = made.files()
    for name, table in (("train", made.train), ("test", made.test)):
        del files[f"{name}.csv"]
        files[f"{name}.xlsx"] = workbook({"Sheet1": [list(table), *table.to_numpy().tolist()]})
    return files


def _as_sheets() -> Files:
    made = tables()
    sheets = {
        "Train": made.train,
        "Test": made.test,
        "Sample Submission": made.sample,
        "Notes": pd.DataFrame({"note": ["b counts", "a is scaled"]}),
    }
    book = {name: [list(table), *table.to_numpy().tolist()] for name, table in sheets.items()}
    return {"data.xlsx": workbook(book), "description.md": _PAGE.format(_AUC).encode()}


def _pairs(first: str, second: str, sample: tuple[str, str]) -> Files:
    made = tables()
    train = made.train.drop(columns="target").assign(
        **{first: np.arange(TRAIN) * 1.5, second: np.arange(TRAIN) % 7}
    )
    return Tables(
        train, made.test, made.sample.drop(columns="target").assign(**dict.fromkeys(sample, 0.5))
    ).files(_COLUMNS)


def _classes(classes: tuple[object, ...]) -> Files:
    made = tables(classes=classes)
    return made.files(_ACCURACY)


def _some(word: str) -> Files:
    made = numbers()
    target = [word if row % 9 == 0 else value for row, value in enumerate(made.train["target"])]
    return Tables(made.train.assign(target=target), made.test, made.sample).files(_RMSE)


def _in_test_alone(unit: str) -> Files:
    made = numbers()
    test = made.test.assign(b=made.test["b"].map(lambda b: f"{b}{unit}"))
    return Tables(made.train, test, made.sample).files(_RMSE)


def _shown_in_part(made: Tables) -> Files:
    shown = [row % 2 if row < 7 else "" for row in range(TEST)]
    return Tables(made.train, made.test.assign(target=shown), made.sample).files()


def _lists(separator: str, metric: str = "samples F1") -> Files:
    lists = (f"New York{separator}Oslo", "Oslo", "New York", f"Rome{separator}Oslo")
    made = tables(classes=lists)
    return Tables(made.train, made.test, made.sample.assign(target=lists[0])).files(metric)


_SPREAD = {"metric": "multiclass-log-loss", "labels": ("kind",)}

SHAPES: tuple[Shape, ...] = (
    *(
        Shape(
            f"classes as columns {names[0]} ...",
            lambda names=names, classes=classes: _spread(names, classes),  # type: ignore[misc]
            targets=tuple(map(str, classes)),
            finding=f"{names[0]} from {classes[0]}",
            upload=("id", *names),
            **_SPREAD,
        )
        for names, classes in (
            (("class_0", "class_1"), (0, 1)),
            (("predict_0", "predict_1", "predict_2"), (0, 1, 2)),
            (("Status_C", "Status_CL", "Status_D"), ("C", "CL", "D")),
            (("target_10", "target_11", "target_12"), (10, 11, 12)),
            (("prob_cat", "prob_cow", "prob_crow"), ("cat", "cow", "crow")),
            (("cat_prob", "dog_prob"), ("cat", "dog")),
            (("p(cat)", "p(dog)"), ("cat", "dog")),
            (("CAT", "DOG"), ("cat", "dog")),
            (("Type_A_b", "Type_C_d"), ("A b", "C d")),
        )
    ),
    Shape(
        "the target is called otherwise in the sample",
        lambda: _named("prediction", "is_fraud"),
        labels=("is_fraud",),
        targets=("is_fraud",),
        finding="prediction from is_fraud",
        upload=("id", "prediction"),
    ),
    Shape(
        "the target has other capitals in the sample",
        lambda: _named("Target"),
        finding="'Target' is the column 'target'",
        upload=("id", "Target"),
    ),
    Shape(
        "two targets with a prefix",
        lambda: _pairs("low", "high", ("pred_low", "pred_high")),
        metric="rmse",
        labels=("low", "high"),
        targets=("low", "high"),
        finding="pred_low from low",
        upload=("id", "pred_low", "pred_high"),
    ),
    Shape(
        "two targets called otherwise, named by the user",
        lambda: _pairs("low", "high", ("y1", "y2")),
        metric="rmse",
        labels=("high", "low"),
        targets=("high", "low"),
        finding="y1 from high",
        upload=("id", "y1", "y2"),
        given={"target_columns": ["high", "low"]},
    ),
    *(
        Shape(
            f"test.csv has the label column, {value!r} in all rows",
            lambda value=value: _with_test_label(value),  # type: ignore[misc]
            finding="to be predicted and has one value in all rows",
        )
        for value in ("", 0, -1, "?", "NaN")
    ),
    Shape(
        "the sample has a column Usage",
        lambda: _extra("Usage", ["Public", "Private"] * (TEST // 2)),
        finding="'Usage' is not predicted",
    ),
    Shape(
        "the sample has a column Usage of one value",
        lambda: _extra("usage", ["Public"] * TEST),
        finding="'usage' is not predicted",
        upload=("id", "target", "usage"),
    ),
    Shape(
        "a sample of five rows",
        lambda: Tables(tables().train, tables().test, tables().sample[:5]).files(),
        finding="5 rows of 20 in test.csv",
    ),
    Shape(
        "a sample of one row, not the first",
        lambda: Tables(tables().train, tables().test, tables().sample[7:8]).files(),
        finding="1 rows of 20 in test.csv",
    ),
    Shape(
        "the sample's id has other capitals",
        lambda: _renamed("sample", "id", "ID"),
        finding="'ID' is the column 'id'",
        upload=("ID", "target"),
    ),
    Shape(
        "the id of test.csv has other capitals",
        lambda: _renamed("test", "id", "Id"),
        finding="'Id' of test.csv is 'id' of train.csv",
    ),
    Shape(
        "a column of test.csv has other capitals",
        lambda: _renamed("test", "a", " A"),
        finding="' A' of test.csv is 'a' of train.csv",
    ),
    Shape(
        "two targets, each without some labels",
        lambda: _some_blank(_COLUMNS),
        metric="rmse",
        labels=("low", "high"),
        targets=("low", "high"),
        labelled=55,
        finding="5 rows of train.csv have no 'low', 'high'",
    ),
    Shape(
        "two labels, each without some classes",
        lambda: _some_blank("the mean column-wise ROC AUC"),
        labels=("low", "high"),
        targets=("low", "high"),
        labelled=55,
        finding="2 different values: 0, 1",
    ),
    Shape(
        "only test rows have ids",
        lambda: Tables(tables().train.drop(columns="id"), tables().test, tables().sample).files(),
        finding="train.csv has no 'id': its rows are numbered",
    ),
    Shape("one table with blank targets", lambda: _one_table("data.csv"), finding="of data.csv"),
    Shape("train.csv with all rows", lambda: _one_table("train.csv"), finding="of train.csv"),
    *(
        Shape(
            f"one table whose rows to predict have {value!r}",
            lambda value=value: _one_table("train.csv", value),  # type: ignore[misc]
            finding=f"whose 'target' is '{value}'",
        )
        for value in ("?", -1, 0)
    ),
    Shape(
        "a table of labels that lacks some rows",
        lambda: _labels_apart(lambda table: table[7:]),
        labelled=53,
        finding="7 rows of train.csv have no 'target'",
    ),
    Shape(
        "a table of labels with ids as decimals",
        lambda: _labels_apart(lambda table: table.assign(id=table["id"] + ".0")),
        finding="train.csv joins train_features.csv and train_labels.csv by id",
    ),
    Shape(
        "a sample with blank labels",
        lambda: Tables(
            tables(classes=("cat", "dog")).train, tables().test, tables().sample.assign(target="")
        ).files(_ACCURACY),
        metric="accuracy",
    ),
    Shape(
        "some labels are blank", lambda: _blank(9), labelled=51, finding="9 rows of train.csv have no"
    ),
    Shape(
        "most numbers are blank",
        lambda: _blank(40, numbers(), _RMSE),
        metric="rmse",
        labelled=20,
        finding="40 rows of train.csv have no",
    ),
    Shape(
        "columns that only test.csv has",
        lambda: Tables(tables().train, tables().test.assign(c=1, d=2), tables().sample).files(),
        finding="train.csv has no column 'c', 'd': left out",
    ),
    Shape(
        "rows of train.csv are there twice",
        lambda: Tables(
            pd.concat([tables().train, tables().train[3:8]]), tables().test, tables().sample
        ).files(),
        finding="5 rows that are there twice: dropped",
    ),
    Shape("a column twice", _twice, finding="several columns 'a'"),
    Shape(
        "decimal commas between semicolons",
        lambda: _written(lambda x: f"{x:.2f}".replace(".", ","), sep=";"),
        metric="rmse",
        finding="decimal commas",
    ),
    Shape(
        "decimal commas and points between thousands",
        lambda: _written(lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")), sep=";"),
        metric="rmse",
        finding="decimal commas",
    ),
    Shape(
        "currency signs and thousands separators",
        lambda: _written(lambda x: f"${x:,.2f}" if x >= 0 else f"-${-x:,.2f}"),
        metric="rmse",
        finding="currency signs",
    ),
    Shape(
        "thousands separators",
        lambda: _written(lambda x: f"{x * 1000:,.1f}"),
        metric="rmse",
        finding="thousands separators",
    ),
    Shape(
        "points between thousands beside decimal commas",
        lambda: _written(
            lambda x: f"{x:.2f}".replace(".", ","), sep=";", b=lambda b: f"{b + 1}.{500 + b}"
        ),
        metric="rmse",
        finding="thousands separators: b (",
    ),
    Shape(
        "signs of percent",
        lambda: _written(lambda x: f"{x:.1f} %"),
        metric="rmse",
        finding="signs of percent: target (1000.5 % is 1000.5); a (",
    ),
    Shape(
        "negative numbers in brackets, and missing ones as dashes",
        lambda: _written(lambda x: f"({-x:.1f})" if x < -0.2 else f"{x:.1f}" if x > 0 else "-"),
        metric="rmse",
        finding="is -",
    ),
    Shape(
        "signs of minus",
        lambda: _written(lambda x: f"{x:.1f}".replace("-", "\u2212")),
        metric="rmse",
        finding="signs of minus: a (",
    ),
    Shape(
        "signs of percent in test.csv alone are left as they are",
        lambda: _in_test_alone("%"),
        metric="rmse",
        finding="signs of percent in one table alone, left as they are: b (",
    ),
    Shape(
        "a unit in test.csv alone",
        lambda: _in_test_alone(" cm"),
        metric="rmse",
        finding="units: b (",
    ),
    Shape(
        "several currencies",
        lambda: _written(lambda x: ("$" if x > 0 else "\u20ac") + f"{abs(x):.1f}"),
        metric="rmse",
        finding="several currencies, left as they are: a (EUR, USD)",
    ),
    Shape(
        "units",
        lambda: _written(lambda x: f"{x:.1f} kg"),
        metric="rmse",
        finding="units: target (1000.5 kg is 1000.5); a (",
    ),
    *(
        Shape(
            f"numbers of which some are {word}",
            lambda word=word: _some(word),  # type: ignore[misc]
            metric="rmse",
            labelled=TRAIN - 7,
            finding=f"cells without a number, blank here: target ({word})",
        )
        for word in ("NA", "-", "null")
    ),
    Shape(
        "a label that test.csv has in part",
        lambda: _shown_in_part(tables()),
        finding="its column 'target' is to be predicted and is blank but for 7 rows: left out",
    ),
    Shape(
        "blank labels beside unlabelled.csv",
        lambda: _blank(9) | {"unlabelled.csv": csv(tables().test)},
        labelled=51,
        finding="9 rows of train.csv have no 'target': they are in train_unlabelled.csv",
    ),
    Shape(
        "classes with signs of currency",
        lambda: _classes(("$10", "$20", "$1,500")),
        metric="accuracy",
        finding="classes that the sample spells so, left as they are: target ($10)",
    ),
    *(
        Shape(
            f"labels separated by {separator!r}",
            lambda separator=separator: _lists(separator),  # type: ignore[misc]
            metric="samples-f1",
            finding=f"here with blanks: target ({separator.strip()!r})",
        )
        for separator in (";", "; ", "|", ",", ", ")
    ),
    Shape(
        "guesses whose classes have blanks",
        lambda: _lists("|", "mean average precision at 3 (MAP@3)"),
        metric="map-at-3",
        finding="'New York' is 'New_York'",
    ),
    Shape(
        "labels separated by blanks",
        lambda: _lists(" "),
        metric="samples-f1",
        finding="blanks separate labels: 'New York' is 2 labels",
    ),
    Shape("workbooks", _as_workbooks),
    Shape("sheets of a workbook", _as_sheets, finding="data.xlsx"),
    *(
        Shape(
            f"classes {', '.join(map(str, classes))}",
            lambda classes=classes: _classes(classes),  # type: ignore[misc]
            metric="accuracy",
        )
        for classes in (
            ("None", "NA", "Apnea"),
            ("nan", "null", "n/a"),
            ("True", "False"),
            ("01", "1", "2"),
        )
    ),
)
"""Shapes that are solved."""
