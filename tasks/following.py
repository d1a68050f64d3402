"""Tasks of a followed day: each runs one step, and returns its result.

A step writes what it did to the log before it ends, so that a retry repeats nothing. None has a timeout:
requests to Kaggle have one, and a slice has its budget.
"""

from collections.abc import Callable
from typing import TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.competitions import is_kaggle_busy

__all__ = ["run_step"]

T = TypeVar("T")


@task(
    cache_policy=NO_CACHE,
    task_run_name="{step}",
    retries=1,
    retry_delay_seconds=60,
    retry_condition_fn=is_kaggle_busy,  # the client has retried each request with backoff before
    timeout_seconds=None,
)
def repeatable_step(step: str, act: Callable[[], T]) -> T:
    """Run a step that may be repeated: it only reads Kaggle and writes the log."""
    del step
    return act()


# What was sent is not sent again; the next day finds out whether it arrived.
@task(
    cache_policy=NO_CACHE,
    task_run_name="{step}",
    retries=0,
    retry_delay_seconds=0,
    timeout_seconds=None,
)
def single_step(step: str, act: Callable[[], T]) -> T:
    """Run a step that must not be repeated, as it submits a file."""
    del step
    return act()


def run_step(step: str, act: Callable[[], T], *, repeatable: bool) -> T:
    """Run a step of a day as a task run of its name."""
    return (repeatable_step if repeatable else single_step)(step, act)
