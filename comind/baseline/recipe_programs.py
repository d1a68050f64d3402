"""Choose recipes for a competition, and bundle them as programs."""

from dataclasses import fields
from typing import NamedTuple

from comind.baseline.bundle import bundle
from comind.baseline.recipes.task import Task
from comind.domain.problem import DataShape, Problem
from comind.domain.value import Value

_SAMPLE = 10_000
"""Rows of train that a recipe is fitted on where it did not finish on all, of twice as many or more."""
_QUICK = 5_000  # rows of a table that take seconds


class Recipe(NamedTuple):
    """The modules, encodings and families of models in programs for a shape of data."""

    module: str
    """The recipe, and its encodings of the data."""
    reader: str = "read_tables"
    families: tuple[str, ...] = ()
    """Families of models in the order in which they are screened: those first that take little time.

    `EMBEDDINGS` are those of the store's models.
    """
    for_trees: str = ""
    """The encoding for boosting, where it is not that of columns."""
    scaled: str = ""
    """The one for models of scaled matrices."""
    packages: tuple[str, ...] = ()
    """Packages that any family needs to read the data."""


EMBEDDINGS = "embeddings"
_LAST_RESORT = Recipe("constant")
_SCALED, _BOOSTING = ("linear", "nearest neighbours", "kernel", "trees"), ("LightGBM", "histograms")
_TABULAR = ("RealMLP", "TabICL", "TabPFN", "TabM")
RECIPES = {
    DataShape.TABLE: Recipe(
        "table", families=(*_SCALED, *_BOOSTING, "net", "XGBoost", "CatBoost", *_TABULAR)
    ),
    DataShape.TEXT: Recipe(
        "text",
        families=("naive Bayes", "words", "weighted words", "characters", "net", *_BOOSTING, EMBEDDINGS),
        for_trees="scaled_topics",
        scaled="scaled_topics",
    ),
    DataShape.TEXT_TO_TEXT: Recipe("text_to_text", "read_texts"),
    DataShape.IMAGES: Recipe(
        "images",
        families=(*_SCALED, "net", *_BOOSTING, EMBEDDINGS, "convolutions"),
        for_trees="scaled_images",
        scaled="scaled_images",
        packages=("torch", "pillow"),
    ),
    DataShape.MASKS: Recipe("image_masks"),
    DataShape.PIXELS: Recipe("pixels"),
    DataShape.AUDIO: Recipe(
        "audio",
        families=(*_SCALED, "net", *_BOOSTING),
        for_trees="audio_features",
        scaled="scaled_audio",
        packages=("soundfile",),
    ),
    DataShape.PANEL: Recipe("panel"),
}


class Program(Value):
    """A self-contained program that writes both submissions; it does not import comind."""

    name: str
    """Name of the recipe in words: `table`, `text to text`."""
    code: str
    first: bool = False
    """Whether it runs before all others: an answer within seconds, which they improve."""


def programs(problem: Problem, seed: int) -> tuple[Program, ...]:
    """Return programs in order of preference; the later ones are fallbacks, and take less time.

    Where the recipe may take minutes, the constant prediction is run first.
    """
    task = task_of(problem, seed)
    best, *others = dict.fromkeys((RECIPES[problem.shape], RECIPES[DataShape.TABLE], _LAST_RESORT))
    found = [_program(best, task)]
    if problem.train_rows >= 2 * _SAMPLE and problem.shape is not DataShape.PANEL:
        found.append(_program(best, task, rows=_SAMPLE))
    slow = problem.shape is not DataShape.TABLE or problem.train_rows > _QUICK
    found += [_program(recipe, task) for recipe in others]
    return (*found[:-1], found[-1].model_copy(update={"first": slow}))


def _program(recipe: Recipe, task: Task, *, rows: int = 0) -> Program:
    """Return the program of a recipe, on all rows of train or on a sample."""
    name = recipe.module.replace("_", " ") + (f" on {rows:,} rows" if rows else "")
    return Program(name=name, code=bundle(recipe.module, _ending(recipe, task, rows)))


def task_of(problem: Problem, seed: int) -> Task:
    """Return the recipes' description of a problem."""
    return Task(
        folder=problem.folder,
        id_columns=list(problem.id_columns),
        train_id_columns=list(problem.train_id_columns),
        label_columns=list(problem.label_columns),
        target_columns=list(problem.target_columns),
        answer_kind=problem.answer_kind.value,
        seed=seed,
        positive_class=problem.positive_class,
        probabilities=str(problem.probability_form or ""),
        **problem.traits.model_dump(exclude={"means"}),
    )


def preamble(task: Task, reader: str = "read_tables") -> str:
    """Return the statements that define `task` and read `tables`."""
    arguments = "".join(f"    {each.name}={getattr(task, each.name)!r},\n" for each in fields(task))
    return f"task = Task(\n{arguments})\ntables = {reader}(task)\n"


def _ending(recipe: Recipe, task: Task, rows: int) -> str:
    """Return the statements that run a recipe, on so many rows of train, or on all of them."""
    sample = (
        f"sample = tables.train.sample({rows}, random_state=task.seed).sort_index()\n"
        "tables = tables._replace(train=sample.reset_index(drop=True))\n"
    )
    return (
        f"{preamble(task, recipe.reader)}{sample if rows else ''}"
        "predicted = predict(task, tables)\n"
        "write_submissions(task, tables, predicted)\n"
    )
