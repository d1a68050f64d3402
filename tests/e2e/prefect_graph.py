"""Read the graph of a flow run from Prefect's API."""

import os
import time
from collections.abc import Callable
from typing import Any

from prefect.client.orchestration import SyncPrefectClient

__all__ = ["filtered", "wait_for_steps"]

_SECONDS = 20.0  # the server stores what it is sent a little later


def wait_for_steps(api: str, flow_run: str, steps: set[str], name: Callable[[Any], str]) -> None:
    """Wait until the runs of this name have a completed task run for each step, and no other state.

    `name` returns the step of a task run.
    """
    wanted = {"flow_runs": {"name": {"any_": [flow_run]}}}
    deadline = time.monotonic() + _SECONDS
    found: dict[str, set[str]] = {}
    while not found.keys() >= steps or set().union(*found.values()) != {"COMPLETED"}:
        assert time.monotonic() < deadline, (steps - found.keys(), found)
        time.sleep(0.2)
        found = {}
        for run in filtered(api, "task_runs", wanted):
            found.setdefault(name(run), set()).add(run["state_type"])


def filtered(api: str, what: str, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the API lists under a filter."""
    with SyncPrefectClient(api, auth_string=os.environ["PREFECT_API_AUTH_STRING"]) as client:
        return client.request("POST", f"/{what}/filter", json=wanted).json()
