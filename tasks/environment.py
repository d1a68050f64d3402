"""The task that reads the environment of a campaign: code, interpreter, packages, sandbox, machine."""

from comind.app.current_environment import current_environment
from comind.domain.environment import Environment
from comind.domain.resources import StoreFolders
from tasks import step

__all__ = ["read_environment"]


@step(retries=1)
def read_environment(
    wanted: str,
    *,
    own_code: bool,
    prompts: tuple[str, ...] = (),
    store: StoreFolders = StoreFolders(),  # noqa: B008 - frozen, safe to share
) -> tuple[Environment, str]:
    """Return the current environment, and the diff of CoMind's code to its commit."""
    return current_environment(wanted, own_code=own_code, prompts=prompts, store=store)
