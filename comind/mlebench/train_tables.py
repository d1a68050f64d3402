"""Make the table of labelled rows of competitions whose labels are in other forms than one table.

Each function yields the rows, in blocks, as text. What they hold is then nowhere else in the public
files: the split could not seal labels there.
"""

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from comind.competitions.download.file_tables import add_file_tables
from comind.errors import CompetitionError
from comind.mlebench.catalog import TrainTable
from comind.mlebench.ground_truth import answers_of_question
from comind.system.files import write_atomically
from comind.tables.csv_tables import read_table, write_table
from comind.tables.table_files import cells, header, write_rows

_BLOCK = 100_000  # rows
_SPECIES = 19

Blocks = Iterator[pd.DataFrame]


def _table(public: Path, source: Path, form: TrainTable) -> Blocks:
    """One table, or one of each folder whose names are columns: `train/{Id}/labels.csv`."""
    if "{" not in form.file:
        yield _taken(source)
        return
    for path, names in _matching(public, form.file):
        yield _taken(path).drop(columns=[*names], errors="ignore").assign(**names)


def _taken(path: Path) -> pd.DataFrame:
    table = read_table(path, CompetitionError)
    path.unlink()
    return table


def _matching(public: Path, pattern: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the files of a pattern, and what `{...}` is in each."""
    form = re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(pattern)))
    for path in sorted(public.rglob("*" + Path(pattern).suffix)):
        if found := form.fullmatch(path.relative_to(public).as_posix()):
            yield path, found.groupdict()


def _folders(public: Path, _source: Path, form: TrainTable) -> Blocks:
    """Files in folders of classes, or with the class before a number, or at the end of their names."""
    for path, names in [*_matching(public, form.file)] if form.file else ():
        target = path.parent / names["label"] / f"{names['stem']}{path.suffix}"
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
    if not add_file_tables(public):
        raise CompetitionError(f"{public}: no files have labels in the names of their folders")
    yield read_table(public / "train.csv", CompetitionError)


def _records(public: Path, source: Path, form: TrainTable) -> Blocks:
    """A list in JSON, such as annotations of images; their own numbers say nothing."""
    del public
    text = source.read_bytes()
    try:
        data = json.loads(text)
    except UnicodeDecodeError:
        data = json.loads(text.decode("latin-1"))
    table = pd.DataFrame(data.pop(form.of)).astype(str)
    yield table.drop(columns={"id"} & {*table.columns} - {*form.columns.values()})
    write_atomically(source, json.dumps(data))


def _masks(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Masks in NumPy arrays, as run lengths by columns; `-` for an empty one."""
    for block in _json_or_csv(source):
        masks = [_runs(np.load(public / form.of.format(row))) for row in block["record_id"]]
        yield pd.DataFrame({"record_id": block["record_id"], "encoded_pixels": masks})


def _json_or_csv(source: Path) -> Blocks:
    yield read_table(source, CompetitionError)


def _runs(mask: Any) -> str:
    flat = np.concatenate([[0], (mask.squeeze() > 0).T.ravel(), [0]])
    edges = np.flatnonzero(np.diff(flat)) + 1
    edges[1::2] -= edges[::2]
    return " ".join(map(str, edges)) or "-"


def _pixels(public: Path, _source: Path, form: TrainTable) -> Blocks:
    """Greys of target images from 0 to 1; a row is the pixel `<image>_<row>_<column>`."""
    from PIL import Image

    for path, names in _matching(public, form.file):
        with Image.open(path) as image:
            greys = np.asarray(image.convert("L")) / 255
        places = np.indices(greys.shape).reshape(2, -1).T + 1
        ids = [f"{names['image']}_{row}_{column}" for row, column in places]
        yield pd.DataFrame({"id": ids, "value": greys.ravel().astype(str)})
        path.unlink()


def _lines(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Each line of a text."""
    del public
    with source.open(encoding="utf-8") as lines:
        number = 0
        while block := [line.rstrip("\n") for line in islice(lines, _BLOCK)]:
            ids = map(str, range(number, number := number + len(block)))
            yield pd.DataFrame({"id": [*ids], form.of: block})
    source.unlink()


def _species(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Recordings with their species; a row is `100 * recording + species`."""
    del public, form
    rows = []
    for line in source.read_text().splitlines()[1:]:
        number, *labels = line.split(",")
        if labels != ["?"]:
            rows += [(int(number) * 100 + n, int(str(n) in labels)) for n in range(_SPECIES)]
    yield pd.DataFrame(rows, columns=["Id", "Probability"]).astype(str)
    source.unlink()


def _positions(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Sequences with lists of labels; a row is one position of a sequence."""
    del public
    table = read_table(source, CompetitionError)
    labels = table[["id", *form.labels]].copy()
    for name in form.labels:
        labels[name] = labels[name].map(json.loads)
    rows = labels.explode([*form.labels], ignore_index=True).astype(str)
    rows.insert(0, "id_seqpos", rows["id"] + "_" + rows.groupby("id").cumcount().astype(str))
    yield rows.drop(columns="id")
    write_table(table.drop(columns=[*form.labels]), source.with_name("train_sequences.csv"))
    source.unlink()


def _objects(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Objects of eight words each, which in a submission follow their confidence."""
    del public
    table = _taken(source)
    table[form.of] = table[form.of].str.replace(r"((?:\S+ ){7}\S+)", r"1.0 \1", regex=True)
    yield table


def _questions(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Questions with annotations; a row for the long answer of each and one for the short."""
    names = header(source)
    questions = cells(source, ["example_id", "annotations"])
    while block := [*islice(questions, _BLOCK)]:
        rows = [
            answer
            for name, notes in block
            for answer in answers_of_question({"example_id": name, "annotations": json.loads(notes)})
        ]
        yield pd.DataFrame(rows, columns=["example_id", "PredictionString"], dtype=str)
    shown = [name for name in names if name != "annotations"]
    write_rows(public / ".shown.csv", shown, cells(source, shown))
    (public / ".shown.csv").replace(source)
    del form


def _studies(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Classes of studies and boxes of images, both in the form of a submission."""
    studies = _taken(source)
    named = [name for name in studies.columns if name != "id"]
    classes = studies[named].astype(int).to_numpy().argmax(axis=1)
    words = [name.split()[0].lower() for name in named]
    labels = [f"{words[number]} 1 0 0 1 1" for number in classes]
    yield pd.DataFrame({"id": studies["id"], "PredictionString": labels})
    images = _taken(public / form.of)
    yield images[["id", "label"]].set_axis(["id", "PredictionString"], axis="columns")


def _melted(public: Path, source: Path, form: TrainTable) -> Blocks:
    """A column for each label; a row is one of them."""
    del public
    table = _taken(source)
    key = str(table.columns[0])
    rows = table.melt(key, var_name="prediction_type", value_name=form.labels[0])
    rows.insert(0, form.of, rows[key] + "_" + rows["prediction_type"])
    yield rows


def _bson(public: Path, source: Path, form: TrainTable) -> Blocks:
    """Documents of BSON; their labels are taken out of the file."""
    names = [*form.columns.values()]
    for path in (source, *public.glob(f"{source.stem}_*.bson")):
        rows = []
        with path.open("rb") as file, (public / ".stripped").open("wb") as stripped:
            while size := file.read(4):
                body = file.read(struct.unpack("<i", size)[0] - 4)
                found = _numbers(body)
                rows.append([str(found[name][0]) for name in names])
                start, end = found[names[-1]][1:]
                body = body[:start] + body[end:]
                stripped.write(struct.pack("<i", len(body) + 4) + body)
        (public / ".stripped").replace(path)
        if path == source:
            yield pd.DataFrame(rows, columns=names)


def _numbers(body: bytes) -> Mapping[str, tuple[int, int, int]]:
    """Return the whole numbers of a document by name, and where they begin and end."""
    found, place = {}, 0
    while (kind := body[place]) != 0:
        end = body.index(0, place + 1)
        name, start = body[place + 1 : end].decode(), place
        size = {0x01: 8, 0x08: 1, 0x09: 8, 0x0A: 0, 0x10: 4, 0x12: 8, 0x07: 12}.get(kind)
        if size is None:
            (length,) = struct.unpack_from("<i", body, end + 1)
            size = length + {0x02: 4, 0x03: 0, 0x04: 0, 0x05: 5}[kind]
        place = end + 1 + size
        if kind in (0x10, 0x12):
            value = int.from_bytes(body[end + 1 : place], "little", signed=True)
            found[name] = value, start, place
    return found


FORMS: Mapping[str, Callable[[Path, Path, TrainTable], Blocks]] = {
    "table": _table,
    "folders": _folders,
    "records": _records,
    "masks": _masks,
    "pixels": _pixels,
    "lines": _lines,
    "species": _species,
    "positions": _positions,
    "questions": _questions,
    "studies": _studies,
    "objects": _objects,
    "melted": _melted,
    "bson": _bson,
}
