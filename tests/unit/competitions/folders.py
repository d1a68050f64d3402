"""A small competition folder, and functions that modify it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Break", "competition_folder", "describe", "in_turn", "raw", "text", "write"]

Break = Callable[[Path], object]
"""Damages a competition folder."""

DESCRIBED: dict[str, Any] = {
    "id": "small",
    "title": "A small competition",
    "metric": "accuracy",
    "id_columns": ["id"],
    "label_columns": ["label"],
    "target_columns": ["label"],
    "split": {"kind": "stratified", "column": "label"},
}


def competition_folder(root: Path, *, rows: int = 40, **changes: Any) -> Path:
    """Write a competition with `rows` labelled rows of two classes; None removes a key."""
    folder = root / "small"
    (folder / "public").mkdir(parents=True)
    (folder / "private").mkdir()
    values = {k: v for k, v in (DESCRIBED | changes).items() if v is not None}
    (folder / "competition.yaml").write_text(yaml.safe_dump(values))
    train = [f"{row},{row * 0.5},{'yes' if row % 4 == 0 else 'no'}" for row in range(rows)]
    write(folder, "train.csv", ["id,x,label", *train])
    test = [f"{row},{row * 0.5}" for row in range(rows, rows + 10)]
    write(folder, "test.csv", ["id,x", *test])
    ids = [line.split(",")[0] for line in test]
    write(folder, "sample_submission.csv", ["id,label", *[f"{i},no" for i in ids]])
    answers = ["id,label", *[f"{i},{'yes' if int(i) % 4 == 0 else 'no'}" for i in ids]]
    (folder / "private" / "answers.csv").write_text("\n".join(answers) + "\n")
    (folder / "public" / "description.md").write_text("# Small\n\nSay yes or no.\n")
    return folder


def write(folder: Path, name: str, lines: Sequence[str]) -> None:
    """Write one of the public files."""
    (folder / "public" / name).write_text("\n".join(lines) + "\n")


def describe(**changes: Any) -> Break:
    """Change values of competition.yaml; None removes a key."""

    def change(folder: Path) -> None:
        path = folder / "competition.yaml"
        values = yaml.safe_load(path.read_text()) | changes
        path.write_text(yaml.safe_dump({k: v for k, v in values.items() if v is not None}))

    return change


def raw(name: str, content: bytes | str) -> Break:
    """Write the bytes of any file of the folder."""
    data = content if isinstance(content, bytes) else content.encode()

    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)

    return change


def text(name: str, old: str, new: str) -> Break:
    """Replace text in a public file, once."""

    def change(folder: Path) -> None:
        path = folder / "public" / name
        before = path.read_text()
        assert old in before
        path.write_text(before.replace(old, new, 1))

    return change


def in_turn(*breaks: Break) -> Break:
    """Apply several changes in order."""
    return lambda folder: [change(folder) for change in breaks]
