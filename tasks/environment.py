"""The task that reads the environment of a campaign: code, interpreter, packages, sandbox, machine."""

from pathlib import Path

from comind.app.current_environment import environment_of
from comind.app.open_campaigns import open_campaign_of
from comind.domain.environment import Environment
from tasks import step


@step("open: environment", retries=1)
def read_environment(project: Path, campaign: str) -> tuple[Environment, str]:
    """Return the current environment, and the diff of CoMind's code to its commit."""
    return environment_of(open_campaign_of(project, campaign).state().spec)
