"""The task that reads the environment of a campaign: code, interpreter, packages, sandbox, machine."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from comind.app.current_environment import current_environment
from comind.domain.environment import Environment
from comind.domain.resources import StoreFolders

__all__ = ["read_environment"]


# Errors are permanent; the program inside the sandbox has a timeout.
@task(
    cache_policy=NO_CACHE,
    retries=0,
    retry_delay_seconds=0,
    timeout_seconds=None,
)
def read_environment(
    wanted: str,
    *,
    own_code: bool,
    prompts: tuple[str, ...] = (),
    store: StoreFolders = StoreFolders(),  # noqa: B008 - frozen, safe to share
) -> tuple[Environment, str]:
    """Return the current environment, and the diff of CoMind's code to its commit."""
    return current_environment(wanted, own_code=own_code, prompts=prompts, store=store)
