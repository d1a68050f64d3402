# Pixels of images from images: boosting sees what lies around a pixel, near and far, and predicts it.
from pathlib import Path

from PIL import Image
from scipy import ndimage
from sklearn.ensemble import HistGradientBoostingRegressor

PIXELS = 400_000  # to learn from at most
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff")
folders = {}
for path in sorted(Path(FOLDER).rglob("*")):
    if path.suffix.lower() in ENDINGS:
        folders.setdefault(path.parent, {}).update({path.stem: path, path.name: path})


def places(rows, ids):
    """Return image, row and column of each pixel: three id columns, or one of <image>_<row>_<column>."""
    parts = rows[ids].astype(str) if len(ids) > 1 else rows[ids[0]].str.rsplit("_", n=2, expand=True)
    return parts.set_axis(["image", "row", "column"], axis=1).astype({"row": int, "column": int})


def opened(part):
    """Yield each image of a part as numbers from 0 to 1, with the rows that ask for its pixels."""
    names = set(part["image"])
    files = max(folders.values(), key=lambda found: len(names & found.keys()))
    for name, rows in part.groupby("image"):
        with Image.open(files[name]) as image:
            yield np.asarray(image.convert("L"), dtype=np.float32) / 255, rows


def features(image, rows):
    """Return, for some pixels, those around them, and what is usual around them at several scales."""
    padded = np.pad(image, 3, mode="reflect")
    around = [padded[3 + down :, 3 + right :] for down in range(-3, 4) for right in range(-3, 4)]
    layers = [layer[: image.shape[0], : image.shape[1]] for layer in around]
    for size in (5, 15, 45):
        mean = ndimage.uniform_filter(image, size)
        spread = ndimage.uniform_filter(image**2, size) - mean**2
        layers += [
            mean,
            spread,
            ndimage.minimum_filter(image, size),
            ndimage.maximum_filter(image, size),
        ]
    paper = ndimage.median_filter(image[::4, ::4], 15).repeat(4, axis=0).repeat(4, axis=1)
    layers += [ndimage.median_filter(image, 3), paper]
    return np.column_stack([layer[rows["row"] - first, rows["column"] - first] for layer in layers])


def is_answer(found):
    """Tell whether a folder holds the images that are asked for, not those to start from."""
    name, rows = next(iter(sample.groupby("image")))
    if name not in found:
        return False
    with Image.open(found[name]) as image:
        shown = np.asarray(image.convert("L"))[rows["row"] - first, rows["column"] - first]
    return np.corrcoef(shown, train.loc[rows.index, TARGETS[0]])[0, 1] > 0.9999


sample = places(train.sample(min(PIXELS, len(train)), random_state=SEED), TRAIN_IDS)
first = min(sample["row"].min(), sample["column"].min())  # pixels are counted from 0 or from 1
folders = {folder: found for folder, found in folders.items() if not is_answer(found)}
seen = [(features(image, rows), rows.index) for image, rows in opened(sample)]
x, y = np.vstack([part for part, _ in seen]), train.loc[np.concatenate([index for _, index in seen])]
tables = [pd.DataFrame(index=rows.index, columns=TARGETS, dtype=float) for rows in (validation, test)]
for target in TARGETS:
    low, high = y[target].min(), y[target].max()
    model = HistGradientBoostingRegressor(max_iter=150, max_leaf_nodes=63, random_state=SEED)
    model.fit(x, y[target])
    for table, rows in zip(tables, (validation, test)):
        for image, asked in opened(places(rows, IDS)):
            table.loc[asked.index, target] = model.predict(features(image, asked)).clip(low, high)
hand_in(tables)
