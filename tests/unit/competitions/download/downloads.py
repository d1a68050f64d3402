"""More than forty plain downloads: kinds of data, ways of naming and packing, and missing parts."""

import gzip
import io
import json
import math
import wave
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

__all__ = ["DOWNLOADS", "REFUSED", "Download", "Refused", "place"]

_TRAIN, _TEST = 60, 20

Files = dict[str, bytes]
"""Content by relative path."""


@dataclass(frozen=True)
class Download:
    """A download that can be solved, with what has to be inferred."""

    name: str
    files: Callable[[], Files]
    metric: str | None
    ids: tuple[str, ...]
    labels: tuple[str, ...]
    packed: bool = False
    """Whether it is one zip."""
    describe: str = ""
    findings: tuple[str, ...] = field(default=())
    """Parts of the report."""


@dataclass(frozen=True)
class Refused:
    """A download that is refused, with the line that says why."""

    name: str
    wrong: str
    files: Callable[[], Files]
    line: str
    hint: str
    packed: bool = False


def place(files: Files, root: Path, *, packed: bool) -> Path:
    """Write files to a folder `download`, or to one zip of this name; return its path."""
    if packed:
        (root / "download.zip").write_bytes(_zipped(files))
        return root / "download.zip"
    (root / "download").mkdir()
    for name, content in files.items():
        path = root / "download" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root / "download"


def _page(sentence: str) -> bytes:
    return f"# A competition\n\nWhat it is about.\n\n## Evaluation\n\n{sentence}\n".encode()


_PAGES = {
    "accuracy": _page("Submissions are evaluated on classification accuracy."),
    "rmse": _page("Submissions are evaluated on root mean squared error."),
    "roc-auc": _page("Submissions are evaluated on area under the ROC curve."),
    "multiclass-log-loss": _page("Submissions are evaluated using the multi-class logarithmic loss."),
}


def csv(table: pd.DataFrame, **options: object) -> bytes:
    text: str = table.to_csv(index=False, lineterminator="\n", **options)
    return text.encode()


def _numbers() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return train, test and sample of a regression."""
    rows = range(_TRAIN + _TEST)
    table = pd.DataFrame(
        {
            "id": [1000 + row for row in rows],
            "size": [row * 7 % 13 + 0.5 for row in rows],
            "town": ["Köln" if row % 3 else "Bonn" for row in rows],
            "price": [round(row * 7 % 13 * 2 + row % 3 + math.sin(row), 3) for row in rows],
        }
    )
    train, test = table[:_TRAIN], table[_TRAIN:].drop(columns="price")
    return train, test, pd.DataFrame({"id": test["id"], "price": 0.0})


def _classes() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return train, test and sample of a classification."""
    train, test, sample = _numbers()
    kind = ["large" if size > 6 else "small" for size in train["size"]]
    train = train.drop(columns="price").assign(kind=kind)
    return train, test, sample.drop(columns="price").assign(kind="small")


def _texts() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    words = ["good film", "bad story, dull", 'a "fine" end', "boring and long", "great fun"]
    rows = range(_TRAIN + _TEST)
    table = pd.DataFrame(
        {
            "review_id": [f"r{row}" for row in rows],
            "text": [f"{words[row % 5]} number {row}, seen in town {row % 7}" for row in rows],
            "liked": [int(row % 5 in (0, 2, 4)) for row in rows],
        }
    )
    test = table[_TRAIN:].drop(columns="liked")
    return table[:_TRAIN], test, pd.DataFrame({"review_id": test["review_id"], "liked": 0.5})


