"""Settings of the tools that we start, set before any of them is imported."""

import os
from pathlib import Path

from comind.campaign.log.campaign_folders import ProjectFolder

__all__ = ["prepare_environment"]


def prepare_environment(project: Path) -> None:
    """Point every tool at the project's folder, and let none of them report home."""
    os.environ.update(
        {
            "DO_NOT_TRACK": "true",  # MLflow takes this very word, not "1"
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_LOGGING_LEVEL": "WARNING",
            "DVC_NO_ANALYTICS": "1",
            "ITERATIVE_DO_NOT_TRACK": "1",
            "GX_ANALYTICS_ENABLED": "false",
            # An ephemeral server would outlive a killed campaign; ours does not.
            "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
            "PREFECT_HOME": str(ProjectFolder(project).orchestration),
            "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        }
    )
    # What Prefect logs goes to its server, to be read beside the run; the terminal is ours.
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    # An event that cannot be sent is no concern of the user's, and its client would say so at each.
    os.environ.setdefault("PREFECT_LOGGING_INTERNAL_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_CLI_PROMPT", "false")
    # A server that is gone is noticed in seconds, not after a minute of trying at every call.
    os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", "3")
