"""Load and validate a competition folder; errors are one line."""

import re
import stat
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from comind.competitions.download.table_roles import infer_columns
from comind.domain.competition import NORMALISED_SCORE, TABLES, Competition
from comind.errors import CompetitionError
from comind.system.syntax import defined_functions

_RESERVED = ("validation.csv", "sample_validation_submission.csv")
_LIST = "write a list of names, such as [id] or [first, second]"

_PROGRAM_KEY = re.compile(r"^program\s*:", re.MULTILINE)

_MESSAGES = {
    "string_type": ("is not text", "put it in quotation marks"),
    "tuple_type": ("is not a list", _LIST),
    "too_short": ("is an empty list", _LIST),
    "model_type": ("is not a mapping", "such as kind: random"),
    "extra_forbidden": ("is not a known key", ""),
}
"""Message and hint by pydantic's error type."""


def load_competition(folder: Path) -> Competition:
    """Load `competition.yaml`, infer the keys that it lacks, and check that the required files exist.

    Raises:
        CompetitionError: a file is missing or unreadable, or the description is invalid, or lacks a key
            that cannot be inferred from the tables.
    """
    described = folder / "competition.yaml"
    if is_problem(folder):
        return _problem(folder, _read_yaml(described) if described.is_file() else {})
    if not folder.is_dir():
        raise CompetitionError(
            f"{folder}: there is no such folder",
            hint="name a competition folder (it holds competition.yaml) or a built-in demo",
        )
    if not described.is_file():
        raise CompetitionError(f"{folder}: has no competition.yaml")
    values = _read_yaml(described)
    public = folder / "public"
    if not public.is_dir():
        raise CompetitionError(f"{folder}: has no folder public/")
    for name in TABLES:
        if not (public / name).is_file():
            raise CompetitionError(f"{folder}: public/{name} is missing")
    return _validated({**_inferred(values, public), **values}, described)


def is_problem(folder: Path) -> bool:
    """Return whether submissions are programs: competition.yaml says so, or there is a scorer of them.

    A scorer is ours or CO-Bench's; a file of its name beside tables may be their metric's.
    """
    described = folder / "competition.yaml"
    if described.is_file() and _PROGRAM_KEY.search(described.read_text(errors="replace")):
        return True
    if (folder / "public").is_dir() or (folder / "train.csv").is_file():
        return False
    return (folder / "scorer.py").is_file() or _is_of_cobench(folder)


def _is_of_cobench(folder: Path) -> bool:
    config = folder / "config.py"
    defined = defined_functions(config.read_text(errors="replace")) if config.is_file() else frozenset()
    return {"load_data", "eval_func"} <= defined


def _problem(folder: Path, values: dict[str, Any]) -> Competition:
    """Return a competition whose submissions are programs.

    Raises:
        CompetitionError: its description has keys of tables, or there is no scorer or no instance.
    """
    described = folder / "competition.yaml"
    known = ("id", "title", "kind", "licence", "deadline", "program")
    if other := [key for key in values if key not in known]:
        hint = f"keys of competitions of programs: {', '.join(known)}"
        raise CompetitionError(f"{described}: {other[0]!r} is a key of tables", hint=hint)
    is_ours = (folder / "scorer.py").is_file()
    if not is_ours and not _is_of_cobench(folder):
        hint = "it defines score(instance, solution); docs/programs.md has an example"
        raise CompetitionError(f"{folder}: has no scorer.py", hint=hint)
    if is_ours and not any((folder / name).is_file() for name in ("generator.py", "instances.json")):
        raise CompetitionError(f"{folder}: has neither generator.py nor instances.json")
    return _validated(
        {
            **_named(values, folder),
            "metric": NORMALISED_SCORE,
            "id_columns": ["instance"],
            "label_columns": ["score"],
            "target_columns": ["score"],
            "kind": "optimisation",
            "program": {},
            **values,
        },
        described,
    )


def _named(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return name and title of a competition by its folder, for a description that lacks them."""
    name = re.sub(r"[^\w.-]+", "-", folder.absolute().name, flags=re.ASCII).strip("-_.")
    return {"id": name, "title": str(values.get("id", name))}


def _inferred(values: dict[str, Any], public: Path) -> dict[str, Any]:
    """Return values for the keys that a description lacks: its name, and the roles of the columns.

    Raises:
        CompetitionError: the role of a column is ambiguous, so the description has to name it.
    """
    named = _named(values, public.absolute().parent)
    roles = ("id_columns", "label_columns", "target_columns")
    missing = [name for name in roles if name not in values]
    if not missing:
        return named
    try:
        columns = infer_columns(public)
    except CompetitionError as error:
        hint = f"add {', '.join(missing)} to competition.yaml (docs/competition-folder.md)"
        raise CompetitionError(str(error), hint=hint) from None
    if "id_columns" in missing and columns.train_id_columns:
        named["train_id_columns"] = columns.train_id_columns
    return named | {name: getattr(columns, name) for name in missing}


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


def _read_yaml(path: Path) -> dict[str, Any]:
    """Return the values of a description, whose keys are all known."""
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
    known = sorted(set(Competition.model_fields) - {"folder", "metric_function"})
    if unknown := [key for key in values if key not in known]:
        hint = f"known keys: {', '.join(known)}"
        raise CompetitionError(f"{path}: unknown key {unknown[0]!r}", hint=hint)
    if isinstance(function := values.get("metric"), dict):
        values |= {"metric": function.get("function"), "metric_function": function}
    return values


def _validated(values: dict[str, Any], path: Path) -> Competition:
    try:
        return Competition.model_validate({**values, "folder": path.parent})
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(part) for part in first["loc"] if isinstance(part, int) or part.isidentifier()]
        reason, hint = _MESSAGES.get(first["type"], (first["msg"].removeprefix("Value error, "), ""))
        where = f"{path}: {'.'.join(keys)}" if keys else str(path)
        where = where.replace("metric_function", "metric")
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
