"""Create the competition folder of a demo."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from comind.demos import problems
from comind.system.temporary_folders import staged_folder

_TEST_SHARE = 0.3
_HERE = Path(__file__).parent
_COMPILED = shutil.ignore_patterns("__pycache__")
_PATCH, _APART = 5, 10  # pixels: side and stride of patches
_SITES = ((0, 1), (1, 2))  # colour channel at each sensor site (Bayer pattern)


def make_demo(name: str, folder: Path) -> Path:
    """Return the competition folder of a built-in demo below `folder`; create it if missing.

    Raises:
        KeyError: there is no such demo.
    """
    target = folder / name
    if target.is_dir():
        return target
    if problem := problems().get(name):
        with staged_folder(target) as staged:
            shutil.copytree(problem, staged, ignore=_COMPILED, dirs_exist_ok=True)
        return target
    make = DEMOS[name]
    with staged_folder(target) as staged:
        for part in ("public", "private"):
            (staged / part).mkdir()
        make(staged)
        described = _HERE / "competitions" / name
        shutil.copyfile(described / "competition.yaml", staged / "competition.yaml")
        shutil.copyfile(described / "description.md", staged / "public" / "description.md")
        shutil.copytree(_HERE / "communities" / name, staged / "community")
    return target


def recordings() -> dict[str, Path]:
    """Return the files of recorded replies by demo."""
    return {each.parent.name: each for each in sorted(_HERE.glob("recordings/*/replies.yaml"))}


def _tumours(folder: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    table = data.frame.drop(columns="target").round(5)
    table.insert(0, "sample_id", range(1, len(table) + 1))
    table["benign"] = data.frame["target"]
    _write_tables(folder, table, ["sample_id"], ["benign"], constant=1)


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


def _digits(folder: Path) -> None:
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


def _mosaic(folder: Path) -> None:
    from sklearn.datasets import load_sample_images

    centres, rows = _PATCH // 2, []
    colours = np.array([[_SITES[y % 2][x % 2] for x in range(_PATCH)] for y in range(_PATCH)])
    across, down = np.meshgrid(np.arange(_PATCH), np.arange(_PATCH))
    for photo in load_sample_images().images:
        height, width, _ = photo.shape
        for top in range(0, height - _PATCH, _APART):
            for left in range(0, width - _PATCH, _APART):
                patch = photo[top : top + _PATCH, left : left + _PATCH]
                rows.append([*patch[down, across, colours].ravel(), patch[centres, centres, 1]])
    names = [f"{'rgb'[colours[y, x]]}{y}{x}" for y in range(_PATCH) for x in range(_PATCH)]
    table = pd.DataFrame(rows, columns=[*names, "green"])
    table.insert(0, "pixel_id", range(1, len(table) + 1))
    _write_tables(folder, table, ["pixel_id"], ["green"], constant=128)


def _write_tables(
    folder: Path, table: pd.DataFrame, ids: list[str], targets: list[str], *, constant: float
) -> None:
    """Split `table` into train and test by a hash of the row number, and write all four files."""
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


DEMOS: dict[str, Callable[[Path], None]] = {
    "demo-tumours": _tumours,
    "demo-diabetes": _diabetes,
    "demo-digits": _digits,
    "demo-mosaic": _mosaic,
}
"""Functions that write the tables of each demo."""
