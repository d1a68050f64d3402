"""A competition without demo data: predict y, which is x with noise."""

from pathlib import Path
from random import Random

import yaml

_ROWS = 400


def sums_competition(root: Path) -> Path:
    """Write the competition below `root`; return its folder."""
    folder, draw = root / "sums", Random(0)
    (folder / "public").mkdir(parents=True)
    (folder / "private").mkdir()
    rows = [(number, draw.gauss(0, 1), draw.gauss(0, 0.1)) for number in range(2 * _ROWS)]
    train = [f"{number},{x},{x + error}" for number, x, error in rows[:_ROWS]]
    test = [f"{number},{x}" for number, x, _ in rows[_ROWS:]]
    answers = [f"{number},{x + error}" for number, x, error in rows[_ROWS:]]
    for name, header, lines in (
        ("public/train.csv", "id,x,y", train),
        ("public/test.csv", "id,x", test),
        ("public/sample_submission.csv", "id,y", [f"{number},0" for number, *_ in rows[_ROWS:]]),
        ("private/answers.csv", "id,y", answers),
    ):
        (folder / name).write_text("\n".join([header, *lines]) + "\n")
    (folder / "public" / "description.md").write_text("# Sums\n\nPredict y.\n")
    described = {
        "id": "sums",
        "title": "Sums",
        "metric": "rmse",
        "id_columns": ["id"],
        "label_columns": ["y"],
        "target_columns": ["y"],
        "split": {"kind": "random"},
    }
    (folder / "competition.yaml").write_text(yaml.safe_dump(described))
    return folder
