"""Programs that search the settings of a kind of model, and those that hand in what was found.

A search prints a line of JSON for each of its settings that were the best so far; `parse_search_result` reads it. A
program that hands in has them written into it, so that running it again takes no search.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from pydantic import Field, JsonValue, ValidationError, field_validator

from comind.baseline.bundle import bundle
from comind.baseline.programs import opening, task_of
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.domain.value import Value

__all__ = [
    "Found",
    "Settings",
    "fit_program",
    "kinds_for",
    "parse_search_result",
    "search_program",
    "unsupported_reason",
]

Settings = Mapping[str, JsonValue]


class _Kind(NamedTuple):
    """A kind of model, and where it comes from."""

    module: str
    constant: str
    package: str = "scikit-learn"
    scaled: bool = False
    """Whether it takes a matrix with columns of one size, not a table."""
    slow: bool = False
    """Whether it is left out with many rows."""
    of_classes: bool = False
    """Whether it learns nothing but classes."""
    own_view: bool = False
    """Whether it sees the data its own way, and none of `_VIEWS`."""


_KINDS = {
    "words": _Kind("kind_texts", "WORDS", own_view=True),
    "naive Bayes": _Kind("kind_bayes", "COUNTS", of_classes=True, own_view=True),
    "weighted words": _Kind("kind_bayes", "WEIGHTED", of_classes=True, own_view=True),
    "characters": _Kind("kind_texts", "CHARACTERS", slow=True, own_view=True),
    "LightGBM": _Kind("kind_lightgbm", "LIGHTGBM", "lightgbm"),
    "linear": _Kind("kind_linear", "LINEAR", scaled=True),
    "CatBoost": _Kind("kind_catboost", "CATBOOST", "catboost", slow=True),
    "trees": _Kind("kind_trees", "TREES", scaled=True),
    "XGBoost": _Kind("kind_xgboost", "XGBOOST", "xgboost-cpu"),
    "histograms": _Kind("kind_histograms", "HISTOGRAMS"),
    "kernel": _Kind("kind_kernel", "KERNEL", scaled=True, slow=True),
    "net": _Kind("kind_net", "NET", scaled=True, slow=True),
    "nearest neighbours": _Kind("kind_neighbours", "NEIGHBOURS", scaled=True, slow=True),
    "convolutions": _Kind("kind_convolutions", "CONVOLUTIONS", "torch", own_view=True),
}


class _View(NamedTuple):
    """Features for the kinds of models of tables, where the data are no table."""

    module: str
    for_trees: str
    scaled: str


_VIEWS = {
    DataShape.TEXT: _View("encoding_texts", "topics_for_trees", "scaled_topics"),
    DataShape.AUDIO: _View("encoding_sounds", "sounds_for_trees", "scaled_sounds"),
    DataShape.IMAGES: _View("encoding_images", "pictures_for_trees", "scaled_pictures"),
}

_BOOSTING = ("LightGBM", "histograms")
_BY_SHAPE = {
    DataShape.TABLE: (
        *("LightGBM", "linear", "CatBoost", "trees", "XGBoost", "histograms"),
        *("kernel", "net", "nearest neighbours"),
    ),
    DataShape.TEXT: (
        *("words", "naive Bayes", "weighted words", "characters", "net"),
        *_BOOSTING,
    ),
    DataShape.AUDIO: ("kernel", "linear", "net", "trees", "nearest neighbours", *_BOOSTING),
    DataShape.IMAGES: (
        *("kernel", "linear", "net", "trees", *_BOOSTING, "nearest neighbours"),
        "convolutions",
    ),
}
"""In the order in which they are tried."""

_NEEDS = {DataShape.AUDIO: ("soundfile",), DataShape.IMAGES: ("torch", "pillow")}
"""The packages that read the data, whatever the kind."""

_ANSWERS = (
    AnswerKind.LABEL,
    AnswerKind.NUMBER,
    AnswerKind.PROBABILITY,
    AnswerKind.CLASS_PROBABILITIES,
)
_MANY_ROWS = 20_000  # from which on slow kinds are left out
_ORDERED = ("quadratic-weighted-kappa",)  # its labels are learnt as numbers
_MOST_TARGETS = 4  # each has models of its own
_RENAMED = {"step": "learning_rate"}


class Found(Value):
    """The best settings that a search has tried."""

    settings: dict[str, JsonValue]
    loss: float
    """Mean over folds; smaller is better."""
    seconds: float = Field(ge=0)
    """How long the models of all folds took."""

    @field_validator("settings")
    @classmethod
    def _renamed(cls, settings: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Read logs of former versions, where the learning rate of nets is `step`."""
        return {_RENAMED.get(name, name): value for name, value in settings.items()}


