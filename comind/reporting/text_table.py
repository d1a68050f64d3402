"""Align the cells of a table."""

from collections.abc import Iterable, Sequence


def text_table(rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """Return rows as lines with aligned columns, the last `numbers` of them to the right."""
    return "\n".join("  ".join(row).rstrip() for row in padded(rows, numbers=numbers))


def padded(rows: Iterable[Sequence[str]], *, numbers: int, least: int = 0) -> list[list[str]]:
    """Return the rows with the cells of a column as wide as its widest, and `least`."""
    given = list(rows)
    widths = [max(least, *map(len, column)) for column in zip(*given, strict=True)]
    texts = len(widths) - numbers
    return [
        [
            cell.ljust(width) if column < texts else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in given
    ]
