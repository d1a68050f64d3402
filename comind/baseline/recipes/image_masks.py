"""Masks of images: boosting classifies pixels from their neighbourhood at several scales.

Images are scaled down; probabilities are scaled up again and cut where the Dice coefficient of held-out
training images is highest. Masks are run lengths (pairs of start and length, pixels from 1), counted by
columns or by rows, whichever makes the training masks more compact.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageFile
from scipy import ndimage
from sklearn.ensemble import HistGradientBoostingClassifier

from comind.baseline.recipes.files import files_by_folder, id_tables, listed_or_all_files
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.competitions.row_files import IMAGE_SUFFIXES, FileIndex, files_of_rows

TRAINING_IMAGES = 600  # maximum number of images to learn from
TRAINING_PIXELS = 400_000  # maximum number of pixels to learn from
ALL_PIXELS = 60_000_000  # pixels of all images together, once scaled down
SIDES = (32, 128)  # minimum and maximum of the longer side of a scaled image, in pixels
HELD_OUT = 0.25  # share of the training images on which the cut is chosen
THRESHOLDS = np.linspace(0.2, 0.7, 6)  # minimum probability of a pixel
SMALLEST = np.array([0, 0.002, 0.005, 0.01, 0.02, 0.04])  # minimum share of the image, else no mask
SAME = 0.97  # correlation of an image with its mask from which on it is a picture of the mask

Mask = NDArray[np.bool_]


class Example(NamedTuple):
    """An image with the run lengths of its mask, which are decoded when needed, to save memory."""

    path: Path
    cell: str
    by_columns: bool

    @property
    def mask(self) -> Mask:
        """The mask, of the size of the image."""
        return decode(self.cell, self.path, self.by_columns)


class Cut(NamedTuple):
    """The smallest probability of a pixel, and the smallest mask as a share of the image."""

    threshold: float
    smallest: float


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of masks for validation and for test; rows without an image get an empty mask.

    Where ids are `<image>_<class>`, or one of several id columns is a class, each class has a model.
    """
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # what is there of such an image is used
    files, folder, ids = (
        listed_or_all_files(task, tables, IMAGE_SUFFIXES),
        Path(task.folder),
        id_tables(task, tables),
    )
    found = [pd.DataFrame("", index=rows.index, columns=task.target_columns) for rows in tables[1:]]
    side = int(np.clip(np.sqrt(ALL_PIXELS / sum(map(len, tables))), *SIDES))
    for target in task.target_columns:
        cells = tables.train[target].fillna("").astype(str)
        inputs = without_masks(folder, files, ids[0].assign(cell=cells))
        train, *parts = images_of(ids, folder, FileIndex(inputs or files))
        train = train.assign(cell=cells).dropna()
        by_columns = runs_by_columns(train)
        for kind, rows in train.groupby("kind"):
            drawn = rows.sample(min(len(rows), TRAINING_IMAGES), random_state=task.seed)
            pairs = zip(drawn["path"], drawn["cell"], strict=True)
            examples = [Example(path, cell, by_columns) for path, cell in pairs]
            held = round(HELD_OUT * len(examples))
            if not any(each.cell.strip() for each in examples[held:]):
                continue
            cut = best_cut(fit(examples[held:], side, task.seed), examples[:held], side)
            model = fit(examples, side, task.seed)
            for part, table in zip(parts, found, strict=True):
                asked = part.loc[part["kind"] == kind, "path"].dropna()
                masks = (cut_mask(probabilities(model, path, side), cut) for path in asked)
                apart = task.instances
                table.loc[asked.index, target] = [encode(mask, by_columns, apart) for mask in masks]
    return [table.reset_index(drop=True) for table in found]


