"""Read a competition folder, and say in one line what is wrong with it."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from comind.domain.competition import Competition
from comind.errors import CompetitionError

__all__ = ["load_competition"]

_REQUIRED_FILES = ("train.csv", "test.csv", "sample_submission.csv")


def load_competition(folder: Path) -> Competition:
    """Return what `folder` says of its competition; the files it needs are there.

    Raises:
        CompetitionError: something is missing, unreadable or contradicts itself.
    """
    described = folder / "competition.yaml"
    if not folder.is_dir():
        raise CompetitionError(
            f"{folder}: there is no such folder",
            hint="name a competition folder (it holds competition.yaml) or a built-in demo",
        )
    if not described.is_file():
        raise CompetitionError(f"{folder}: has no competition.yaml")
    competition = _parse(described, folder)
    if not competition.public.is_dir():
        raise CompetitionError(f"{folder}: has no folder public/")
    for name in _REQUIRED_FILES:
        if not (competition.public / name).is_file():
            raise CompetitionError(f"{folder}: public/{name} is missing")
    return competition


def _parse(path: Path, folder: Path) -> Competition:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise CompetitionError(f"{path}: is not UTF-8 text") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise CompetitionError(f"{path}{where}: is not YAML") from None
    if not isinstance(values, dict):
        raise CompetitionError(f"{path}: holds no keys and values")
    _refuse_unknown(values, path)
    try:
        return Competition.model_validate({**values, "folder": folder})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "function-after")
        reason = first["msg"].removeprefix("Value error, ")
        raise CompetitionError(f"{path}: {place}: {reason}") from None


def _refuse_unknown(values: dict[Any, Any], path: Path) -> None:
    known = sorted(set(Competition.model_fields) - {"folder"})
    for key in values:
        if key not in known:
            raise CompetitionError(
                f"{path}: unknown key {key!r}", hint=f"known keys: {', '.join(known)}"
            )
