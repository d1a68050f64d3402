"""Tiny competitions, one or more for each recipe, as an attempt finds them in its working directory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import soundfile
from PIL import Image

from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.metrics import known_metric

ROWS = 60
WORDS = ["dark", "sea", "night", "raven", "old", "ship", "deep", "house"]


def competition(
    workspace: Path, shape: DataShape, kind: AnswerKind, rows: pd.DataFrame, **told: Any
) -> Problem:
    """Write `rows` as three tables, half of them with labels; the columns are ids, features, labels."""
    ids, labels = told.pop("ids", ["id"]), told.pop("labels", ["y"])
    metric = told.pop("metric", "rmse")
    problem = Problem(
        competition="tiny",
        title="Tiny",
        description="",
        preview="",
        metric=metric,
        traits=known_metric(metric).traits,
        maximize=False,
        shape=shape,
        answer_kind=kind,
        id_columns=ids,
        train_id_columns=told.pop("train_ids", ids),
        label_columns=labels,
        target_columns=told.pop("targets", labels),
        train_rows=len(rows) // 2,
        validation_rows=len(rows) // 4,
        test_rows=len(rows) - len(rows) // 2 - len(rows) // 4,
    )
    assert not told
    folder = workspace / problem.folder
    folder.mkdir(parents=True, exist_ok=True)
    first, second = problem.train_rows, problem.train_rows + problem.validation_rows
    names = dict(zip(ids, problem.train_id_columns, strict=True))
    rows[:first].rename(columns=names).to_csv(folder / "train.csv", index=False)
    rows[first:second].drop(columns=labels).to_csv(folder / "validation.csv", index=False)
    rows[second:].drop(columns=labels).to_csv(folder / "test.csv", index=False)
    return problem


def numbers(count: int = ROWS) -> pd.DataFrame:
    """Return ids, and a feature `x` that says everything."""
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {"id": range(count), "x": draw.uniform(-1, 1, count), "z": draw.normal(size=count)}
    )


def texts(count: int = ROWS) -> pd.DataFrame:
    """Return ids, and texts in half of which somebody is `dark`."""
    draw = np.random.default_rng(0)
    told = [" ".join(draw.choice(WORDS[1:], 6)) for _ in range(count)]
    told = [f"{text} dark dark" if row % 2 else text for row, text in enumerate(told)]
    return pd.DataFrame({"id": range(count), "text": told})


def table(workspace: Path) -> Problem:
    """Return a table whose number grows with `x`."""
    rows = numbers()
    return competition(workspace, DataShape.TABLE, AnswerKind.NUMBER, rows.assign(y=10 * rows["x"]))


def text(workspace: Path) -> Problem:
    """Return texts with a label that one word tells."""
    rows = texts()
    label = np.where(rows["text"].str.contains("dark"), "yes", "no")
    return competition(workspace, DataShape.TEXT, AnswerKind.LABEL, rows.assign(y=label))


def text_to_text(workspace: Path) -> Problem:
    """Return tokens to say in words, `NA` among them."""
    spoken = {"1": "one", "2": "two", "NA": "NA", "cat": "cat"}
    before = [list(spoken)[row % 4] for row in range(ROWS)]
    rows = pd.DataFrame({"id": range(ROWS), "before": before})
    rows["y"] = rows["before"].map(spoken)
    given = DataShape.TEXT_TO_TEXT, AnswerKind.TEXT, rows
    return competition(workspace, *given, metric="exact-match")


def images(workspace: Path) -> Problem:
    """Return pictures that are light or dark; one of test has no file."""
    names = [f"p{row:02d}" for row in range(ROWS)]
    rows = pd.DataFrame({"id": names, "y": ["light" if row % 2 else "dark" for row in range(ROWS)]})
    problem = competition(workspace, DataShape.IMAGES, AnswerKind.LABEL, rows)
    for row, name in enumerate(names[:-1]):
        tone = np.full((12, 12, 3), 220 if row % 2 else 40, dtype=np.uint8)
        Image.fromarray(tone).save(workspace / problem.folder / f"{name}.png")
    return problem


def pixels(workspace: Path, *, one_id: bool = True) -> Problem:
    """Return stained pages to clean, a page a part; pixels are counted from 1."""
    draw = np.random.default_rng(0)
    side = 12
    clean = [draw.integers(0, 2, (side, side)) * 200 + 30 for _ in range(4)]
    places = [(p + 1, a + 1, b + 1) for p in range(4) for a in range(side) for b in range(side)]
    rows = pd.DataFrame(places, columns=["image", "row", "column"])
    value = [clean[p - 1][a - 1, b - 1] / 255 for p, a, b in places]
    ids = ["image", "row", "column"]
    if one_id:
        ids = ["id"]
        rows = pd.DataFrame({"id": ["_".join(map(str, place)) for place in places]})
    given = DataShape.PIXELS, AnswerKind.NUMBER, rows.assign(value=value)
    problem = competition(workspace, *given, ids=ids, labels=["value"])
    for number, page in enumerate(clean, start=1):
        shown = {"pages": page + draw.integers(-20, 20, page.shape), "answers": page}
        for folder, image in shown.items():
            if folder == "pages" or number <= 2:
                target = workspace / problem.folder / folder
                target.mkdir(exist_ok=True)
                Image.fromarray(image.astype(np.uint8)).save(target / f"{number}.png")
    return problem


def mask_pictures() -> list[dict[str, np.ndarray[Any, Any]]]:
    """Return pictures and their masks, a light square in half of them, by folder."""
    draw = np.random.default_rng(0)
    pictures = []
    for row in range(ROWS):
        mask = np.zeros((24, 28), dtype=bool)
        top, left = draw.integers(2, 12, 2)
        mask[top : top + 8, left : left + 10] = row % 2
        pictures.append({"images": draw.integers(0, 90, mask.shape) + 120 * mask, "masks": 255 * mask})
    return pictures


def mask_cells() -> list[str]:
    """Return the run lengths of `mask_pictures`, by columns."""
    cells = []
    for picture in mask_pictures():
        pixels = picture["masks"].T.ravel() > 0
        edges = np.flatnonzero(np.diff(np.concatenate([[False], pixels, [False]])))
        runs = np.column_stack([edges[::2] + 1, edges[1::2] - edges[::2]])
        cells.append(" ".join(map(str, runs.ravel())))
    return cells


def masks(workspace: Path) -> Problem:
    """Return pictures with masks; one of test has no file, and train has pictures of its masks."""
    names = [f"m{row:02d}" for row in range(ROWS)]
    rows = pd.DataFrame({"id": names, "y": mask_cells()})
    problem = competition(workspace, DataShape.MASKS, AnswerKind.MASK, rows, metric="mean-dice")
    for row, shown in enumerate(mask_pictures()[:-1]):
        for folder, picture in shown.items():
            if folder == "images" or row < problem.train_rows:
                target = workspace / problem.folder / folder
                target.mkdir(exist_ok=True)
                Image.fromarray(picture.astype(np.uint8)).save(target / f"{names[row]}.png")
    return problem


def audio(workspace: Path) -> Problem:
    """Return sounds that rise or fall; one of test has no file."""
    names = [f"s{row:02d}" for row in range(ROWS)]
    rows = pd.DataFrame({"id": names, "y": ["up" if row % 2 else "down" for row in range(ROWS)]})
    problem = competition(workspace, DataShape.AUDIO, AnswerKind.LABEL, rows)
    draw = np.random.default_rng(0)
    pitch = np.linspace(300, 1500, 3200)
    for row, name in enumerate(names[:-1]):
        cycles = np.cumsum(pitch if row % 2 else pitch[::-1]) / 8000
        tone = np.sin(2 * np.pi * cycles) + draw.normal(size=3200) / 20
        soundfile.write(workspace / problem.folder / f"{name}.wav", tone / 3, 8000)
    return problem


def panel(workspace: Path) -> Problem:
    """Return the counts of two shops, 60 days of which half are known."""
    days = pd.date_range("2024-01-01", periods=ROWS).strftime("%Y-%m-%d")
    rows = pd.DataFrame({"date": np.repeat(days, 2), "shop": ["a", "b"] * ROWS})
    rows.insert(0, "id", range(len(rows)))
    rows["y"] = np.repeat(np.arange(ROWS) + 1.0, 2) * np.tile([1, 10], ROWS)
    return competition(workspace, DataShape.PANEL, AnswerKind.NUMBER, rows)


COMPETITIONS: dict[DataShape, Callable[[Path], Problem]] = {
    DataShape.TABLE: table,
    DataShape.TEXT: text,
    DataShape.TEXT_TO_TEXT: text_to_text,
    DataShape.IMAGES: images,
    DataShape.MASKS: masks,
    DataShape.PIXELS: pixels,
    DataShape.AUDIO: audio,
    DataShape.PANEL: panel,
}
"""A competition for each shape, and with it for each recipe."""
