"""Pixels of images from images: boosting predicts a pixel from its neighbourhood at several scales.

Rows are single pixels, such as those of a scanned page without its stains. Input images are among the
side files; folders that contain the targets are detected by their values and ignored.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageFile
from scipy import ndimage
from sklearn.ensemble import HistGradientBoostingRegressor

from comind.baseline.recipes.files import files_by_folder, listed_or_all_files
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.competitions.row_files import IMAGE_SUFFIXES, FileIndex, files_of_rows

PIXELS = 400_000  # maximum number of training rows


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of target columns for validation and for test."""
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # what is there of such an image is used
    train, *parts = tables
    targets = task.target_columns
    drawn = train.sample(min(PIXELS, len(train)), random_state=task.seed)
    sample = pixel_positions(drawn, task.train_id_columns)
    first = int(min(sample["row"].min(), sample["column"].min()))  # index of the first pixel: 0 or 1
    asked = [pixel_positions(rows, task.id_columns) for rows in parts]
    labelled, folder = sample.assign(target=train[targets[0]]), Path(task.folder)
    inputs = [
        file
        for files in files_by_folder(listed_or_all_files(task, tables, IMAGE_SUFFIXES))
        if not holds_targets(folder, files, labelled, first)
        for file in files
    ]
    named = files_of_rows(
        FileIndex(inputs), {*sample["image"], *asked[0]["image"]}, {*asked[1]["image"]}
    )
    pages = [{name: folder / file for name, file in part.items()} for part in named[:2]]
    seen = [(features(image, rows, first), rows.index) for image, rows in read_images(pages[0], sample)]
    x = np.vstack([part for part, _ in seen])
    y = train.loc[np.concatenate([index for _, index in seen])]
    answers = [pd.DataFrame(index=rows.index, columns=targets, dtype=float) for rows in parts]
    for target in targets:
        low, high = y[target].min(), y[target].max()
        model = HistGradientBoostingRegressor(max_iter=150, max_leaf_nodes=63, random_state=task.seed)
        model.fit(x, y[target])
        for answer, part, images in zip(answers, asked, pages, strict=True):
            for image, rows in read_images(images, part):
                found = model.predict(features(image, rows, first)).clip(low, high)
                answer.loc[rows.index, target] = found
    return answers


def pixel_positions(rows: pd.DataFrame, ids: list[str]) -> pd.DataFrame:
    """Return image, row and column of each pixel, from three id columns or `<image>_<row>_<column>`."""
    parts = rows[ids].astype(str) if len(ids) > 1 else rows[ids[0]].str.rsplit("_", n=2, expand=True)
    return parts.set_axis(["image", "row", "column"], axis=1).astype({"row": int, "column": int})


def grey(path: Path) -> Image.Image:
    """Return an image as greyscale."""
    with Image.open(path) as image:
        return image.convert("L")


def read_images(
    files: dict[str, Path], part: pd.DataFrame
) -> Iterator[tuple[NDArray[Any], pd.DataFrame]]:
    """Yield each image of a part with values from 0 to 1, and the rows that request its pixels."""
    for name, rows in part.groupby("image"):
        yield np.asarray(grey(files[str(name)]), dtype=np.float32) / 255, rows


def features(image: NDArray[Any], rows: pd.DataFrame, first: int) -> NDArray[Any]:
    """Return features of pixels: their neighbours, and local statistics at several scales."""
    padded = np.pad(image, 3, mode="reflect")
    around = [padded[3 + down :, 3 + right :] for down in range(-3, 4) for right in range(-3, 4)]
    layers = [layer[: image.shape[0], : image.shape[1]] for layer in around]
    for size in (5, 15, 45):
        mean = ndimage.uniform_filter(image, size)
        layers += [mean, ndimage.uniform_filter(image**2, size) - mean**2]
        layers += [ndimage.minimum_filter(image, size), ndimage.maximum_filter(image, size)]
    paper = ndimage.median_filter(image[::4, ::4], 15).repeat(4, axis=0).repeat(4, axis=1)
    layers += [ndimage.median_filter(image, 3), paper]
    return np.column_stack([layer[rows["row"] - first, rows["column"] - first] for layer in layers])


def holds_targets(folder: Path, files: list[str], labelled: pd.DataFrame, first: int) -> bool:
    """Return whether the files of one folder are the target images instead of the input images."""
    named = files_of_rows(FileIndex(files), {*labelled["image"]}, ()).train
    name, rows = next(iter(labelled.groupby("image")))
    if str(name) not in named:
        return False
    shown = np.asarray(grey(folder / named[str(name)]))[rows["row"] - first, rows["column"] - first]
    return bool(np.corrcoef(shown, rows["target"])[0, 1] > 0.9999)