def _spread() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return tables where each class is a column of the sample."""
    train, test, _ = _classes()
    return train, test, pd.DataFrame({"id": test["id"], "large": 0.5, "small": 0.5})


def _panel() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    rows = [(day, shop) for day in pd.date_range("2024-01-01", periods=40) for shop in "abc"]
    table = pd.DataFrame(
        {
            "row_id": range(len(rows)),
            "date": [day.date().isoformat() for day, _ in rows],
            "shop": [shop for _, shop in rows],
            "sold": [day.day % 7 + ord(shop) % 5 for day, shop in rows],
        }
    )
    test = table[90:].drop(columns="sold")
    return table[:90], test, pd.DataFrame({"row_id": test["row_id"], "sold": 0})


_Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


def _anew(tables: _Tables) -> _Tables:
    """Return the tables with ids of test that are ids of train."""
    train, test, sample = tables
    ids = train["id"].to_numpy()[: len(test)]
    return train, test.assign(id=ids), sample.assign(id=ids)


def _usual(tables: _Tables, metric: str, **names: str) -> Files:
    train, test, sample = tables
    return {
        names.get("train", "train.csv"): csv(train),
        names.get("test", "test.csv"): csv(test),
        names.get("sample", "sample_submission.csv"): csv(sample),
        "description.md": _PAGES[metric],
    }


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _each_zipped(tables: _Tables, metric: str) -> Files:
    train, test, sample = tables
    return {
        "train.csv.zip": _zipped({"train.csv": csv(train)}),
        "test.csv.zip": _zipped({"test.csv": csv(test)}),
        "sampleSubmission.csv": csv(sample),
        "description.md": _PAGES[metric],
    }


def _written(tables: _Tables, metric: str, suffix: str, write: Callable[[pd.DataFrame], bytes]) -> Files:
    train, test, sample = tables
    files = {f"train{suffix}": write(train), f"test{suffix}": write(test)}
    return {**files, f"sample_submission{suffix}": write(sample), "overview.md": _PAGES[metric]}


def _parquet(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()


def _json_lines(table: pd.DataFrame) -> bytes:
    records = table.to_dict("records")
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _picture(row: int) -> bytes:
    """Return a picture that is bright where the row's class is 1; no two are alike."""
    image = Image.new("L", (8, 8), 60 + 120 * (row % 2))
    for place in range(8):
        image.putpixel((place, row * 5 % 8), (row * 37 + place * place * 11) % 256)
        image.putpixel((row * 3 % 8, place), (row * 53 + place * 29) % 256)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _sound(row: int) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setparams((1, 2, 4000, 0, "NONE", ""))
        tone = 200 + 300 * (row % 2) + row
        samples = (int(8000 * math.sin(tone * time / 4000 * 6.28)) for time in range(800))
        sound.writeframes(b"".join(value.to_bytes(2, "little", signed=True) for value in samples))
    return buffer.getvalue()


def _numbered_anew(row: int) -> int:
    """Return the number of a row where those of test begin anew."""
    return row if row < _TRAIN else row - _TRAIN


def _media(
    suffix: str, make: Callable[[int], bytes], *, named: bool = True, anew: bool = False
) -> Files:
    """Return files of train and test rows, with a table of labels; `anew`, test has names of train."""
    rows = range(_TRAIN + _TEST)
    folder = {row: "train" if row < _TRAIN else "test" for row in rows}
    number = {row: _numbered_anew(row) if anew else row for row in rows}
    shown = {row: f"{number[row]:03d}{suffix}" if named else f"{number[row]:03d}" for row in rows}
    labels = pd.DataFrame({"name": [shown[row] for row in range(_TRAIN)]})
    labels["label"] = [row % 2 for row in range(_TRAIN)]
    asked = pd.DataFrame({"name": [shown[row] for row in rows[_TRAIN:]], "label": 0})
    files = {f"{folder[row]}/{number[row]:03d}{suffix}": make(row) for row in rows}
    tables = {"train_labels.csv": csv(labels), "sample_submission.csv": csv(asked)}
    return {**files, **tables, "description.md": _PAGES["accuracy"]}


def _class_folders(suffix: str, make: Callable[[int], bytes], *, anew: bool = False) -> Files:
    rows = range(_TRAIN + _TEST)
    files = {
        f"train/{'dark' if row % 2 else 'bright'}/{row:03d}{suffix}": make(row) for row in rows[:_TRAIN]
    }
    files |= {
        f"test/{_numbered_anew(row) if anew else row:03d}{suffix}": make(row) for row in rows[_TRAIN:]
    }
    return {**files, "description.md": _PAGES["accuracy"]}


def _named_classes() -> Files:
    rows = range(_TRAIN + _TEST)
    files = {f"train/{'dog' if row % 2 else 'cat'}.{row}.png": _picture(row) for row in rows[:_TRAIN]}
    files |= {f"test/{row}.png": _picture(row) for row in rows[_TRAIN:]}
    return {**files, "description.md": _PAGES["accuracy"]}