def images_of(ids: list[pd.DataFrame], folder: Path, files: FileIndex) -> list[pd.DataFrame]:
    """Return the `path` of each row's image (or None), and the `kind` of mask that the ids name.

    `ids` are those of train, validation and test.
    """
    best = [pd.DataFrame({"path": None, "kind": ""}, index=part.index) for part in ids]
    most = 0
    for name in ids[0]:
        wholes = [part[name] for part in ids]
        others = [
            part.drop(columns=name).agg("_".join, axis=1) if part.shape[1] > 1 else "" for part in ids
        ]
        split = [cells.str.rsplit("_", n=1) for cells in wholes]
        ends = [cells.str[-1] + other for cells, other in zip(split, others, strict=True)]
        for images, kinds in ((wholes, others), ([cells.str[0] for cells in split], ends)):
            named = files_of_rows(files, {*images[0], *images[1]}, {*images[2]})
            files_of = (named.train, named.train, named.test)
            paths = [cells.map(of.get) for cells, of in zip(images, files_of, strict=True)]
            count = sum(int(part.notna().sum()) for part in paths)
            if count > most:
                most = count
                best = [
                    pd.DataFrame({"path": part.map(folder.joinpath, na_action="ignore"), "kind": kind})
                    for part, kind in zip(paths, kinds, strict=True)
                ]
    return best


def without_masks(folder: Path, files: list[str], train: pd.DataFrame) -> list[str]:
    """Return the files of those folders whose images are not pictures of the masks in `cell`."""
    ids, inputs = train.drop(columns="cell"), []
    for own in files_by_folder(files):
        shown = (
            images_of([ids, ids[:0], ids[:0]], folder, FileIndex(own))[0]
            .assign(cell=train["cell"])
            .dropna()
        )
        if not shows_masks(shown[shown["cell"] != ""].head(5)):
            inputs += own
    return inputs


def shows_masks(rows: pd.DataFrame) -> bool:
    """Return whether an image of these rows is a picture of its mask."""
    for path, cell in rows[["path", "cell"]].itertuples(index=False):
        with Image.open(path) as image:
            grey = np.asarray(image.convert("L"), dtype=float)
        for by_columns in (True, False):
            mask = decode(cell, path, by_columns)
            if grey.std() and mask.std() and np.corrcoef(grey.ravel(), mask.ravel())[0, 1] > SAME:
                return True
    return False


def runs_by_columns(train: pd.DataFrame) -> bool:
    """Return whether runs go down columns rather than along rows: masks have fewer edges then."""
    masks = train[train["cell"] != ""].head(30)
    edges = {}
    for by_columns in (True, False):
        decoded = [decode(cell, path, by_columns) for path, cell in masks[["path", "cell"]].to_numpy()]
        edges[by_columns] = sum(np.diff(mask, axis=axis).sum() for mask in decoded for axis in (0, 1))
    return bool(edges[True] <= edges[False])


def decode(cell: str, path: Path, by_columns: bool) -> Mask:
    """Return the mask of run lengths, of the size of an image; several masks are united."""
    with Image.open(path) as image:
        width, height = image.size
    flat = np.zeros(width * height, dtype=bool)
    for runs in cell.split(";"):
        numbers = [int(float(number)) for number in runs.split()]
        for start, length in zip(numbers[::2], numbers[1::2], strict=False):
            flat[start - 1 : start - 1 + length] = True
    return flat.reshape(width, height).T if by_columns else flat.reshape(height, width)


def encode(mask: Mask, by_columns: bool, apart: bool) -> str:
    """Return the run lengths of a mask; with `apart`, of each connected area, separated by `;`."""
    areas, count = ndimage.label(mask) if apart else (mask, int(mask.any()))
    cells = []
    for area in range(1, count + 1):
        pixels = (areas.T if by_columns else areas).ravel() == area
        edges = np.flatnonzero(np.diff(np.concatenate([[False], pixels, [False]])))
        runs = np.column_stack([edges[::2] + 1, edges[1::2] - edges[::2]])
        cells.append(" ".join(map(str, runs.ravel())))
    return ";".join(cells)


