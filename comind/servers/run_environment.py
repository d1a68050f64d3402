"""Environment variables of processes that run flows."""

from comind.system.child_environment import SAFE_PATH

LOGGERS = ("comind", "flows", "tasks")
"""Our loggers; those of modules are below them."""

LOGGED_RUNS = {
    "PREFECT_LOGGING_EXTRA_LOGGERS": ",".join(LOGGERS),
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
"""Makes Prefect keep what our loggers get in a flow run with the run, as its page shows."""

RUN_ENVIRONMENT = SAFE_PATH | LOGGED_RUNS
"""For the jobs of a worker; `prefect.yaml` has the same."""
