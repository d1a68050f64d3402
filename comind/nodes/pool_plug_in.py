"""The plug-in of the core for `--pool`: sessions on the workers of a Prefect work pool."""

import contextlib
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pydantic import Field

from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.domain.value import Value, validate_input
from comind.errors import UsageError
from comind.nodes.certificate import create_certificate
from comind.nodes.driver_server import DriverServer
from comind.nodes.input_store import S3InputStore
from comind.nodes.node_sessions import NodeSessions
from comind.nodes.remote_session import Nodes
from comind.nodes.work_pool import SessionPool, online_workers


class NodeSettings(Value):
    """The section `nodes` of params.yaml: how nodes of a work pool reach this machine."""

    address: str | None = None
    """Host name or IP address; None for this machine's name."""
    port: int = Field(default=0, ge=0, lt=65536)
    """TCP port to listen at, with TLS; 0 for any free one."""
    start_seconds: float = Field(default=90, gt=0)
    """From a worker's taking a session to its connection, before another node is requested, too; doubled
    each time that none connects."""
    store: str | None = None
    """`s3://BUCKET/PREFIX` for large inputs, which nodes fetch there; None: the driver sends them."""
    store_endpoint: str | None = None
    """URL of an S3-compatible server; None for AWS."""
    bandwidth_mb: float | None = Field(default=None, gt=0)
    """Most megabytes a second that this machine sends to all nodes of a campaign, and that it receives
    from them; None is no limit. What nodes fetch from a store is not limited."""


@contextlib.contextmanager
def provide(
    pool: str, campaign: CampaignFolder, spec: CampaignSpec, settings: Mapping[str, Any]
) -> Iterator[NodeSessions]:
    """Accept session hosts of a work pool for the length of the block.

    Raises:
        UsageError: there is no such pool, a setting is wrong, or the port cannot be bound.
    """
    reached = _validated(settings)
    store = S3InputStore(reached.store, reached.store_endpoint) if reached.store else None
    placement = SessionPool(pool, campaign.name, reached.start_seconds)
    folder = campaign.root / "nodes"  # for keys and files in transit
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    try:
        with DriverServer(
            create_certificate(folder / "tls"),
            address=reached.address or socket.gethostname(),
            port=reached.port,
            store=store,
            bandwidth_mb=reached.bandwidth_mb,
        ) as server:
            try:
                yield NodeSessions(Nodes(server, placement, folder / "staging"), spec)
            finally:
                placement.cancel_all()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def checks(pool: str, settings: Mapping[str, Any]) -> Iterable[tuple[str, Callable[[], str]]]:
    """Return the checks of `comind doctor`: the pool has workers, and the store answers."""
    yield f"pool {pool}", partial(_workers, pool)
    reached = _validated(settings)
    if reached.store:
        yield f"store {reached.store}", partial(_store, reached.store, reached.store_endpoint)


def _validated(settings: Mapping[str, Any]) -> NodeSettings:
    return validate_input(NodeSettings, dict(settings), "params.yaml: nodes")


def _workers(pool: str) -> str:
    workers = online_workers(pool)
    if not workers:
        raise UsageError("no worker is online", hint=f"prefect worker start --pool {pool}")
    return f"online: {', '.join(workers)}"


def _store(address: str, endpoint: str | None) -> str:
    return S3InputStore(address, endpoint).check()