def _arrays() -> Files:
    rows = range(_TRAIN + _TEST)
    pictures = np.stack([np.asarray(Image.open(io.BytesIO(_picture(row)))) for row in rows])
    buffer = io.BytesIO()
    labels = np.arange(_TRAIN) % 2
    np.savez(buffer, train_images=pictures[:_TRAIN], train_label=labels, test_images=pictures[_TRAIN:])
    return {"train_and_test.npz": buffer.getvalue(), "description.md": _PAGES["accuracy"]}


def _parts() -> Files:
    """Return inputs and labels of the same rows in two tables."""
    train, test, sample = _numbers()
    files = {"train_features.csv": csv(train.drop(columns="price")), "test_features.csv": csv(test)}
    files["train_labels.csv"] = csv(train[["id", "price"]].iloc[::-1])
    return {**files, "sample_submission.csv": csv(sample), "description.md": _PAGES["rmse"]}


def _by_order() -> Files:
    train, test, sample = _numbers()
    files = {"X_train.csv": csv(train.drop(columns="price")), "y_train.csv": csv(train[["price"]])}
    return {**files, "X_test.csv": csv(test), "sample_submission.csv": csv(sample), "r.md": b"x"}


def _joined_ids() -> Files:
    """Return tables whose sample asks for ids made of two columns."""
    train, test, sample = _panel()
    files = _usual((train.drop(columns="row_id"), test.drop(columns="row_id"), sample), "rmse")
    ids = test["shop"] + "_" + test["date"]
    asked = pd.DataFrame({"shop_date": ids, "sold": 0}).iloc[::-1]
    return {**files, "sample_submission.csv": csv(asked)}


def _in_pieces() -> Files:
    files = _usual(_numbers(), "rmse")
    train = _numbers()[0]
    del files["train.csv"]
    return {**files, "train_2.csv": csv(train[40:]), "train_1.csv": csv(train[:40])}


def _without_ids() -> Files:
    train, test, sample = (table.drop(columns="id") for table in _numbers())
    return _usual((train, test, sample), "rmse")


def _without(name: str, tables: _Tables, metric: str) -> Files:
    return {path: content for path, content in _usual(tables, metric).items() if path != name}


def _with_index() -> Files:
    """Return tables as pandas writes them, with an unnamed first column."""
    train, test, sample = _numbers()
    files = {"train.csv": train.to_csv().encode(), "test.csv": test.to_csv().encode()}
    return {**files, "sample_submission.csv": csv(sample), "description.md": _PAGES["rmse"]}


def _semicolons(table: pd.DataFrame) -> bytes:
    return csv(table, sep=";").decode().encode("cp1252")


def _number(name: str, files: Callable[[], Files], **facts: object) -> Download:
    values: dict[str, object] = {"metric": "rmse", "ids": ("id",), "labels": ("price",), **facts}
    return Download(name, files, **values)  # type: ignore[arg-type]


def _masks(*, several: bool) -> Files:
    """Return pictures and the run lengths of their masks; with `several`, two rows for each picture."""
    names = [f"m{row:02d}" for row in range(_TRAIN + _TEST)]
    train = pd.DataFrame({"id": names[:_TRAIN], "mask": [f"{row + 1} 5" for row in range(_TRAIN)]})
    more = [train, train.assign(mask="70 3")] if several else [train]
    page = (
        "This competition is evaluated on the mean average precision at different intersection over "
        "union (IoU) thresholds. Use run-length encoding."
    )
    return {
        "description.md": page.encode(),
        "train.csv": csv(pd.concat(more).sort_values("id", kind="stable")),
        "sample_submission.csv": csv(pd.DataFrame({"id": names[_TRAIN:], "mask": "1 1"})),
        **{f"images/{name}.png": _picture(row) for row, name in enumerate(names)},
    }


_LIKED = {"metric": "roc-auc", "ids": ("review_id",), "labels": ("liked",)}
_KIND = {"metric": "accuracy", "ids": ("id",), "labels": ("kind",)}
_SOLD = {"metric": "rmse", "ids": ("row_id",), "labels": ("sold",)}
_MEDIA = {"metric": "accuracy", "ids": ("name",), "labels": ("label",)}

