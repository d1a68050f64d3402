"""Write the prepared folder of each of the 75 competitions from its list of files, with a few rows."""

import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from PIL import Image

from comind.domain.problem import AnswerKind
from comind.mlebench.catalog import BenchmarkCompetition, Mode, find_benchmark_competition

TRAIN, TEST = 12, 6
_FIXTURE = Path(__file__).parents[2] / "fixtures" / "mlebench_files.yaml"
_LISTS = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]
_CLASSES = {"author": ("EAP", "HPL", "MWS"), "breed": ("beagle", "pug"), "species": ("beagle", "pug")}
_BOXES = {
    "kuzushiji-recognition": "U+003F 1 1 5 5",
    "3d-object-detection-for-autonomous-vehicles": "1 2 3 4 5 6 0.5 car",
}


@cache
def file_lists() -> dict[str, dict[str, Any]]:
    """Return the lists of files by competition."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(_FIXTURE.read_text())
    return found


def write_prepared(root: Path, name: str) -> None:
    """Write `<root>/<name>/prepared` with its public and private files."""
    listed, entry = file_lists()[name], find_benchmark_competition(name)
    world = _World(entry, listed)
    for part in ("public", "private"):
        for path, content in (world.files(listed[part])).items():
            _write(root / name / "prepared" / part / path, content)


def write_unpacked(root: Path, name: str) -> None:
    """Write what is in archives that only a program of the system unpacks, beside them."""
    listed = file_lists()[name]
    files = _World(find_benchmark_competition(name), listed).files(listed.get("unpacked", {}))
    for path, content in files.items():
        _write(root / name / "prepared/public" / path, content)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


class _World:
    def __init__(self, entry: BenchmarkCompetition, listed: Mapping[str, Any]) -> None:
        self.entry, self.listed = entry, listed
        joined = [each for each in (entry.train.columns if entry.train else {}).values() if "|" in each]
        self.parts = joined[0].split("|") if joined else []
        if entry.id.startswith("rsna-2022"):
            self.parts = ["StudyInstanceUID", "prediction_type"]

    def id(self, part: str, number: int) -> str:
        """Return the id of a row."""
        form = self.listed.get("ids", "{}")
        letter = "b" if part in ("test", "few", "twice") else "a"
        if self.parts and not (self.entry.id.startswith("rsna-2022") and letter == "a"):
            return f"{letter}{number // 2}_C{number % 2 + 1}"
        if form == "number":
            return str(number + (101 if letter == "b" else 1))
        return str(
            form.format(f"{letter}{number}" if ":" not in form else number + 500 * (letter == "b"))
        )

    def cell(self, column: str, part: str, number: int) -> Any:  # noqa: C901, PLR0911 - a case a line
        """Return a cell of a table."""
        if column in self.parts:
            own = self.id(part, number).split("_")
            return own[self.parts.index(column)] if len(own) > 1 else own[0]
        known = {*self.entry.ids[:1], "id", "image_id"} if part != "other" else set()
        if self.entry.id.startswith("smartphone") and column == "tripId":
            return f"{self.id(part, number)}-phone"
        if column == "id" and part == "more":
            return f"i{number}_image"
        if column in known or (column == "contact_id" and part != "other"):
            return self.id(part, number)
        if column in _CLASSES and part == "train":
            return _CLASSES[column][number % len(_CLASSES[column])]
        if column == "requester_received_pizza" and part == "train":
            return bool(number % 2)
        if column == "labels" and self.entry.id.startswith("freesound"):
            return ("Bark", "Meow")[number % 2]
        if column.endswith("Appearance") or column.startswith("Negative for"):
            return int(
                (column, number % 2) in (("Negative for Pneumonia", 0), ("Typical Appearance", 1))
            )
        if self.entry.metric_in(Mode.KAGGLE).answer_kind is AnswerKind.MASK and column in (
            *self.listed["labels"],
            *("predicted", "Predicted"),
        ):
            return f"{number % 2 + 1} 2"
        if column in ("labels", "PredictionString") and self.entry.id in _BOXES:
            return _BOXES[self.entry.id]
        if column == "UnixTimeMillis" or (column, part) == ("label", "more"):
            return number if column == "UnixTimeMillis" else "none 1 0 0 1 1"
        texts = ("comment_text", "Comment", "Title", "Body", "text", "full_text", "Usage", "label")
        return f"{column} {number}" if column in texts and part != "train" else number % 2

    def table(self, spec: str, part: str, suffix: str) -> bytes:
        """Return a table of this form."""
        names = spec.split(",")
        numbers = {"few": range(0, TEST, 2), "one": range(1), "test": range(TEST)}.get(
            part, range(TRAIN)
        )
        if part == "twice":
            numbers = sorted([*range(TEST), *range(TEST)])
        rows = [[self.cell(name, part, number) for name in names] for number in numbers]
        table = pd.DataFrame(rows, columns=names)
        if suffix == ".parquet":
            return bytes(table.to_parquet(index=False))
        if suffix in (".json", ".jsonl"):
            records = table.to_dict("records")
            lines = "\n".join(map(json.dumps, records))
            return (json.dumps(records) if suffix == ".json" else lines).encode()
        return table.to_csv(index=False).encode()

    def files(self, listed: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the content of each file by path."""
        found: dict[str, bytes] = {}
        for pattern, spec in listed.items():
            for path in self.paths(pattern):
                if isinstance(spec, dict):
                    found[path] = _packed(path, self.files(spec))
                    continue
                part, _, rest = spec.partition(":")
                suffix = Path(path).suffix
                found[path] = self.table(rest, part, suffix) if part else self.other(rest, suffix)
        return found

    def paths(self, pattern: str) -> Iterator[str]:
        """Yield the paths of a pattern."""
        counts = {"{train}": ("train", TRAIN), "{test}": ("test", TEST), "{n}": ("", TRAIN)}
        found = next((mark for mark in counts if mark in pattern), None)
        if found is None:
            yield pattern
            return
        part, count = counts[found]
        for number in range(count):
            yield pattern.replace(found, self.id(part, number) if part else str(number))

    def other(self, spec: str, suffix: str) -> bytes:
        """Return the content of a file that is no table."""
        ids = [self.id("train", number) for number in range(TRAIN)]
        if spec in _CONTENTS:
            return _CONTENTS[spec](ids)
        if suffix == ".png":
            file = io.BytesIO()
            Image.new("L", (3, 2), 128).save(file, "png")
            return file.getvalue()
        return b"x"


