"""Pictures for tests of near-duplicates."""

import numpy as np
from PIL import Image


def picture(seed: int, side: int = 64) -> Image.Image:
    """Return a smooth random picture."""
    rough = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), np.uint8)
    return Image.fromarray(rough).resize((side, side), Image.Resampling.BICUBIC)


def shifted(image: Image.Image) -> Image.Image:
    """Return a picture, moved by a pixel."""
    return image.transform(image.size, Image.Transform.AFFINE, (1, 0, 1, 0, 1, 0))