DOWNLOADS: tuple[Download, ...] = (
    _number("numbers", lambda: _usual(_numbers(), "rmse")),
    _number("numbers in a zip", lambda: _usual(_numbers(), "rmse"), packed=True),
    _number(
        "a zip with a folder",
        lambda: {f"data/{n}": c for n, c in _usual(_numbers(), "rmse").items()},
        packed=True,
    ),
    _number("each file zipped", lambda: _each_zipped(_numbers(), "rmse")),
    _number("zips in a zip", lambda: _each_zipped(_numbers(), "rmse"), packed=True),
    _number(
        "other names",
        lambda: _usual(
            _numbers(),
            "rmse",
            train="Training_Data.csv",
            test="Test Data.csv",
            sample="SampleSubmission_v2.csv",
        ),
    ),
    _number(
        "tab-separated", lambda: _written(_numbers(), "rmse", ".tsv", lambda table: csv(table, sep="\t"))
    ),
    _number("semicolons and Windows letters", lambda: _written(_numbers(), "rmse", ".csv", _semicolons)),
    _number("parquet", lambda: _written(_numbers(), "rmse", ".parquet", _parquet)),
    _number("JSON lines", lambda: _written(_numbers(), "rmse", ".jsonl", _json_lines)),
    _number(
        "a JSON array",
        lambda: _written(
            _numbers(), "rmse", ".json", lambda table: table.to_json(orient="records").encode()
        ),
    ),
    _number(
        "gzipped tables",
        lambda: _written(_numbers(), "rmse", ".csv.gz", lambda table: gzip.compress(csv(table))),
    ),
    _number(
        "inputs and labels apart",
        _parts,
        findings=("joins train_features.csv and train_labels.csv by id",),
    ),
    _number(
        "inputs and labels in order", _by_order, metric=None, findings=("by the order of their rows",)
    ),
    _number("train in two pieces", _in_pieces, findings=("the rows of train_1.csv, train_2.csv",)),
    _number("no ids", _without_ids, findings=("made: id",)),
    _number(
        "no sample submission",
        lambda: _without("sample_submission.csv", _numbers(), "rmse"),
        findings=("made, as none is among the files",),
    ),
    _number("an index column", _with_index),
    _number(
        "no description",
        lambda: _without("description.md", _numbers(), "rmse"),
        metric=None,
        findings=("NOT CERTAIN: no description",),
    ),
    _number(
        "a line as description",
        lambda: _without("description.md", _numbers(), "rmse"),
        describe="Evaluated on the root mean squared error.",
    ),
    Download("classes", lambda: _usual(_classes(), "accuracy"), **_KIND),
    Download(
        "classes without a sample",
        lambda: _without("sample_submission.csv", _classes(), "accuracy"),
        **_KIND,
    ),
    Download(
        "classes as columns",
        lambda: _usual(_spread(), "multiclass-log-loss"),
        "multiclass-log-loss",
        ("id",),
        ("kind",),
    ),
    Download(
        "classes in parquet", lambda: _written(_classes(), "accuracy", ".parquet", _parquet), **_KIND
    ),
    Download("texts", lambda: _usual(_texts(), "roc-auc"), **_LIKED),
    Download(
        "texts in tab-separated files",
        lambda: _written(_texts(), "roc-auc", ".tsv", lambda table: csv(table, sep="\t")),
        **_LIKED,
    ),
    Download(
        "texts in JSON lines", lambda: _written(_texts(), "roc-auc", ".jsonl", _json_lines), **_LIKED
    ),
    Download("a panel", lambda: _usual(_panel(), "rmse"), **_SOLD),
    Download("a panel in a zip", lambda: _each_zipped(_panel(), "rmse"), packed=True, **_SOLD),
    Download(
        "ids of two columns",
        _joined_ids,
        "rmse",
        ("shop_date",),
        ("sold",),
        findings=("shop_date is <shop>_<date> of test.csv",),
    ),
    Download("pictures and a table", lambda: _media(".png", _picture), **_MEDIA),
    Download("pictures in a zip", lambda: _media(".png", _picture), packed=True, **_MEDIA),
    Download("pictures named by ids", lambda: _media(".png", _picture, named=False), **_MEDIA),
    Download("sounds and a table", lambda: _media(".wav", _sound), **_MEDIA),
    Download("pictures of equal names", lambda: _media(".png", _picture, anew=True), **_MEDIA),
    Download(
        "pictures of equal ids", lambda: _media(".png", _picture, named=False, anew=True), **_MEDIA
    ),
    Download("sounds of equal names", lambda: _media(".wav", _sound, anew=True), **_MEDIA),
    _number("numbers of equal ids", lambda: _usual(_anew(_numbers()), "rmse")),
    Download("pictures with masks", lambda: _masks(several=False), "iou-precision", ("id",), ("mask",)),
    Download(
        "pictures with several masks each",
        lambda: _masks(several=True),
        "instance-precision",
        ("id",),
        ("mask",),
        findings=("train.csv has several masks an id",),
    ),
    Download("pictures in an array", _arrays, "accuracy", ("id",), ("label",)),
    Download(
        "pictures in folders of classes",
        lambda: _class_folders(".png", _picture),
        "accuracy",
        ("id",),
        ("label",),
    ),
    Download(
        "pictures in folders of classes, of equal names",
        lambda: _class_folders(".png", _picture, anew=True),
        "accuracy",
        ("id",),
        ("label",),
    ),
    Download(
        "sounds in folders of classes",
        lambda: _class_folders(".wav", _sound),
        "accuracy",
        ("id",),
        ("label",),
    ),
    Download("pictures with classes in their names", _named_classes, "accuracy", ("id",), ("label",)),
)


