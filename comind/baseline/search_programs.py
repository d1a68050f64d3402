"""Write programs that screen kinds of models, tune hyperparameters, and fit with the settings found.

A screening prints a line of JSON for each kind (`screened_in`), a search one whenever its loss improves
(`parse_search_result` reads the last one). A fitting program has kinds and settings in its source, so
that running it again needs no search.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

from pydantic import Field, JsonValue, ValidationError

from comind.baseline.bundle import bundle
from comind.baseline.recipe_programs import preamble, task_of
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.domain.value import Value

T = TypeVar("T", bound=Value)

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
        *("linear", "nearest neighbours", "kernel", "trees", "LightGBM"),
        *("histograms", "net", "XGBoost", "CatBoost"),
    ),
    DataShape.TEXT: (
        *("naive Bayes", "words", "weighted words", "characters", "net"),
        *_BOOSTING,
    ),
    DataShape.AUDIO: ("linear", "nearest neighbours", "kernel", "trees", "net", *_BOOSTING),
    DataShape.IMAGES: (
        *("linear", "nearest neighbours", "kernel", "trees", "net", *_BOOSTING),
        "convolutions",
    ),
}
"""In the order in which they are screened: those first that take little time."""

_NEEDS = {DataShape.AUDIO: ("soundfile",), DataShape.IMAGES: ("torch", "pillow")}
"""Packages that any kind needs to read the data."""

_ANSWERS = (
    AnswerKind.LABEL,
    AnswerKind.NUMBER,
    AnswerKind.PROBABILITY,
    AnswerKind.CLASS_PROBABILITIES,
)
_MANY_ROWS = 20_000  # from which on slow kinds are left out
_MOST_TARGETS = 4  # each has models of its own
_FOLDS = 5  # on which the models of an average are fitted, about


class SearchResult(Value):
    """The best hyperparameters of a search."""

    settings: dict[str, JsonValue]
    loss: float
    """Mean over folds; lower is better."""
    seconds: float = Field(ge=0)
    """Fitting time of all folds."""


class Screened(Value):
    """The loss and time of a kind of model on one fold, with its initial settings."""

    kind: str
    loss: float
    """Smaller is better."""
    seconds: float = Field(ge=0)

    @property
    def fit_seconds(self) -> float:
        """About how long the models of all folds take."""
        return _FOLDS * self.seconds


def kinds_for(problem: Problem, packages: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of models that can be tuned for a problem, in the order to try them.

    `packages` are those installed for programs. Empty for data and answers that no kind supports.
    """
    if unsupported_reason(problem, packages):
        return ()
    classes = problem.answer_kind is not AnswerKind.NUMBER and not problem.traits.ordered
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
    ranked = problem.answer_kind is AnswerKind.LABEL_SET and problem.traits.guesses > 0
    if not (ranked or problem.answer_kind in _ANSWERS) or problem.shape not in _BY_SHAPE:
        return f"{problem.shape} with {problem.answer_kind} answers"
    of_class = problem.answer_kind is AnswerKind.CLASS_PROBABILITIES
    targets = len(problem.label_columns if of_class else problem.target_columns)
    if targets > _MOST_TARGETS:
        return f"{targets} targets, more than {_MOST_TARGETS}"
    missing = [name for name in _NEEDS.get(problem.shape, ()) if name not in packages]
    return f"{problem.shape} without {' and '.join(missing)}" if missing else ""


def screen_program(problem: Problem, seed: int, kinds: Collection[str]) -> str:
    """Return the program that tries each of `kinds` on one fold, in this order."""
    listed = "".join(f"    ({kind!r}, {_kind_expression(problem, kind)}),\n" for kind in kinds)
    ending = f"kinds = [\n{listed}]\nscreen(task, tables, kinds)\n"
    return _bundled(problem, seed, kinds, ending)


def search_program(
    problem: Problem, seed: int, kind: str, evaluations: int, start: _Settings | None = None
) -> str:
    """Return the program of a search of `evaluations` settings, from `start` or the default."""
    begin = _settings_expression(kind, start)
    ending = f"search(task, tables, {_kind_expression(problem, kind)}, {evaluations}, {begin})\n"
    return _bundled(problem, seed, [kind], ending)


def fit_program(problem: Problem, seed: int, members: Mapping[str, _Settings | None]) -> str:
    """Return the program that averages models of these kinds and settings, and writes submissions.

    None: the default settings of a kind.
    """
    lines = "".join(
        f"    ({_kind_expression(problem, kind)}, {_settings_expression(kind, settings)}),\n"
        for kind, settings in members.items()
    )
    ending = f"members = [\n{lines}]\nfit_and_submit(task, tables, members)\n"
    return _bundled(problem, seed, members, ending)


def screened_in(output: str) -> tuple[Screened, ...]:
    """Return what a screening printed, the least loss first; without kinds that have no finite loss."""
    return tuple(sorted(_printed(Screened, output), key=lambda each: each.loss))


def affordable(screened: Iterable[Screened], seconds: float, most: int) -> tuple[str, ...]:
    """Return the first kinds, `most` of them, whose models can be fitted in `seconds` together."""
    kinds: list[str] = []
    for each in screened:
        if len(kinds) < most and each.fit_seconds <= seconds:
            kinds.append(each.kind)
            seconds -= each.fit_seconds
    return tuple(kinds)


def parse_search_result(output: str) -> SearchResult | None:
    """Parse the last result that a search printed; None if there is none."""
    results = [*_printed(SearchResult, output)]
    return results[-1] if results else None


def _printed(value_type: type[T], output: str) -> Iterator[T]:
    """Yield the values of a type that were printed as JSON, one in a line; skip invalid ones."""
    first_field = next(iter(value_type.model_fields))
    for line in output.splitlines():
        if line.startswith(f'{{"{first_field}"'):
            with suppress(ValidationError):
                yield value_type.model_validate_json(line)


def _bundled(problem: Problem, seed: int, kinds: Collection[str], ending: str) -> str:
    """Return a program that reads the data and ends with `ending`."""
    text = preamble(task_of(problem, seed)) + ending
    return bundle("searching", text, extra=_modules(problem, kinds))


def _kind_expression(problem: Problem, kind: str) -> str:
    """Return the expression of a kind that sees such data."""
    view, of = _VIEWS.get(problem.shape), _KINDS[kind]
    if view is None or of.own_view:
        return of.constant
    return f"{of.constant}._replace(encode={view.scaled if of.scaled else view.for_trees})"


def _settings_expression(kind: str, settings: _Settings | None) -> str:
    """Return the expression of settings; None: the default of a kind."""
    return f"{_KINDS[kind].constant}.start" if settings is None else repr(dict(settings))


def _modules(problem: Problem, kinds: Collection[str]) -> list[str]:
    """Return the recipe modules that the expressions of kinds need."""
    modules = [_KINDS[kind].module for kind in kinds]
    view = _VIEWS.get(problem.shape)
    seen = view is not None and not all(_KINDS[kind].own_view for kind in kinds)
    return [view.module, *modules] if view is not None and seen else modules
