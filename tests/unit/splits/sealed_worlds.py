"""Small competitions, and the ways in which their labels can be planted among the public files."""

import gzip
import io
import json
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from comind.competitions.competition_folder import load_competition
from comind.splits.label_search import LabelSearch
from comind.splits.leakage import side_files
from comind.splits.side_labels import find_labels, remove_labels
from comind.splits.split_files import make_split
from comind.splits.split_folder import SplitFolder
from tests.unit.workbooks import workbook

__all__ = ["PLANTS", "build", "seal", "shown_texts", "split", "table_of"]

ROWS = 60


def table_of(kind: str, seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    """Return labelled rows with labels of a kind: markers, numbers, classes, yes."""
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(900_000)[:rows] + 100_000
    labels: dict[str, list[object]] = {
        "markers": [f"marker {number}" for number in numbers],
        "numbers": [f"0.{number}" for number in numbers],
        "classes": rng.choice(["cat", "dog", "New York"], rows).tolist(),
        "yes": rng.integers(0, 2, rows).tolist(),
    }
    return pd.DataFrame(
        {
            "id": np.arange(1, rows + 1),
            "a": rng.normal(size=rows).round(3),
            "b": rng.integers(0, 30, rows),
            "target": labels[kind],
        }
    ).astype(str)


def build(root: Path, train: pd.DataFrame, *, first: int) -> Path:
    """Write a competition whose test ids begin with `first`; return its public folder."""
    public = root / "sealed" / "public"
    public.mkdir(parents=True)
    test = table_of("yes", seed=99, rows=30).drop(columns="target")
    test["id"] = [str(first + row) for row in range(30)]
    train.to_csv(public / "train.csv", index=False)
    test.to_csv(public / "test.csv", index=False)
    test[["id"]].assign(target=train["target"][0]).to_csv(public / "sample_submission.csv", index=False)
    (public / "description.md").write_text("# Sealed\n")
    described = {
        "metric": "exact-match",
        "id_columns": ["id"],
        "label_columns": ["target"],
        "target_columns": ["target"],
        "split": {"kind": "random"},
    }
    (public.parent / "competition.yaml").write_text(yaml.safe_dump(described))
    return public


def split(public: Path) -> tuple[SplitFolder, set[str]]:
    """Split a competition; return its folder and the ids of the rows that are held out."""
    folder = make_split(load_competition(public.parent), public.parent.parent / "splits", seed=0)
    return folder, set(pd.read_csv(folder.public / "validation.csv", dtype=str)["id"])


def seal(public: Path, train: pd.DataFrame) -> tuple[list[str], set[str]]:
    """Remove the labels of every fourth row from the side files; return the lines and these ids."""
    test = pd.read_csv(public / "test.csv", dtype=str)
    gone = np.arange(len(train)) % 4 == 0
    search = LabelSearch(train, test, ids=["id"], labels=["target"], gone=gone)
    found, lines = find_labels(search, public, side_files(public))
    lines += [remove_labels(public, each, search) for each in found]
    return lines, set(train["id"][gone])


Plant = Callable[[Path, pd.DataFrame], object]


def _text(name: str, mark: str) -> Plant:
    return lambda public, rows: rows.to_csv(public / name, sep=mark, index=False)


def _columns(*names: str) -> Plant:
    """Return a plant of a CSV file with some columns in another order of rows and other names."""

    def plant(public: Path, rows: pd.DataFrame) -> None:
        some = rows[list(names)].sample(frac=1, random_state=1)
        some.set_axis([f"f{place}" for place in range(len(names))], axis="columns").to_csv(
            public / "more.csv", index=False
        )

    return plant


def _records(public: Path, rows: pd.DataFrame) -> None:
    values = json.loads(rows.to_json(orient="records"))
    (public / "backup.json").write_text(json.dumps(values))


def _nested(public: Path, rows: pd.DataFrame) -> None:
    items = [
        {"image": {"number": int(i)}, "notes": [{"what": t}]}
        for i, t in rows[["id", "target"]].to_numpy()
    ]
    (public / "nested.json").write_text(json.dumps({"info": {"year": 2020}, "items": items}))


def _by_id(public: Path, rows: pd.DataFrame) -> None:
    (public / "by_id.json").write_text(json.dumps(dict(rows[["id", "target"]].to_numpy())))


def _by_label(public: Path, rows: pd.DataFrame) -> None:
    (public / "by_label.json").write_text(json.dumps(rows.groupby("target")["id"].agg(list).to_dict()))


def _by_column(public: Path, rows: pd.DataFrame) -> None:
    rows.to_json(public / "by_column.json")


def _lines(public: Path, rows: pd.DataFrame) -> None:
    rows.to_json(public / "rows.jsonl", orient="records", lines=True)


def _joined(mark: str) -> Plant:
    def plant(public: Path, rows: pd.DataFrame) -> None:
        (public / "notes.txt").write_text("\n".join(rows["id"] + mark + rows["target"]) + "\n")

    return plant


def _lists(public: Path, rows: pd.DataFrame) -> None:
    (public / "lists").mkdir()
    for label, some in rows.groupby("target"):
        (public / "lists" / f"{label}.txt").write_text("\n".join(some["id"]) + "\n")


def _one_hot(public: Path, rows: pd.DataFrame) -> None:
    hot = pd.get_dummies(rows["target"]).astype(int)
    pd.concat([rows[["id"]], hot], axis="columns").to_csv(public / "hot.csv", index=False)


def _coded(public: Path, rows: pd.DataFrame) -> None:
    codes = pd.factorize(rows["target"])[0] + 7
    pd.DataFrame({"row": rows["id"], "code": codes}).to_csv(public / "coded.csv", index=False)


def _parquet(public: Path, rows: pd.DataFrame) -> None:
    rows.astype({"id": int, "a": float}).to_parquet(public / "rows.parquet")


def _feather(public: Path, rows: pd.DataFrame) -> None:
    rows.to_feather(public / "rows.feather")


def _array(public: Path, rows: pd.DataFrame) -> None:
    np.save(public / "y.npy", rows["target"].to_numpy(str))


def _arrays(public: Path, rows: pd.DataFrame) -> None:
    some = rows.sample(frac=1, random_state=2)
    np.savez(public / "all.npz", ids=some["id"].to_numpy(int), y=some["target"].to_numpy(str))


def _database(public: Path, rows: pd.DataFrame) -> None:
    with sqlite3.connect(public / "all.sqlite") as opened:
        rows.to_sql("everything", opened, index=False)
    opened.close()


def _zip(public: Path, rows: pd.DataFrame) -> None:
    with zipfile.ZipFile(public / "old.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep/rows.tsv", rows.to_csv(sep="\t", index=False))


def _tar(public: Path, rows: pd.DataFrame) -> None:
    data = rows.to_csv(index=False).encode()
    with tarfile.open(public / "old.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("rows")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))


def _gzip(public: Path, rows: pd.DataFrame) -> None:
    (public / "rows.dat.gz").write_bytes(gzip.compress(rows.to_csv(index=False).encode()))


def _workbook(public: Path, rows: pd.DataFrame) -> None:
    (public / "rows.xlsx").write_bytes(workbook({"Sheet1": rows.to_numpy().tolist()}))


def _documents(public: Path, rows: pd.DataFrame) -> None:
    (public / "facts").mkdir()
    for number, (name, label) in enumerate(rows[["id", "target"]].to_numpy()):
        value = {"row": int(name), "kind": label}
        (public / "facts" / f"x{number}q.json").write_text(json.dumps(value))


def _xml(public: Path, rows: pd.DataFrame) -> None:
    pairs = rows[["id", "target"]].to_numpy()
    records = [f'<row id="{name}"><kind>{label}</kind></row>' for name, label in pairs]
    (public / "rows.xml").write_text(f"<rows>{''.join(records)}</rows>")


def _utf16(public: Path, rows: pd.DataFrame) -> None:
    (public / "wide.txt").write_bytes(rows.to_csv(sep=";", index=False).encode("utf-16"))


PLANTS: dict[str, Plant] = {
    "tabs": _text("all_data.txt", "\t"),
    "semicolons": _text("all_data.data", ";"),
    "utf-16": _utf16,
    "a copy": _text("copy.csv", ","),
    "other names": _columns("id", "target"),
    "equal features": _columns("b", "a", "target"),
    "one feature": _columns("target", "a"),
    "the labels alone": lambda public, rows: rows[["target"]].to_csv(public / "y.csv", index=False),
    "records": _records,
    "nested records": _nested,
    "by id": _by_id,
    "by label": _by_label,
    "by column": _by_column,
    "lines": _lines,
    "joined by _": _joined("_"),
    "joined by :": _joined(": "),
    "joined by -": _joined("-"),
    "lists": _lists,
    "one-hot": _one_hot,
    "codes": _coded,
    "parquet": _parquet,
    "feather": _feather,
    "an array": _array,
    "arrays": _arrays,
    "a database": _database,
    "zip": _zip,
    "tar": _tar,
    "gzip": _gzip,
    "a workbook": _workbook,
    "documents": _documents,
    "XML": _xml,
}
"""Write the labels of the given rows among the public files, by what they look like."""


def shown_texts(public: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and all text of each public file, unpacked."""
    for path in sorted(public.rglob("*")):
        if path.is_file():
            yield path.relative_to(public).as_posix(), _text_of(path.name, path.read_bytes())


def _text_of(name: str, data: bytes) -> str:
    if name.endswith(".parquet"):
        return pd.read_parquet(io.BytesIO(data)).to_csv()
    if name.endswith(".feather"):
        return pd.read_feather(io.BytesIO(data)).to_csv()
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "\n".join(_text_of(each, archive.read(each)) for each in archive.namelist())
    if data.startswith(b"\x93NUMPY"):
        return "\n".join(np.load(io.BytesIO(data)).astype(str).ravel())
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    if data.startswith(b"\xff\xfe"):
        return data.decode("utf-16")
    return data.decode("latin-1")
