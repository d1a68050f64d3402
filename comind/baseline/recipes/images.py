"""Images: a small convolutional network on downscaled images, with fewer epochs for more images.

It is trained from scratch, as sandboxes cannot download weights, and is small enough for a CPU.
"""

from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFile
from sklearn.decomposition import PCA
from torch import nn

from comind.baseline.recipes.answers import Models, answers
from comind.baseline.recipes.family import Family, Fold, Model, wrap_sklearn
from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.competitions.row_files import IMAGE_SUFFIXES

SIDE = 32


def predict(task: Task, tables: Tables) -> list[pd.DataFrame]:
    """Return a table of target columns for validation and for test."""
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # what is there of such an image is used
    torch.manual_seed(task.seed)
    torch.set_num_threads(1)  # images are too small to gain from more
    draw = np.random.RandomState(task.seed)
    rounds = int(np.clip(50_000 / len(tables.train), 2, 40))
    x, *parts = (pixels(paths) for paths in side_files(task, tables, IMAGE_SUFFIXES))
    models = Models(*(partial(Net, output, rounds, draw) for output in ("classes", "numbers", "sets")))
    return answers(task, tables.train, models, x, parts)


def pixels(paths: list[Path | None]) -> Any:
    """Return images as a tensor, shape (rows, 3, SIDE, SIDE); a row without a file is black."""
    pictures = np.zeros((len(paths), 3, SIDE, SIDE), dtype=np.float32)
    for row, path in enumerate(paths):
        if (small := shrunk(path, SIDE)) is not None:
            pictures[row] = small.transpose(2, 0, 1) / 127.5 - 1
    return torch.from_numpy(pictures).contiguous(memory_format=torch.channels_last)


def shrunk(path: Path | None, side: int) -> NDArray[Any] | None:
    """Return an image as numbers from 0 to 255, shape (side, side, 3); of a truncated one, the rest.

    None for a row without a file, and for one that cannot be decoded.
    """
    if path is None:
        return None
    try:
        with Image.open(path) as image:
            image.draft("RGB", (2 * side, 2 * side))  # decode a large JPEG at reduced size
            small = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    except (OSError, SyntaxError) as error:
        print(f"{path} is taken as black: {error}")
        return None
    return np.asarray(small, dtype=np.float32)


def network(outputs: int) -> Any:
    """Return six convolutions, with pooling after every second one, and a linear head."""
    layers: list[Any] = []
    for before, after in ((3, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if before == after else []
    head = [nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64 * 9, outputs)]
    return nn.Sequential(*layers, *head).to(memory_format=torch.channels_last)


class Net:
    """A network with the interface of scikit-learn, for "classes", "sets" of labels or "numbers"."""

    def __init__(self, output: str, rounds: int, draw: np.random.RandomState) -> None:
        self.output, self.rounds, self.draw = output, rounds, draw

    def fit(self, x: Any, y: Any) -> Self:
        """Fit on images and their labels."""
        y = np.asarray(y)
        if self.output == "classes":
            self.classes_, y = np.unique(y, return_inverse=True)
        elif self.output == "numbers":
            self.mean, self.scale, self.shape = y.mean(axis=0), y.std(axis=0) + 1e-9, y.shape[1:]
            y = ((y - self.mean) / self.scale).reshape(len(y), -1)
        self.net = network(len(self.classes_) if self.output == "classes" else y.shape[1])
        self.train(
            x, torch.as_tensor(y, dtype=torch.int64 if self.output == "classes" else torch.float32)
        )
        self.net.eval()
        return self

    def train(self, x: Any, y: Any) -> None:
        """Train for the planned epochs, with random shifts as augmentation."""
        losses = {"classes": nn.CrossEntropyLoss, "sets": nn.BCEWithLogitsLoss, "numbers": nn.MSELoss}
        loss = losses[self.output]()
        batch = int(np.clip(len(x) // 30, 16, 128))
        optimiser = torch.optim.AdamW(self.net.parameters(), weight_decay=0.02)
        steps = self.rounds * -(-len(x) // batch)
        plan = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps)
        for _ in range(self.rounds):
            for rows in torch.randperm(len(x)).split(batch):
                if len(rows) > 1:  # batch normalization needs two rows
                    shift = self.draw.randint(-2, 3, 2).tolist()
                    optimiser.zero_grad()
                    loss(self.net(torch.roll(x[rows], shift, (2, 3))), y[rows]).backward()
                    optimiser.step()
                plan.step()

    def outputs(self, x: Any) -> Any:
        """Return the outputs of the last layer."""
        with torch.no_grad():
            return torch.cat([self.net(part) for part in x.split(256)])

    def predict_proba(self, x: Any) -> Any:
        """Return the probability of each class or label."""
        return (torch.sigmoid if self.output == "sets" else nn.Softmax(1))(self.outputs(x)).numpy()

    def predict(self, x: Any) -> Any:
        """Return classes or numbers."""
        if self.output == "classes":
            return self.classes_[self.outputs(x).argmax(dim=1).numpy()]
        return self.mean + self.scale * self.outputs(x).numpy().reshape(-1, *self.shape)


COMPONENTS = 100


def scaled_images(task: Task, tables: Tables) -> list[Any]:
    """Return matrices of principal components; the mean of their variances is 1."""
    small = [pixels(paths).numpy() for paths in side_files(task, tables, IMAGE_SUFFIXES)]
    flat = [part.reshape(len(part), -1) for part in small]
    count = min(COMPONENTS, len(flat[0]) - 1, flat[0].shape[1])
    found = PCA(max(1, count), svd_solver="randomized", random_state=task.seed).fit(flat[0])
    unit = float(np.sqrt(found.explained_variance_.mean())) + 1e-9
    return [found.transform(part) / unit for part in flat]


def shrunken(task: Task, tables: Tables) -> list[Any]:
    """Return shrunken images, shape (rows, 3, side, side)."""
    torch.set_num_threads(1)  # images are too small to gain from more
    return [pixels(paths) for paths in side_files(task, tables, IMAGE_SUFFIXES)]


def fit_convolutions(fold: Fold, settings: dict[str, Any]) -> Model:
    """Fit a network on one fold; more images get fewer epochs."""
    torch.manual_seed(fold.task.seed)
    passes = round(settings["passes"] * min(max(50_000 / len(fold.y), 2), 40))
    draw = np.random.RandomState(fold.task.seed)
    output = "classes" if fold.target.classes else "numbers"
    net = Net(output, max(1, passes), draw).fit(fold.x, fold.y)
    return wrap_sklearn(net, fold.target)


CONVOLUTIONS = Family(
    encode=shrunken,
    fit=fit_convolutions,
    space={"passes": (1.0, "log", 0.5, 2.0)},
)
