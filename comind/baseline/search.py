"""Programs that search the settings of a kind of model, and those that hand in what was found.

A search prints a line of JSON for each of its settings that were the best so far; `found_in` reads it. A
program that hands in has them written into it, so that running it again takes no search.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import NamedTuple

from pydantic import Field, JsonValue, ValidationError

from comind.baseline.bundle import bundle
from comind.baseline.programs import task_of
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.domain.value import Value

__all__ = ["Found", "Settings", "fit_program", "found_in", "kinds_for", "search_program"]

Settings = Mapping[str, JsonValue]


class _Kind(NamedTuple):
    """A kind of model, and where it comes from."""

    module: str
    constant: str
    package: str = "scikit-learn"


_KINDS = {
    "LightGBM": _Kind("kind_lightgbm", "LIGHTGBM", "lightgbm"),
    "linear": _Kind("kind_linear", "LINEAR"),
    "CatBoost": _Kind("kind_catboost", "CATBOOST", "catboost"),
    "trees": _Kind("kind_trees", "TREES"),
    "XGBoost": _Kind("kind_xgboost", "XGBOOST", "xgboost-cpu"),
    "histograms": _Kind("kind_histograms", "HISTOGRAMS"),
    "kernel": _Kind("kind_kernel", "KERNEL"),
    "net": _Kind("kind_net", "NET"),
    "nearest neighbours": _Kind("kind_neighbours", "NEIGHBOURS"),
}
"""In the order in which they are tried."""

_BY_SHAPE = {DataShape.TABLE: tuple(_KINDS)}
_ANSWERS = (
    AnswerKind.LABEL,
    AnswerKind.NUMBER,
    AnswerKind.PROBABILITY,
    AnswerKind.CLASS_PROBABILITIES,
)
_MANY_ROWS, _SLOW = 20_000, ("CatBoost", "kernel", "net", "nearest neighbours")
_MOST_TARGETS = 4  # each has models of its own


class Found(Value):
    """The best settings that a search has tried."""

    settings: dict[str, JsonValue]
    loss: float
    """Mean over folds; smaller is better."""
    seconds: float = Field(ge=0)
    """How long the models of all folds took."""


def kinds_for(problem: Problem, packages: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of models that can be searched for a problem, in the order to try them.

    `packages` are those that programs will have. None for data and answers that only a recipe knows.
    """
    if problem.answer_kind not in _ANSWERS:
        return ()
    if problem.answer_kind is not AnswerKind.CLASS_PROBABILITIES:
        wide = len(problem.target_columns) > _MOST_TARGETS
    else:
        wide = len(problem.label_columns) > _MOST_TARGETS
    if wide:
        return ()
    names = _BY_SHAPE.get(problem.shape, ())
    if problem.train_rows > _MANY_ROWS:
        names = tuple(name for name in names if name not in _SLOW)
    known = {"scikit-learn", *packages}
    there = [name for name in names if _KINDS[name].package in known]
    if "LightGBM" in there:
        there.remove("histograms")  # they err alike
    return tuple(there)


def search_program(
    problem: Problem, seed: int, kind: str, evaluations: int, start: Settings | None = None
) -> str:
    """Return the program of a search that begins with `start`, or with the kind's own settings."""
    constant = _KINDS[kind].constant
    begin = f"{constant}.start" if start is None else repr(dict(start))
    ending = f"search(task, tables, {constant}, {evaluations}, {begin})\n"
    return bundle("searching", _told(problem, seed) + ending, beside=[_KINDS[kind].module])


def fit_program(problem: Problem, seed: int, members: Mapping[str, Settings | None]) -> str:
    """Return the program that averages models with these settings, by kind, and hands in.

    None stands for the settings that a search begins with.
    """
    listed = ""
    for kind, settings in members.items():
        constant = _KINDS[kind].constant
        told = f"{constant}.start" if settings is None else repr(dict(settings))
        listed += f"    ({constant}, {told}),\n"
    ending = f"members = [\n{listed}]\nfit_and_hand_in(task, tables, members)\n"
    modules = [_KINDS[kind].module for kind in members]
    return bundle("searching", _told(problem, seed) + ending, beside=modules)


def found_in(output: str) -> Found | None:
    """Return the last settings that a search printed; None where it printed none."""
    for line in reversed(output.splitlines()):
        if line.startswith('{"settings"'):
            try:
                return Found.model_validate(json.loads(line))
            except (ValueError, ValidationError):
                continue
    return None


def _told(problem: Problem, seed: int) -> str:
    """Return the statements that tell a program of the competition, and read its tables."""
    task = task_of(problem, seed)
    told = "".join(f"    {each.name}={getattr(task, each.name)!r},\n" for each in fields(task))
    return f"task = Task(\n{told})\ntables = read_tables(task)\n"
