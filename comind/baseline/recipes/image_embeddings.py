"""Embeddings of images by pretrained models of timm."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import ImageFile

from comind.baseline.recipes.embeddings import BATCH, vectors_of
from comind.baseline.recipes.family import threads
from comind.baseline.recipes.files import side_files
from comind.baseline.recipes.images import shrunk
from comind.baseline.recipes.tables import Tables
from comind.baseline.recipes.task import Task
from comind.competitions.row_files import IMAGE_SUFFIXES


class EmbeddedImages(NamedTuple):
    """An encoding of images by a model."""

    path: str
    """The model's folder."""
    embed: Callable[[str, list[Any]], NDArray[Any]]
    """Returns the vectors of images by the model at a path."""

    def __call__(self, task: Task, tables: Tables) -> list[Any]:
        """Return a matrix for each table."""
        return vectors_of(self.path, self.embed, side_files(task, tables, IMAGE_SUFFIXES))


def by_timm(path: str, images: list[Path | None]) -> NDArray[Any]:
    """Return the pooled features of images by a model of timm."""
    import timm

    return pooled(timm.create_model(f"local-dir:{path}", pretrained=True), images)


def by_efficientnet_lite0(path: str, images: list[Path | None]) -> NDArray[Any]:
    """Return the pooled features of images by the model of the package efficientnet-lite0."""
    import timm
    import torch

    net = timm.create_model("tf_efficientnet_lite0")
    weights = torch.load(f"{path}/efficientnet-lite0-57934424.pth", map_location="cpu")
    net.load_state_dict(dict(zip(net.state_dict(), weights.values(), strict=True)))
    return pooled(net, images)


def pooled(net: Any, images: list[Path | None]) -> NDArray[Any]:
    """Return the pooled features of images; one without a file has the mean colour of all images."""
    import torch
    from timm.data import resolve_model_data_config

    ImageFile.LOAD_TRUNCATED_IMAGES = True  # what is there of such an image is used
    torch.set_num_threads(threads())
    net.reset_classifier(0)
    net.eval()
    data = resolve_model_data_config(net)
    side = data["input_size"][-1]
    mean, std = (np.array(data[name], dtype=np.float32) for name in ("mean", "std"))
    found = []
    for start in range(0, len(images), BATCH):
        batch = np.zeros((len(images[start : start + BATCH]), side, side, 3), dtype=np.float32)
        for row, path in enumerate(images[start : start + BATCH]):
            if (picture := shrunk(path, side)) is not None:
                batch[row] = (picture / 255 - mean) / std
        with torch.no_grad():
            found.append(net(torch.from_numpy(batch.transpose(0, 3, 1, 2).copy())).numpy())
    return np.concatenate(found)