def _sample_of_others() -> Files:
    files = _usual(_numbers(), "rmse")
    return {**files, "sample_submission.csv": csv(pd.DataFrame({"id": [1, 2], "price": 0}))}


def _two_trains() -> Files:
    files = _without("train.csv", _numbers(), "rmse")
    train = _numbers()[0]
    return {**files, "train_a.csv": csv(train), "train_b.csv": csv(train.assign(size=1, extra=2))}


def _two_targets() -> Files:
    train, test, _ = _numbers()
    return {"train.csv": csv(train.assign(rooms=3)), "test.csv": csv(test)}


REFUSED: tuple[Refused, ...] = (
    Refused("nothing", "the folder is empty", dict, "download: has no files", ""),
    Refused(
        "only a description",
        "there is no table",
        lambda: {"description.md": _PAGES["rmse"]},
        "download: no sample submission is among the files",
        "add sample_submission.csv: the ids of the rows to predict, and a column for each prediction",
    ),
    Refused(
        "no labelled rows",
        "train.csv is missing",
        lambda: _without("train.csv", _numbers(), "rmse"),
        "download: no table of labelled rows (train.csv) is among the files",
        "rename the table that has labels train.csv",
    ),
    Refused(
        "two labelled tables",
        "two tables may be train.csv",
        _two_trains,
        "download: train_a.csv or train_b.csv may be the table of labelled rows",
        "rename the one that is meant train.csv, and move the other away",
    ),
    Refused(
        "no test rows and no sample",
        "there is only train.csv",
        lambda: {"train.csv": csv(_numbers()[0])},
        "download: no sample submission is among the files",
        "add sample_submission.csv: the ids of the rows to predict, and a column for each prediction",
    ),
    Refused(
        "what to predict is open",
        "train.csv has two more columns than test.csv, and there is no sample",
        _two_targets,
        "download: no sample submission is among the files, and train.csv has 2 columns that test.csv "
        "lacks (price, rooms)",
        "target_columns",
    ),
    Refused(
        "a sample for other rows",
        "the sample submission has other ids",
        _sample_of_others,
        "download: sample_submission.csv does not ask for the rows of test.csv",
        "call the column of ids alike in both, or move the one away that is of other rows",
    ),
    Refused(
        "a pickle",
        "a table is a pickle",
        lambda: {**_without("train.csv", _numbers(), "rmse"), "train.pkl": b"\x80\x04."},
        "download: train.pkl: is a pickle, which can run code",
        "save it as parquet or csv",
    ),
    Refused(
        "a broken parquet file",
        "train.parquet is truncated",
        lambda: {**_without("train.csv", _numbers(), "rmse"), "train.parquet": b"PAR1"},
        "download: train.parquet: cannot be read",
        "",
    ),
    Refused(
        "a broken zip",
        "the zip ends too early",
        lambda: {**_usual(_numbers(), "rmse"), "images.zip": _zipped({"a.png": b"x" * 99})[:60]},
        "download: images.zip: the zip is corrupt",
        "",
    ),
    Refused(
        "a path out of the zip",
        "a name in the zip leads out of its folder",
        lambda: {"data.zip": _zipped({"../../evil.csv": b"x"})},
        "download: the file name '../../evil.csv' leads out of its folder or is invalid",
        "do not trust this data",
    ),
)
