"""Write programs that screen families of models, tune hyperparameters, and fit with the settings found.

A screening prints a line of JSON for each family (`screened_in`), a search one whenever its loss
improves (`parse_search_result` reads the last one). A fitting program has families and settings in its
source, so that running it again needs no search.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

from pydantic import Field, JsonValue, ValidationError

from comind.baseline.bundle import bundle
from comind.baseline.recipe_programs import RECIPES, preamble, task_of
from comind.domain.problem import AnswerKind, Problem
from comind.domain.value import Value

T = TypeVar("T", bound=Value)

_Settings = Mapping[str, JsonValue]


class _Family(NamedTuple):
    """A family of models, and the recipe module that defines it."""

    module: str
    constant: str
    package: str = "scikit-learn"
    slow: bool = False
    """Whether it is skipped with many rows."""
    of_classes: bool = False
    """Whether it is a classifier only."""


_FAMILIES = {
    "words": _Family("text", "WORDS"),
    "naive Bayes": _Family("text", "COUNTS", of_classes=True),
    "weighted words": _Family("text", "WEIGHTED", of_classes=True),
    "characters": _Family("text", "CHARACTERS", slow=True),
    "LightGBM": _Family("boosting", "LIGHTGBM", "lightgbm"),
    "linear": _Family("scaled_models", "LINEAR"),
    "CatBoost": _Family("boosting", "CATBOOST", "catboost", slow=True),
    "trees": _Family("scaled_models", "TREES"),
    "XGBoost": _Family("boosting", "XGBOOST", "xgboost-cpu"),
    "histograms": _Family("boosting", "HISTOGRAMS"),
    "kernel": _Family("scaled_models", "KERNEL", slow=True),
    "net": _Family("scaled_models", "NET", slow=True),
    "nearest neighbours": _Family("scaled_models", "NEIGHBOURS", slow=True),
    "convolutions": _Family("images", "CONVOLUTIONS", "torch"),
}

_MANY_ROWS = 20_000  # from which on slow families are left out
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
    """The loss and time of a family on one fold, with its initial settings."""

    family: str
    loss: float
    """Smaller is better."""
    seconds: float = Field(ge=0)

    @property
    def fit_seconds(self) -> float:
        """About how long the models of all folds take."""
        return _FOLDS * self.seconds


def families_for(problem: Problem, packages: Collection[str]) -> tuple[str, ...]:
    """Return the families that can be tuned for a problem, in the order to try them.

    `packages` are those installed for programs. Empty for data and answers that no family supports.
    """
    if unsupported_reason(problem, packages):
        return ()
    classes = problem.answer_kind is not AnswerKind.NUMBER and not problem.traits.ordered
    installed = {"scikit-learn", *packages}
    families = [
        name
        for name in RECIPES[problem.shape].families
        if (family := _FAMILIES[name]).package in installed
        and not (family.slow and problem.train_rows > _MANY_ROWS)
        and (classes or not family.of_classes)
    ]
    if "LightGBM" in families:
        families.remove("histograms")  # their errors are correlated
    return tuple(families)


def unsupported_reason(problem: Problem, packages: Collection[str]) -> str:
    """Return why no family supports a problem; empty if some do."""
    if problem.program is not None:
        return "submissions are programs"
    ranked = problem.answer_kind is AnswerKind.LABEL_SET and problem.traits.guesses > 0
    learnt = ranked or problem.answer_kind.of_classes or problem.answer_kind is AnswerKind.NUMBER
    recipe = RECIPES[problem.shape]
    if not learnt or not recipe.families:
        return f"{problem.shape} with {problem.answer_kind} answers"
    of_class = problem.answer_kind is AnswerKind.CLASS_PROBABILITIES
    targets = len(problem.label_columns if of_class else problem.target_columns)
    if targets > _MOST_TARGETS:
        return f"{targets} targets, more than {_MOST_TARGETS}"
    missing = [name for name in recipe.packages if name not in packages]
    return f"{problem.shape} without {' and '.join(missing)}" if missing else ""


def screen_program(problem: Problem, seed: int, families: Collection[str]) -> str:
    """Return the program that tries each of `families` on one fold, in this order."""
    listed = "".join(
        f"    ({family!r}, {_family_expression(problem, family)}),\n" for family in families
    )
    ending = f"families = [\n{listed}]\nscreen(task, tables, families)\n"
    return _bundled(problem, seed, families, ending)


def search_program(
    problem: Problem, seed: int, family: str, evaluations: int, start: _Settings | None = None
) -> str:
    """Return the program of a search of `evaluations` settings, from `start` or the default."""
    begin = _settings_expression(family, start)
    ending = f"search(task, tables, {_family_expression(problem, family)}, {evaluations}, {begin})\n"
    return _bundled(problem, seed, [family], ending)


def fit_program(problem: Problem, seed: int, members: Mapping[str, _Settings | None]) -> str:
    """Return the program that averages models of these families and settings, and writes submissions.

    None: the default settings of a family.
    """
    lines = "".join(
        f"    ({_family_expression(problem, family)}, {_settings_expression(family, settings)}),\n"
        for family, settings in members.items()
    )
    ending = f"members = [\n{lines}]\nfit_and_submit(task, tables, members)\n"
    return _bundled(problem, seed, members, ending)


def screened_in(output: str) -> tuple[Screened, ...]:
    """Return what a screening printed, the least loss first; without families without a finite loss."""
    return tuple(sorted(_printed(Screened, output), key=lambda each: each.loss))


def affordable(screened: Iterable[Screened], seconds: float, most: int) -> tuple[str, ...]:
    """Return the first families, `most` of them, whose models can be fitted in `seconds` together."""
    families: list[str] = []
    for each in screened:
        if len(families) < most and each.fit_seconds <= seconds:
            families.append(each.family)
            seconds -= each.fit_seconds
    return tuple(families)


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


def _bundled(problem: Problem, seed: int, families: Collection[str], ending: str) -> str:
    """Return a program that reads the data and ends with `ending`."""
    recipe = RECIPES[problem.shape]
    modules = [_FAMILIES[family].module for family in families]
    text = preamble(task_of(problem, seed)) + ending
    return bundle("searching", text, extra=[recipe.module, *modules] if recipe.scaled else modules)


def _family_expression(problem: Problem, family: str) -> str:
    """Return the expression of a family that sees such data."""
    recipe, of = RECIPES[problem.shape], _FAMILIES[family]
    encode = {"boosting": recipe.for_trees, "scaled_models": recipe.scaled}.get(of.module)
    return f"{of.constant}._replace(encode={encode})" if encode else of.constant


def _settings_expression(family: str, settings: _Settings | None) -> str:
    """Return the expression of settings; None: the default of a family."""
    return f"{_FAMILIES[family].constant}.start" if settings is None else repr(dict(settings))
