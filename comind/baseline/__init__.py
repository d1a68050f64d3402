"""The baseline: recipes that need no language model."""

from importlib import resources

from comind.domain.problem import DataShape, Problem
from comind.domain.value import Value

__all__ = ["Program", "programs"]

_RECIPES = {
    DataShape.TABLE: ("answers", "table"),
    DataShape.TEXT: ("answers", "text"),
    DataShape.TEXT_TO_TEXT: ("answers", "text_to_text"),
    DataShape.IMAGES: ("answers", "files", "images"),
    DataShape.PIXELS: ("answers", "files", "pixels"),
    DataShape.AUDIO: ("answers", "files", "audio"),
    DataShape.PANEL: ("answers", "panel"),
}
_LAST_RESORT = ("answers", "constant")


class Program(Value):
    """A program."""

    name: str
    code: str


def programs(problem: Problem, seed: int) -> tuple[Program, ...]:
    """Return the programs."""
    names = dict.fromkeys((_RECIPES[problem.shape], _RECIPES[DataShape.TABLE], _LAST_RESORT))
    values = {
        "FOLDER": problem.folder,
        "IDS": list(problem.id_columns),
        "TRAIN_IDS": list(problem.train_id_columns),
        "LABELS": list(problem.label_columns),
        "TARGETS": list(problem.target_columns),
        "KIND": problem.answer_kind.value,
        "METRIC": problem.metric,
        "SEED": seed,
    }
    constants = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    folder = resources.files("comind.llm") / "recipes"
    return tuple(
        Program(
            name=recipe[-1].replace("_", " "),
            code="\n".join([constants, *((folder / f"{n}.py").read_text("utf-8") for n in recipe)]),
        )
        for recipe in names
    )
