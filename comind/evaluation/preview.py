"""A competition as its solvers see it, from the folder of its split."""

from comind.domain.problem import Problem, Task
from comind.evaluation.facts import Measure, facts_of
from comind.evaluation.shape import shape_of
from comind.evaluation.splits.split_folder import Split, SplitFolder
from comind.system.files import write_atomically

__all__ = ["describe_problem"]

_DESCRIPTION_LENGTH = 60_000
"""Characters; whole descriptions, but for what is no description. Prompts cut them to their sizes."""


def describe_problem(folder: SplitFolder, measure: Measure | None = None) -> Problem:
    """Return what solvers may know of the competition that `folder` is a split of.

    Args:
        folder: the split.
        measure: says about how many tokens a text has; without it `preview` is empty, which costs
            nothing and is enough where no model is asked.
    """
    split = folder.read()
    described = folder.public / "description.md"
    text = described.read_text(errors="replace") if described.is_file() else ""
    return Problem(
        **split.model_dump(include=set(Task.model_fields)),
        description=text[:_DESCRIPTION_LENGTH],
        shape=shape_of(folder.public, split),
        preview=_facts(folder, split, measure) if measure else "",
    )


def _facts(folder: SplitFolder, split: Split, measure: Measure) -> str:
    """Return the facts on the split's public files; counted once, then kept beside them.

    So a campaign that goes on has the same prompts, also with a later version that counts otherwise.
    The folder is named by the hash of all that its files depend on.
    """
    if folder.facts.is_file():
        return folder.facts.read_text()
    text = facts_of(folder.public, split, measure=measure)
    write_atomically(folder.facts, text)
    return text
