"""Everything that is looked at when a competition arrives, before anything is started for it."""

import wave
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.evaluation.folder import check_public
from comind.evaluation.scripts.generated_plan import plan_without_metric
from comind.evaluation.shape import PICTURES
from comind.evaluation.splits.leakage import leaking_tables, list_files, normalized_path
from comind.evaluation.splits.split_plan import SplitPlan
from comind.evaluation.tables import read_table

__all__ = ["check_competition"]

_FILES_LOOKED_AT = 2_000
_NAMING = 0.5  # a column in which half of the cells name files names files


def check_competition(competition: Competition) -> SplitPlan:
    """Make sure that a competition can be split, solved and graded; returns how it would be split.

    Raises:
        CompetitionError: what is wrong, in one line, and how to mend it.
    """
    from comind.evaluation.expectations import check_arrival

    check_public(competition)
    plan = plan_without_metric(competition) if competition.metric is None else SplitPlan(competition, 0)
    check_arrival(plan)
    plan.validation_rows()
    for path in leaking_tables(plan, competition.public):
        read_table(path, CompetitionError)
    files = list_files(competition.public)
    for table, name in ((plan.train, "train.csv"), (plan.test, "test.csv")):
        _check_named_files(competition, table, name, files)
    _check_side_files(competition)
    return plan


def _check_named_files(
    competition: Competition, table: pd.DataFrame, name: str, files: set[str]
) -> None:
    """Where a column names side files, make sure that they are all there."""
    for column in table.columns:
        cells = table[column]
        if not cells.head(50).str.contains(r"\.\w{2,5}$", regex=True).mean() > _NAMING:
            continue
        there = [normalized_path(cell) in files for cell in cells]
        if _NAMING < sum(there) / max(1, len(there)) < 1:
            missing = cells.iloc[there.index(False)]
            raise CompetitionError(
                f"{competition.folder}: public/{name}: the file {missing!r} of column {column!r} "
                f"is missing ({there.count(False)} of {len(there)} are)",
                hint="names are relative to public/",
            )


def _check_side_files(competition: Competition) -> None:
    """Open images and sounds, as far as their header; an unreadable one is named."""
    files = (path for path in sorted(competition.public.rglob("*")) if path.suffix.lower() in _OPENERS)
    for path, _ in zip(files, range(_FILES_LOOKED_AT), strict=False):
        if path.is_dir():
            continue
        try:
            _OPENERS[path.suffix.lower()](path)
        except Exception as error:  # noqa: BLE001 - a decoder fails on strange bytes in any way
            reason = str(error).partition(" '")[0] or "it ends too early"
            relative = path.relative_to(competition.folder)
            raise CompetitionError(
                f"{competition.folder}: {relative} cannot be read ({reason})",
                hint="mend the file or take it away",
            ) from None


def _open_image(path: Path) -> None:
    from PIL import Image

    with Image.open(path) as image:
        image.verify()


def _open_sound(path: Path) -> None:
    try:
        with wave.open(str(path)) as sound:
            sound.getnframes()
    except wave.Error as error:
        if "unknown format" not in str(error):  # the module knows plain PCM only; others are fine
            raise


_OPENERS: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(PICTURES, _open_image),
    ".wav": _open_sound,
}