def _packed(path: str, files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    if path.endswith(".zip"):
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        return packed.getvalue()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _array(_ids: list[str]) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([[0, 1], [0, 1]])[..., None])
    return file.getvalue()


def _bson(ids: list[str]) -> bytes:
    def document(number: int, name: str) -> bytes:
        image = b"\x05picture\0" + struct.pack("<i", 2) + b"\x00xy"
        body = b"\x10_id\0" + struct.pack("<i", int(name))
        body += b"\x04imgs\0" + struct.pack("<i", len(image) + 5) + image + b"\0"
        body += b"\x12category_id\0" + struct.pack("<q", number % 2) + b"\0"
        return struct.pack("<i", len(body) + 4) + body

    return b"".join(document(number, name) for number, name in enumerate(ids))


def _images(ids: list[str]) -> list[dict[str, str]]:
    return [{"id": name, "file_name": f"images/{name}.jpg"} for name in ids]


def _annotations(ids: list[str]) -> bytes:
    notes = [{"id": n, "image_id": name, "category_id": n % 2} for n, name in enumerate(ids)]
    return json.dumps({"annotations": notes, "images": _images(ids), "info": {}}).encode()


def _questions(ids: list[str]) -> bytes:
    notes = {"yes_no_answer": "NONE", "long_answer": {"start_token": 1, "end_token": 5}}
    notes["short_answers"] = [{"start_token": 2, "end_token": 3}]  # type: ignore[assignment]
    rows = ({"example_id": name, "question_text": "who", "annotations": [notes]} for name in ids)
    return "\n".join(map(json.dumps, rows)).encode()


def _sequences(ids: list[str]) -> bytes:
    rows = ({"id": name, "sequence": "GAC"} | {each: [0, 1] for each in _LISTS} for name in ids)
    return "\n".join(map(json.dumps, rows)).encode()


_CONTENTS: dict[str, Callable[[list[str]], bytes]] = {
    "array": _array,
    "bson": _bson,
    "annotations": _annotations,
    "images": lambda ids: json.dumps({"images": _images(ids), "info": {}}).encode(),
    "questions": _questions,
    "test questions": lambda _: _questions(["b0", "b1", "b2"]),
    "sequences": _sequences,
    "test sequences": lambda ids: json.dumps({"id": ids[0], "sequence": "GAC"}).encode(),
    "birds": lambda _: b"rec_id,[labels]\n0,1,2\n1\n2,?\n",
    "sentences": lambda ids: "".join(f"a sentence , {name} .\n" for name in ids).encode(),
}
