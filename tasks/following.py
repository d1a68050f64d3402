"""Tasks of a followed day: each runs one step by its name, and returns its result.

A step writes what it did to the log before it ends, so that a retry repeats nothing.
"""

from pathlib import Path
from typing import Any

from comind.app.open_days import open_day_of
from comind.following.day import StepName
from tasks import is_kaggle_busy, step


# The client has retried each request with backoff before.
@step("{name}", retries=1, delay=60, condition=is_kaggle_busy)
def repeatable_step(project: Path, slug: str, name: StepName, values: tuple[Any, ...] = ()) -> Any:
    """Run a step that may be repeated: it only reads Kaggle and writes the log."""
    return open_day_of(project, slug).day.perform(name, *values)


# What was sent is not sent again; the next day finds out whether it arrived.
@step("{name}", retries=0)
def single_step(project: Path, slug: str, name: StepName, values: tuple[Any, ...] = ()) -> Any:
    """Run a step that must not be repeated, such as one that submits a file."""
    return open_day_of(project, slug).day.perform(name, *values)
