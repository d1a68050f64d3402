"""Settings of the tools that hold for each project: no telemetry, no output of their own."""

import os

from comind.servers.run_environment import LOGGED_RUNS

_ALWAYS = {
    "DO_NOT_TRACK": "true",  # MLflow accepts only this value, not "1"
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "DVC_NO_ANALYTICS": "1",
    "ITERATIVE_DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
    # An ephemeral server would outlive a killed campaign; ours does not.
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # on a server, after each run
}
_UNLESS_SET = LOGGED_RUNS | {
    # Prefect's log goes to its server and is shown beside the run, not on the terminal.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    # Prefect's client logs each event that it cannot send; users need not see that.
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
    "PREFECT_CLI_PROMPT": "false",
    # With the default number of retries, each call to a dead server takes a minute.
    "PREFECT_CLIENT_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",  # of a tracking server
}


def quieten_tools() -> None:
    """Set the environment variables; before any of the tools is imported, as they read them then."""
    os.environ.update(_ALWAYS)
    for name, value in _UNLESS_SET.items():
        os.environ.setdefault(name, value)
