"""The task that reads the environment of a campaign: code, interpreter, packages, sandbox, machine."""

from comind.app.current_environment import environment_of
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.domain.environment import Environment
from tasks import step


@step(retries=1)
def read_environment(spec: CampaignSpec) -> tuple[Environment, str]:
    """Return the current environment, and the diff of CoMind's code to its commit."""
    return environment_of(spec)
