"""The flow that reproduces submissions of a campaign from their lineage."""

from pathlib import Path
from typing import Any

from prefect import flow

from comind.app.reproduction import reproduce_submissions


# A second run would find the same differences; damaged data stay damaged.
@flow(flow_run_name="reproduce {name}", persist_result=False, retries=0)
def reproduce(
    project: Path, name: str, sandbox: str | None = None, everything: bool = False
) -> dict[str, Any]:
    """Run scripts of a campaign again, without model calls, and compare their submissions.

    Args:
        project: a git repository with the campaign's ref, or a clone of one.
        name: a campaign, `CAMPAIGN/attempt-000`, or the id of an MLflow run.
        sandbox: where the scripts run; default: the strongest available.
        everything: all published solutions instead of the final pick and its refit.

    Raises:
        ComindError: as `reproduce_submissions` fails.
    """
    return reproduce_submissions(project, name, sandbox=sandbox, everything=everything)