def kinds_for(problem: Problem, packages: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of models that can be searched for a problem, in the order to try them.

    `packages` are those that programs will have. None for data and answers that only a recipe knows.
    """
    if unsupported_reason(problem, packages):
        return ()
    classes = problem.answer_kind is not AnswerKind.NUMBER and problem.metric not in _ORDERED
    known = {"scikit-learn", *packages}
    there = [
        name
        for name in _BY_SHAPE[problem.shape]
        if (kind := _KINDS[name]).package in known
        and not (kind.slow and problem.train_rows > _MANY_ROWS)
        and (classes or not kind.of_classes)
    ]
    if "LightGBM" in there:
        there.remove("histograms")  # they err alike
    return tuple(there)


def unsupported_reason(problem: Problem, packages: Collection[str]) -> str:
    """Return what leaves no kind of model for a problem, in words; empty where there are kinds."""
    if problem.answer_kind not in _ANSWERS or problem.shape not in _BY_SHAPE:
        return f"{problem.shape} with {problem.answer_kind} answers"
    of_class = problem.answer_kind is AnswerKind.CLASS_PROBABILITIES
    targets = len(problem.label_columns if of_class else problem.target_columns)
    if targets > _MOST_TARGETS:
        return f"{targets} targets, more than {_MOST_TARGETS}"
    missing = [name for name in _NEEDS.get(problem.shape, ()) if name not in packages]
    return f"{problem.shape} without {' and '.join(missing)}" if missing else ""


def search_program(
    problem: Problem, seed: int, kind: str, evaluations: int, start: Settings | None = None
) -> str:
    """Return the program of a search that begins with `start`, or with the kind's own settings."""
    begin = f"{_KINDS[kind].constant}.start" if start is None else repr(dict(start))
    ending = f"search(task, tables, {_spelt(problem, kind)}, {evaluations}, {begin})\n"
    return bundle(
        "searching", opening(task_of(problem, seed)) + ending, beside=_modules(problem, [kind])
    )


def fit_program(problem: Problem, seed: int, members: Mapping[str, Settings | None]) -> str:
    """Return the program that averages models with these settings, by kind, and hands in.

    None stands for the settings that a search begins with.
    """
    listed = ""
    for kind, settings in members.items():
        told = f"{_KINDS[kind].constant}.start" if settings is None else repr(dict(settings))
        listed += f"    ({_spelt(problem, kind)}, {told}),\n"
    ending = f"members = [\n{listed}]\nfit_and_hand_in(task, tables, members)\n"
    return bundle(
        "searching", opening(task_of(problem, seed)) + ending, beside=_modules(problem, members)
    )


def parse_search_result(output: str) -> Found | None:
    """Return the last settings that a search printed; None where it printed none."""
    for line in reversed(output.splitlines()):
        if line.startswith('{"settings"'):
            try:
                return Found.model_validate_json(line)
            except ValidationError:
                continue
    return None


def _spelt(problem: Problem, kind: str) -> str:
    """Return the expression of a kind that sees such data."""
    view, of = _VIEWS.get(problem.shape), _KINDS[kind]
    if view is None or of.own_view:
        return of.constant
    return f"{of.constant}._replace(encode={view.scaled if of.scaled else view.for_trees})"


def _modules(problem: Problem, kinds: Collection[str]) -> list[str]:
    """Return the modules that the expressions of kinds need."""
    modules = [_KINDS[kind].module for kind in kinds]
    view = _VIEWS.get(problem.shape)
    seen = view is not None and not all(_KINDS[kind].own_view for kind in kinds)
    return [view.module, *modules] if view is not None and seen else modules
