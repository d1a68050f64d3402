"""Strip images, progress bars and training logs from text.

The paper removes images and excessive system output of notebooks (progress bars, logs). Cell outputs are
dropped when a notebook is parsed; this removes what is pasted into texts and comments. Code is kept: of
code lines, only embedded image data are removed.
"""

import re
from itertools import groupby

_LOG_LINES = 4
"""Runs of at least this many log lines are shortened; a few may be what the text is about."""

_PICTURE_DATA = re.compile(
    r"data:(?:image|audio|video)/[\w.+-]{1,40};base64,[A-Za-z0-9+/=]*"
    r"|(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR)[A-Za-z0-9+/=]{200,}"  # PNG, JPEG, GIF, WebP without the prefix
)
_PICTURE_SIGNS = ("base64,", "iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
_PICTURE = re.compile(r"!\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)|<img\b[^>]{0,5000}>", re.IGNORECASE)

_BAR = re.compile(
    r"\d{1,3}%\s?\|[^|\n]*\|"  # tqdm
    r"|\d+/\d+ \[[=>.\s]{3,}\]"  # Keras
    r"|[━█▓▒░]{5,}|\[#{3,}[#.\s-]*\]"
)
_LOG = re.compile(
    r"epoch\b[\s:#]*\[?\d+"  # Keras, PyTorch
    r"|\[\d+\]\s+\S+:\s?[-\d.]"  # XGBoost: [10] train-rmse:0.1
    r"|\[\d+\]\s+\S+'s\s"  # LightGBM: [10] training's l2: 0.1
    r"|\[LightGBM\]\s"
    r"|\d+:\s+(?:learn|test):\s"  # CatBoost
    r"|(?:step|iter|iteration|batch|round)\b[\s:#]*\[?\d+"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*\s"  # timestamp of a logger
    r"|(?:\w+ing|Requirement already satisfied:) \S+ .{0,200}(?:MB|kB|/site-packages)\b",  # pip
    re.IGNORECASE,
)


def strip_noise(text: str, *, comments_only: bool = False) -> str:
    """Return `text` without images, progress bars and long logs.

    With `comments_only` it is a program, of which only comments may lose lines.
    """
    if any(map(text.__contains__, _PICTURE_SIGNS)):
        text = _PICTURE_DATA.sub("[picture]", text)
    if not comments_only and ("[" in text or "<" in text):
        text = _PICTURE.sub(_caption, text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines: list[str] = []
    for is_log, run in groupby(_kept(text.split("\n"), comments_only), key=lambda each: each[1]):
        found = [line for line, _ in run]
        if is_log and len(found) >= _LOG_LINES:
            mark = "# " if comments_only else ""
            # The first shows what kind of log it is, the last its result.
            found = [found[0], f"{mark}[{len(found) - 2} lines of a log]", found[-1]]
        lines += found
    return "\n".join(lines)


def _kept(lines: list[str], comments_only: bool) -> list[tuple[str, bool]]:
    """Return the lines that are not progress bars, each with whether it looks like a log line."""
    kept = []
    for line in lines:
        bare = line.lstrip()
        if comments_only and not bare.startswith("#"):
            kept.append((line, False))
            continue
        words = bare.lstrip("#> ") if comments_only else bare
        # A bar has one of these, and looking for them takes a hundredth of the time.
        may_be_bar = "|" in words or "[" in words or not words.isascii()
        if not (may_be_bar and _BAR.search(words)):
            shown = _PICTURE.sub(_caption, line) if comments_only else line
            kept.append((shown, _LOG.match(words) is not None))
    return kept


def _caption(found: re.Match[str]) -> str:
    return f"[picture: {found[1]}]" if found[1] else "[picture]"
