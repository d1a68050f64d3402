"""Tasks that project a campaign's logs after every round: publish, version, track, deliver, commit.

Each is idempotent, so it is retried where git, DVC or the database is busy, and repeated after a crash.
"""

from pathlib import Path

from comind.adapters.dvc.versioning import version
from comind.app.projections import Projections
from tasks import step


@step(retries=2)
def version_data(project: Path, paths: list[Path]) -> None:
    """Add files or folders to DVC, each with a pointer of its own.

    Raises:
        ServiceError: DVC fails, the disk is full, or another process keeps the lock.
    """
    version(project, paths)


@step(retries=2)
def track_campaign(projections: Projections) -> None:
    """Write new events, lineages and scripts to MLflow, and the ids of its runs to `runs.json`."""
    projections.track()


@step(retries=2)
def deliver_submission(projections: Projections) -> None:
    """Write submission, leaderboard and journal to the campaign's folder.

    Raises:
        CampaignError: a graded submission was changed.
    """
    projections.deliver()


@step(retries=2)
def commit_campaign(projections: Projections) -> None:
    """Commit `.dvc` files and logs to the campaign's ref, which is also a DVC experiment.

    Raises:
        OrchestrationError: git fails.
    """
    projections.commit()