def fit(examples: list[Example], side: int, seed: int) -> HistGradientBoostingClassifier:
    """Fit a classifier on random pixels of the scaled images."""
    draw = np.random.default_rng(seed)
    features, labels = [], []
    for example in examples:
        layers, mask = pixel_layers(example.path, side), example.mask
        scaled = Image.fromarray(mask.astype(np.float32))
        share = np.asarray(scaled.resize(layers.shape[1::-1], Image.Resampling.BOX)).ravel()
        inside = share >= max(0.5 * share.max(), 1e-6)
        drawn = draw.permutation(len(inside))[: TRAINING_PIXELS // len(examples)]
        chosen = np.union1d(drawn, np.flatnonzero(inside)[:1])
        features.append(layers.reshape(len(inside), -1)[chosen])
        labels.append(inside[chosen])
    model = HistGradientBoostingClassifier(max_iter=150, random_state=seed)
    return model.fit(np.concatenate(features), np.concatenate(labels))


def pixel_layers(path: Path, side: int) -> NDArray[np.float32]:
    """Return the features of each pixel of a scaled image: colours, local statistics, the position."""
    with Image.open(path) as image:
        deep = image.mode[0] in "IF"  # 16 or 32 bits a pixel
        values = np.asarray(image, dtype=np.float32) if deep else np.zeros(0)
        shown = Image.fromarray(values / max(values.max(), 1e-6) * 255) if deep else image
        colours = shown.convert("RGB")
    colours.thumbnail((side, side))
    pixels = np.asarray(colours, dtype=np.float32) / 255
    grey = pixels.mean(axis=2)
    layers = [grey, *(ndimage.gaussian_filter(grey, sigma) for sigma in (1, 2, 4, 8, 16))]
    for hue in (pixels[..., 0] - grey, pixels[..., 2] - grey):
        layers += [hue, ndimage.gaussian_filter(hue, 2), ndimage.gaussian_filter(hue, 8)]
    edges = (ndimage.gaussian_gradient_magnitude, ndimage.gaussian_laplace)
    layers += [edge(grey, sigma) for sigma in (1, 2, 4) for edge in edges]
    for size in (5, 15):
        mean = ndimage.uniform_filter(grey, size)
        layers += [ndimage.uniform_filter(grey**2, size) - mean**2]
        layers += [ndimage.minimum_filter(grey, size), ndimage.maximum_filter(grey, size)]
    layers += [*np.meshgrid(*(np.linspace(0, 1, count) for count in grey.shape), indexing="ij")]
    return np.stack(layers, axis=2).astype(np.float32)


def probabilities(model: HistGradientBoostingClassifier, path: Path, side: int) -> NDArray[Any]:
    """Return the probability of each pixel of an image."""
    layers = pixel_layers(path, side)
    inside = model.predict_proba(layers.reshape(-1, layers.shape[2]))[:, 1].reshape(layers.shape[:2])
    with Image.open(path) as image:
        size = image.size
    return np.asarray(Image.fromarray(inside.astype(np.float32)).resize(size, Image.Resampling.BILINEAR))


def best_cut(model: HistGradientBoostingClassifier, held_out: list[Example], side: int) -> Cut:
    """Return the cut with the highest mean Dice coefficient; two empty masks count as 1."""
    scores = np.zeros((len(THRESHOLDS), len(SMALLEST)))
    for example in held_out:
        inside, mask = probabilities(model, example.path, side), example.mask
        for row, threshold in enumerate(THRESHOLDS):
            found = inside >= threshold
            both = found.sum() + mask.sum()
            dice = 2 * (found & mask).sum() / both if both else 1.0
            scores[row] += np.where(found.mean() >= SMALLEST, dice, float(not mask.any()))
    threshold, smallest = np.unravel_index(scores.argmax(), scores.shape)
    return Cut(float(THRESHOLDS[threshold]), float(SMALLEST[smallest]))


def cut_mask(inside: NDArray[Any], cut: Cut) -> Mask:
    """Return the pixels above the threshold; none if they are too few."""
    mask: Mask = inside >= cut.threshold
    return mask if mask.mean() >= cut.smallest else np.zeros_like(mask)
