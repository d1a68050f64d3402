"""Choose recipes for a competition, and bundle them as programs."""

from dataclasses import fields

from comind.baseline.bundle import bundle
from comind.baseline.recipes.task import Task
from comind.domain.problem import DataShape, Problem
from comind.domain.value import Value

_RECIPES = {
    DataShape.TABLE: "table",
    DataShape.TEXT: "text",
    DataShape.TEXT_TO_TEXT: "text_to_text",
    DataShape.IMAGES: "images",
    DataShape.MASKS: "image_masks",
    DataShape.PIXELS: "pixels",
    DataShape.AUDIO: "audio",
    DataShape.PANEL: "panel",
}
_LAST_RESORT = "constant"
_SAMPLE = 10_000
"""Rows of train that a recipe is fitted on where it did not finish on all, of twice as many or more."""
_QUICK = 5_000  # rows of a table that take seconds
_READERS = {"text_to_text": "read_texts"}  # the others take `read_tables`


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
    best, *others = dict.fromkeys((_RECIPES[problem.shape], _RECIPES[DataShape.TABLE], _LAST_RESORT))
    found = [_program(best, task)]
    if problem.train_rows >= 2 * _SAMPLE and problem.shape is not DataShape.PANEL:
        found.append(_program(best, task, rows=_SAMPLE))
    slow = problem.shape is not DataShape.TABLE or problem.train_rows > _QUICK
    found += [_program(recipe, task) for recipe in others]
    return (*found[:-1], found[-1].model_copy(update={"first": slow}))


def _program(recipe: str, task: Task, *, rows: int = 0) -> Program:
    """Return the program of a recipe, on all rows of train or on a sample."""
    name = recipe.replace("_", " ") + (f" on {rows:,} rows" if rows else "")
    return Program(name=name, code=bundle(recipe, _ending(recipe, task, rows)))


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
        **problem.traits.model_dump(exclude={"means"}),
    )


def preamble(task: Task, reader: str = "read_tables") -> str:
    """Return the statements that define `task` and read `tables`."""
    arguments = "".join(f"    {each.name}={getattr(task, each.name)!r},\n" for each in fields(task))
    return f"task = Task(\n{arguments})\ntables = {reader}(task)\n"


def _ending(recipe: str, task: Task, rows: int) -> str:
    """Return the statements that run a recipe, on so many rows of train, or on all of them."""
    sample = (
        f"sample = tables.train.sample({rows}, random_state=task.seed).sort_index()\n"
        "tables = tables._replace(train=sample.reset_index(drop=True))\n"
    )
    return (
        f"{preamble(task, _READERS.get(recipe, 'read_tables'))}{sample if rows else ''}"
        "predicted = predict(task, tables)\n"
        "write_submissions(task, tables, predicted)\n"
    )
