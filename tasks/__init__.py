"""Prefect tasks.

A task calls one function of the application or below, and its decorator states what a retry is for.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE

from comind.errors import ComindError, GraderError, KaggleBusyError, OrchestrationError, SandboxError

P = ParamSpec("P")
R = TypeVar("R")


def may_pass(_task: Any, _run: Any, state: Any) -> bool:
    """Return whether a retry may succeed: our own errors are permanent, those of other processes not."""
    error = state.result(raise_on_failure=False)
    passing = isinstance(error, OrchestrationError | GraderError | SandboxError)
    return passing or not isinstance(error, ComindError)


def is_kaggle_busy(_task: Any, _run: Any, state: Any) -> bool:
    """Return whether a task run failed as Kaggle was busy."""
    return isinstance(state.result(raise_on_failure=False), KaggleBusyError)


def step(
    run_name: str | None = None,
    *,
    retries: int,
    delay: float = 1,
    condition: Callable[[Any, Any, Any], bool] = may_pass,
) -> Callable[[Callable[P, R]], Task[P, R]]:
    """Return the decorator of a task: retried after `delay` seconds, if `condition` holds.

    Tasks have no timeout, which would interrupt a write: cells, requests, locks and budgets have their
    own. Nothing is cached, as the log decides what is repeated. There are no tags: for each run of a
    tagged task Prefect takes a lease from its server, which takes about 2 seconds.
    """
    return task(
        task_run_name=run_name,
        retries=retries,
        retry_delay_seconds=delay,
        retry_condition_fn=condition,
        timeout_seconds=None,
        cache_policy=NO_CACHE,
    )
