"""Load and validate a competition folder; errors are one line."""

import stat
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from comind.domain.competition import TABLES, Competition
from comind.errors import CompetitionError

__all__ = ["check_public_folder", "load_competition"]

_RESERVED = ("validation.csv", "sample_validation_submission.csv")
_LIST = "write a list of names, such as [id] or [first, second]"

_MESSAGES = {
    "missing": ("is missing", ""),
    "string_type": ("is not text", "put it in quotation marks"),
    "tuple_type": ("is not a list", _LIST),
    "too_short": ("is an empty list", _LIST),
    "model_type": ("is not a mapping", "such as kind: random"),
    "extra_forbidden": ("is not a known key", ""),
}
"""Message and hint by pydantic's error type."""


def load_competition(folder: Path) -> Competition:
    """Load `competition.yaml` and check that the required files exist.

    Raises:
        CompetitionError: a file is missing or unreadable, or the description is invalid.
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
    for name in TABLES:
        if not (competition.public / name).is_file():
            raise CompetitionError(f"{folder}: public/{name} is missing")
    return competition


def check_public_folder(competition: Competition) -> None:
    """Check that public/ holds only regular files and folders, and none of the names of a split's files.

    Raises:
        CompetitionError: there is a link (it could lead to labels), a pipe, or a reserved name.
    """
    for path in sorted(competition.public.rglob("*")):
        mode = path.lstat().st_mode
        where = f"{competition.folder}: {path.relative_to(competition.folder)}"
        if stat.S_ISLNK(mode):
            raise CompetitionError(f"{where} is a symbolic link", hint="put the file itself there")
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise CompetitionError(f"{where} is neither a file nor a folder", hint="remove it")
    for name in _RESERVED:
        if (competition.public / name).exists():
            raise CompetitionError(
                f"{competition.folder}: public/{name} is reserved for a file of the split",
                hint="give the file another name",
            )


def _parse(path: Path, folder: Path) -> Competition:
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise CompetitionError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except UnicodeDecodeError:
        raise CompetitionError(f"{path}: is not UTF-8 text") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "a character that it cannot hold"
        raise CompetitionError(f"{path}{where}: is not YAML ({reason})") from None
    except (RecursionError, ValueError):  # such as the 99th of May
        raise CompetitionError(f"{path}: is not YAML (a value that makes no sense)") from None
    if not isinstance(values, dict):
        raise CompetitionError(f"{path}: is not a mapping", hint="such as metric: accuracy")
    known = sorted(set(Competition.model_fields) - {"folder"})
    if unknown := [key for key in values if key not in known]:
        hint = f"known keys: {', '.join(known)}"
        raise CompetitionError(f"{path}: unknown key {unknown[0]!r}", hint=hint)
    try:
        return Competition.model_validate({**values, "folder": folder})
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(part) for part in first["loc"] if isinstance(part, int) or part.isidentifier()]
        reason, hint = _MESSAGES.get(first["type"], (first["msg"].removeprefix("Value error, "), ""))
        where = f"{path}: {'.'.join(keys)}" if keys else str(path)
        raise CompetitionError(f"{where}: {reason}", hint=hint) from None


class _Loader(yaml.SafeLoader):
    """Rejects duplicate keys, of which YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            text = str(key.value)
            if text in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {text!r} is there twice", problem_mark=key.start_mark
                )
            seen.add(text)
        return super().construct_mapping(node, deep=deep)
