"""A small competition folder to break."""

from pathlib import Path
from typing import Any

import yaml

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
    """Write a competition with `rows` labelled rows of two classes; None takes a key away."""
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


def write(folder: Path, name: str, lines: list[str]) -> None:
    """Write one of the public files."""
    (folder / "public" / name).write_text("\n".join(lines) + "\n")
