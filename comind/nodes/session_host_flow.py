"""The flow that a worker of a node's pool runs: one session of an attempt, for a driver elsewhere."""

import logging
import os
from pathlib import Path

from prefect import flow

from comind.app.log_settings import configure_run_logging
from comind.nodes.placement import HostOrder
from comind.nodes.session_host import SEALED, host_session

_log = logging.getLogger(__name__)

_CACHE = "COMIND_NODE_CACHE"
_NAME = "COMIND_NODE"
_SANDBOXES = "COMIND_NODE_SANDBOXES"


# A retry would dial in with a token that the driver no longer accepts; it requests another session.
@flow(flow_run_name="{name}", persist_result=False, retries=0)
def session_host(name: str, address: str, certificate: str, token: str) -> str:
    """Dial in to a driver and run one of its sessions to its end; returns why it ended.

    `COMIND_NODE_CACHE` is the folder of inputs by content hash, by default `~/.cache/comind/node`;
    `COMIND_NODE` names the node, by default as the machine; `COMIND_NODE_SANDBOXES` lists the sandboxes
    that its owner accepts, by default `docker,bubblewrap`, so that no code runs outside of one.

    Args:
        name: campaign, work and number of the session.
        address: `host:port` of the driver.
        certificate: the driver's certificate as PEM.
        token: token for this session alone.
    """
    configure_run_logging()
    cache = Path(os.environ.get(_CACHE) or "~/.cache/comind/node").expanduser()
    order = HostOrder(name=name, address=address, certificate=certificate, token=token)
    listed = os.environ.get(_SANDBOXES, ",".join(SEALED)).split(",")
    accepted = tuple(each.strip() for each in listed if each.strip())
    reason = host_session(order, cache, node=os.environ.get(_NAME, ""), accepted=accepted)
    _log.info(reason)
    return reason
