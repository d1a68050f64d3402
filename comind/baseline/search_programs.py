"""Write programs that tune hyperparameters, and programs that fit with the settings found.

A search prints a line of JSON whenever its loss improves; `parse_search_result` reads the last one. A
fitting program has the settings in its source, so that running it again needs no search.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from pydantic import Field, JsonValue, ValidationError, field_validator

from comind.baseline.bundle import bundle
from comind.baseline.recipe_programs import preamble, task_of
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.domain.value import Value

__all__ = [
    "SearchResult",
    "fit_program",
    "kinds_for",
    "parse_search_result",
    "search_program",
    "unsupported_reason",
]

_Settings = Mapping[str, JsonValue]


class _Kind(NamedTuple):
    """A kind of model, and the recipe module that defines it."""

    module: str
    constant: str
    package: str = "scikit-learn"
    scaled: bool = False
    """Whether it needs a scaled matrix instead of a table."""
    slow: bool = False
    """Whether it is skipped with many rows."""
    of_classes: bool = False
    """Whether it is a classifier only."""
    own_view: bool = False
    """Whether it encodes the data itself, without `_VIEWS`."""


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
    """Encodings of data other than tables, for models of tables."""

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
"""Kinds in the order to try them."""

_NEEDS = {DataShape.AUDIO: ("soundfile",), DataShape.IMAGES: ("torch", "pillow")}
"""Packages that any kind needs to read the data."""

_ANSWERS = (
    AnswerKind.LABEL,
    AnswerKind.NUMBER,
    AnswerKind.PROBABILITY,
    AnswerKind.CLASS_PROBABILITIES,
)
_MANY_ROWS = 20_000  # from which on slow kinds are skipped
_ORDERED = ("quadratic-weighted-kappa",)  # labels are fitted as numbers
_MOST_TARGETS = 4  # each has separate models
_RENAMED = {"step": "learning_rate"}


class SearchResult(Value):
    """The best hyperparameters of a search."""

    settings: dict[str, JsonValue]
    loss: float
    """Mean over folds; lower is better."""
    seconds: float = Field(ge=0)
    """Fitting time of all folds."""

    @field_validator("settings")
    @classmethod
    def _renamed(cls, settings: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Rename `step`, the learning rate of nets in logs of former versions."""
        return {_RENAMED.get(name, name): value for name, value in settings.items()}


def kinds_for(problem: Problem, packages: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of models that can be tuned for a problem, in the order to try them.

    `packages` are those installed for programs. Empty for data and answers that no kind supports.
    """
    if unsupported_reason(problem, packages):
        return ()
    classes = problem.answer_kind is not AnswerKind.NUMBER and problem.metric not in _ORDERED
    installed = {"scikit-learn", *packages}
    kinds = [
        name
        for name in _BY_SHAPE[problem.shape]
        if (kind := _KINDS[name]).package in installed
        and not (kind.slow and problem.train_rows > _MANY_ROWS)
        and (classes or not kind.of_classes)
    ]
    if "LightGBM" in kinds:
        kinds.remove("histograms")  # their errors are correlated
    return tuple(kinds)


def unsupported_reason(problem: Problem, packages: Collection[str]) -> str:
    """Return why no kind of model supports a problem; empty if some do."""
    if problem.answer_kind not in _ANSWERS or problem.shape not in _BY_SHAPE:
        return f"{problem.shape} with {problem.answer_kind} answers"
    of_class = problem.answer_kind is AnswerKind.CLASS_PROBABILITIES
    targets = len(problem.label_columns if of_class else problem.target_columns)
    if targets > _MOST_TARGETS:
        return f"{targets} targets, more than {_MOST_TARGETS}"
    missing = [name for name in _NEEDS.get(problem.shape, ()) if name not in packages]
    return f"{problem.shape} without {' and '.join(missing)}" if missing else ""


def search_program(
    problem: Problem, seed: int, kind: str, evaluations: int, start: _Settings | None = None
) -> str:
    """Return the program of a search of `evaluations` settings, from `start` or the default."""
    begin = f"{_KINDS[kind].constant}.start" if start is None else repr(dict(start))
    ending = f"search(task, tables, {_kind_expression(problem, kind)}, {evaluations}, {begin})\n"
    return bundle(
        "searching", preamble(task_of(problem, seed)) + ending, extra=_modules(problem, [kind])
    )


def fit_program(problem: Problem, seed: int, members: Mapping[str, _Settings | None]) -> str:
    """Return the program that averages models of these kinds and settings, and writes submissions.

    None stands for the default settings of a kind.
    """
    lines = ""
    for kind, settings in members.items():
        value = f"{_KINDS[kind].constant}.start" if settings is None else repr(dict(settings))
        lines += f"    ({_kind_expression(problem, kind)}, {value}),\n"
    ending = f"members = [\n{lines}]\nfit_and_hand_in(task, tables, members)\n"
    return bundle(
        "searching", preamble(task_of(problem, seed)) + ending, extra=_modules(problem, members)
    )


def parse_search_result(output: str) -> SearchResult | None:
    """Parse the last result that a search printed; None if there is none."""
    for line in reversed(output.splitlines()):
        if line.startswith('{"settings"'):
            try:
                return SearchResult.model_validate_json(line)
            except ValidationError:
                continue
    return None


def _kind_expression(problem: Problem, kind: str) -> str:
    """Return the expression of a kind with the encoding for the problem's data."""
    view, of = _VIEWS.get(problem.shape), _KINDS[kind]
    if view is None or of.own_view:
        return of.constant
    return f"{of.constant}._replace(encode={view.scaled if of.scaled else view.for_trees})"


def _modules(problem: Problem, kinds: Collection[str]) -> list[str]:
    """Return the recipe modules that the expressions of kinds need."""
    modules = [_KINDS[kind].module for kind in kinds]
    view = _VIEWS.get(problem.shape)
    seen = view is not None and not all(_KINDS[kind].own_view for kind in kinds)
    return [view.module, *modules] if view is not None and seen else modules
