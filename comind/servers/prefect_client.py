"""The client of the configured Prefect server, and what its errors mean."""

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx

from comind.errors import UsageError

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_log = logging.getLogger(__name__)


def open_client() -> "AbstractContextManager[SyncPrefectClient]":
    """Return a client of the configured server, for the length of a block."""
    from prefect.client.orchestration import get_client

    return get_client(sync_client=True)


def server_versions() -> tuple[str, str]:
    """Return the versions of Prefect of the configured server and here.

    Raises:
        UsageError: the server names no version.
    """
    try:
        with open_client() as client:
            return client.api_version(), client.client_version()
    except httpx.HTTPError as error:
        reason = failure_reason(error)
        raise UsageError(f"the Prefect server's version cannot be read ({reason})") from None


def failure_reason(error: httpx.HTTPError) -> str:
    """Return why a request to Prefect's server failed, in a few words."""
    if not isinstance(error, httpx.HTTPStatusError):
        return type(error).__name__
    if error.response.status_code == HTTPStatus.UNAUTHORIZED:
        return "it requires another PREFECT_API_AUTH_STRING"
    return f"HTTP {error.response.status_code}"


def failed_call(error: Exception, api: str) -> str:
    """Return why a request to the server at `api` failed, in a few words; "" for other exceptions."""
    if not isinstance(error, httpx.HTTPError):
        return ""
    try:
        url = str(error.request.url)
    except RuntimeError:  # it names no request
        return ""
    return failure_reason(error) if url.startswith(f"{api}/") else ""


def current_flow_run() -> str:
    """Return the id of the flow run that this code runs in; "" outside of one."""
    from prefect.runtime import flow_run

    return str(flow_run.id or "")


def campaign_of_earlier_try() -> str:
    """Return the campaign that an earlier try of the current flow run has run; "" if there is none.

    Raises:
        httpx.HTTPError: the server does not answer, or refuses.
    """
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId
    from prefect.runtime import flow_run

    if flow_run.run_count <= 1:
        return ""
    children = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[UUID(flow_run.id)]))
    with open_client() as client:
        found = client.read_flow_runs(flow_run_filter=children)
    return next((str(each.parameters["campaign"]) for each in found), "")


def tag_flow_run(**values: str) -> None:
    """Tag the current flow run with values by name, such as `agent:comind`; its tasks get no tags.

    A server that does not take them costs a warning in the log.
    """
    tags = [f"{name}:{value}" for name, value in values.items()]
    try:
        with open_client() as client:
            client.update_flow_run(UUID(current_flow_run()), tags=tags)
    except httpx.HTTPError as error:
        _log.warning("the flow run has no tags (%s)", failure_reason(error))


def emit_campaign_event(campaign: str, event: str, facts: Mapping[str, Any]) -> None:
    """Send the event `comind.campaign.EVENT` to the server, for automations; returns at once."""
    from prefect.events import emit_event

    resource = {"prefect.resource.id": f"comind.campaign.{campaign}", "prefect.resource.name": campaign}
    emit_event(f"comind.campaign.{event}", resource, payload=dict(facts))
