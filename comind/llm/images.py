"""Encode pictures as models take them: JPEG, scaled down."""

import hashlib
from io import BytesIO
from typing import TYPE_CHECKING

from comind.domain.image import Image
from comind.domain.value import one_line

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MAX_SIDE = 768
"""Of a picture that is sent, in pixels."""
MAX_PIXELS = 32_000_000
"""Of a picture that is decoded; it takes four bytes for each."""
_QUALITY = 85
_REASON_LENGTH = 200
_DEEP = ("I", "I;16", "I;16B", "I;16L", "F")  # modes of more than 8 bits, whose range is open


def read_image(content: bytes, caption: str) -> Image:
    """Decode an untrusted PNG or JPEG file, and encode it again within 768 x 768 pixels.

    Raises:
        ValueError: it is no such file, is broken, or has more than 32 million pixels.
    """
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    try:
        with Pillow.open(BytesIO(content), formats=("PNG", "JPEG")) as picture:
            return encode_image(picture, caption)
    except UnidentifiedImageError:
        raise ValueError("is neither a PNG nor a JPEG file") from None
    except Pillow.DecompressionBombError:
        raise ValueError(_too_large()) from None
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
        raise ValueError(f"cannot be decoded ({one_line(str(error), _REASON_LENGTH)})") from None


def encode_image(picture: "Picture", caption: str) -> Image:
    """Return an opened picture as JPEG within 768 x 768 pixels.

    Raises:
        ValueError: it has more than 32 million pixels.
    """
    shown, file = scaled(picture, MAX_SIDE), BytesIO()
    shown.save(file, "JPEG", quality=_QUALITY)
    return image_of(file.getvalue(), caption, shown.size)


def image_of(data: bytes, caption: str, size: tuple[int, int]) -> Image:
    """Return the value of a JPEG file of a known size."""
    sha256 = hashlib.sha256(data).hexdigest()
    return Image(caption=caption, width=size[0], height=size[1], sha256=sha256, data=data)


def scaled(picture: "Picture", side: int) -> "Picture":
    """Return an opened picture in RGB with no side longer than `side`; deeper pixels by their range.

    The opened picture is changed.

    Raises:
        ValueError: it has more than 32 million pixels.
    """
    import numpy as np
    from PIL import Image as Pillow

    if picture.width * picture.height > MAX_PIXELS:
        raise ValueError(_too_large())
    picture.thumbnail((side, side))
    if picture.mode in _DEEP:
        values = np.nan_to_num(np.asarray(picture, dtype=np.float64))
        values -= values.min()
        values *= 255 / (values.max() or 1)
        return Pillow.fromarray(values.astype(np.uint8)).convert("RGB")
    if picture.has_transparency_data:
        white = Pillow.new("RGBA", picture.size, "white")
        return Pillow.alpha_composite(white, picture.convert("RGBA")).convert("RGB")
    return picture.convert("RGB")


def _too_large() -> str:
    return f"has more than {MAX_PIXELS // 1_000_000} million pixels"
