"""The task that publishes solutions: code, report, submissions and checkpoints of scored attempts."""

from collections.abc import Mapping
from pathlib import Path

from comind.app import publishing
from comind.campaign.log.outcome import CodeOutcome
from comind.campaign.log.work import Code
from tasks import step


@step(retries=2)
def publish_solutions(
    project: Path, campaign: str, attempts: Mapping[str, tuple[Code, CodeOutcome]]
) -> None:
    """Publish scored attempts, given by their ids; idempotent."""
    publishing.publish_solutions(project, campaign, attempts)
