"""Groups of pixels of one image."""

import re

import pandas as pd

from comind.splits.grouping import ColumnGrouping, ColumnGroups
from comind.splits.times import SAMPLE

PIXEL = re.compile(r"(.+)_\d+_\d+")
"""The id of a pixel, `<image>_<row>_<column>`."""


class PixelIds(ColumnGrouping):
    """`picture`: the image, where ids of pixels are `<image>_<row>_<column>`."""

    by = "picture"
    is_certain = True

    @property
    def plural(self) -> str:
        return "pictures"

    def names(self, table: pd.DataFrame) -> "pd.Series[str]":
        return image_of_pixel(table[self.column])

    @classmethod
    def of_column(cls, train: "pd.Series[str]", test: "pd.Series[str]") -> ColumnGroups | None:
        if not all(cells.str.fullmatch(PIXEL).all() for cells in (train.head(SAMPLE), train)):
            return None
        name = str(train.name)
        reason = f"{name!r} names pixels, and no picture has pixels in both train and test"
        return ColumnGroups(cls(column=name), reason, image_of_pixel(train), image_of_pixel(test))


def image_of_pixel(ids: "pd.Series[str]") -> "pd.Series[str]":
    """Return the image of each pixel id; other ids are unchanged."""
    return ids.str.replace(r"_\d+_\d+$", "", regex=True)
