"""Make the competition folder of a demo."""

import hashlib
import shutil
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pandas as pd
import yaml

from comind.system.files import staged_folder

__all__ = ["DEMOS", "make_demo"]

_TEST_SHARE = 0.3
_COMMUNITIES = "communities"


def make_demo(name: str, folder: Path) -> Path:
    """Return the competition folder of a built-in demo below `folder`; made where it is not there.

    Raises:
        KeyError: there is no such demo.
    """
    make = DEMOS[name]
    target = folder / name
    if target.is_dir():
        return target
    with staged_folder(target) as staged:
        for part in ("public", "private"):
            (staged / part).mkdir()
        make(staged)
        with resources.as_file(resources.files(__package__) / _COMMUNITIES / name) as community:
            shutil.copytree(community, staged / "community")
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


def _diabetes(folder: Path) -> None:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(as_frame=True, scaled=False)
    names = {
        "bp": "blood_pressure",
        "s1": "cholesterol",
        "s2": "ldl",
        "s3": "hdl",
        "s4": "cholesterol_ratio",
        "s5": "log_triglycerides",
        "s6": "glucose",
        "target": "progression",
    }
    table = data.frame.rename(columns=names).round(4)
    table.insert(0, "patient_id", range(1, len(table) + 1))
    _write_tables(folder, table, ["patient_id"], ["progression"], constant=150.0)
    _describe(
        folder,
        {
            "id": "demo-diabetes",
            "title": "Diabetes: how far in a year",
            "kind": "tabular-regression",
            "metric": "rmse",
            "id_columns": ["patient_id"],
            "label_columns": ["progression"],
            "target_columns": ["progression"],
            "licence": "Data of Efron et al., Least Angle Regression (2004), as in scikit-learn",
        },
        "Each row is a patient at the beginning of a year: age, sex, body mass index, average blood "
        "pressure and six measurements of the blood serum. Predict `progression`, a measure of how far "
        "the disease has come by the end of that year (25 to 346). Submissions are scored by the root "
        "of the mean squared error.",
    )


def _digits(folder: Path) -> None:
    import numpy as np
    from PIL import Image
    from sklearn.datasets import load_digits

    data = load_digits()
    table = pd.DataFrame({"image_id": [f"d{row:04d}" for row in range(len(data.images))]})
    table["file"] = "images/" + table["image_id"] + ".png"
    table["digit"] = data.target
    (folder / "public" / "images").mkdir()
    for name, grey in zip(table["file"], data.images, strict=True):
        Image.fromarray((grey * 255 / 16).astype(np.uint8)).save(folder / "public" / name)
    _write_tables(folder, table, ["image_id"], ["digit"], constant=0)
    _describe(
        folder,
        {
            "id": "demo-digits",
            "title": "Digits: read one from a small picture",
            "kind": "image-classification",
            "metric": "accuracy",
            "id_columns": ["image_id"],
            "label_columns": ["digit"],
            "target_columns": ["digit"],
            "split": {"kind": "stratified", "column": "digit"},
            "licence": "Optical Recognition of Handwritten Digits, UCI, CC BY 4.0",
        },
        "Each row names a grey picture of 8 x 8 pixels with one handwritten digit in it. Predict "
        "`digit`, 0 to 9. Submissions are scored by accuracy, the share of digits read right.",
    )


def _write_tables(
    folder: Path, table: pd.DataFrame, ids: list[str], targets: list[str], *, constant: float
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


DEMOS: dict[str, Callable[[Path], None]] = {
    "demo-tumours": _tumours,
    "demo-diabetes": _diabetes,
    "demo-digits": _digits,
}
"""What makes each demo, by its name."""
