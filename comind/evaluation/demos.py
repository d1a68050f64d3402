"""Small competitions made from scikit-learn's own data, so that everything can be tried offline."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import yaml

__all__ = ["DEMOS", "make_demo"]

_TEST_SHARE = 0.3


def make_demo(name: str, folder: Path) -> Path:
    """Return the competition folder of a built-in demo below `folder`; made where it is not there.

    Raises:
        KeyError: there is no such demo.
    """
    make = DEMOS[name]
    target = folder / name
    if target.is_dir():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
    try:
        for part in ("public", "private"):
            (staged / part).mkdir()
        make(staged)
        staged.chmod(0o755)
        staged.rename(target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return target


def _tumours(folder: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    table = data.frame.drop(columns="target").round(5)
    table.insert(0, "sample_id", range(1, len(table) + 1))
    table["benign"] = data.frame["target"]
    _write_tables(folder, table, ["sample_id"], ["benign"], constant=1)
    _describe(
        folder,
        {
            "id": "demo-tumours",
            "title": "Tumours: benign or malignant",
            "kind": "tabular-classification",
            "metric": "accuracy",
            "id_columns": ["sample_id"],
            "label_columns": ["benign"],
            "target_columns": ["benign"],
            "split": {"kind": "stratified", "column": "benign"},
            "licence": "Breast Cancer Wisconsin (Diagnostic), UCI, CC BY 4.0",
        },
        "Each row describes the cell nuclei of one tumour by thirty measurements: mean, standard error "
        "and worst value of radius, texture, perimeter, area, smoothness, compactness, concavity, "
        "concave points, symmetry and fractal dimension. Predict `benign`: 1 for a benign tumour, 0 "
        "for a malignant one. Submissions are scored by accuracy, the share of tumours told right.",
    )


def _write_tables(
    folder: Path, table: pd.DataFrame, ids: list[str], targets: list[str], *, constant: float | str
) -> None:
    """Part `table` into train and test by a hash of the row, and write all four files."""
    order = sorted(range(len(table)), key=lambda row: hashlib.sha256(str(row).encode()).digest())
    count = round(len(table) * _TEST_SHARE)
    test, train = table.iloc[sorted(order[:count])], table.iloc[sorted(order[count:])]
    public = folder / "public"
    train.to_csv(public / "train.csv", index=False)
    test.drop(columns=targets).to_csv(public / "test.csv", index=False)
    sample = test[ids].copy()
    sample[targets] = constant
    sample.to_csv(public / "sample_submission.csv", index=False)
    test[ids + targets].to_csv(folder / "private" / "answers.csv", index=False)


def _describe(folder: Path, values: dict[str, object], text: str) -> None:
    (folder / "competition.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    (folder / "public" / "description.md").write_text(f"# {values['title']}\n\n{text}\n")


DEMOS: dict[str, Callable[[Path], None]] = {"demo-tumours": _tumours}
"""What makes each demo, by its name."""
