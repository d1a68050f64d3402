"""Serve live pages of this project's campaigns, and its MLflow and Prefect pages, until Ctrl-C."""

import argparse
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial

from comind.adapters.mlflow.campaign_runs import campaign_pages
from comind.adapters.mlflow.database import tracking_server
from comind.adapters.mlflow.tracking_store import TrackingStore
from comind.app.campaign_pages import CampaignPages
from comind.app.paths import find_project
from comind.app.reporting import page_of
from comind.cli.arguments import MLFLOW_PORT, PAGES_PORT, PREFECT_PORT
from comind.cli.command import CommandResult
from comind.errors import OrchestrationError, UsageError
from comind.servers.tool_servers import access_file, prepare_environment, serve_pages

_CAMPAIGNS = 5  # links that are printed, newest campaign first


def run(args: argparse.Namespace) -> CommandResult:
    """Run the command."""
    project = find_project(args.out)
    if server := tracking_server():
        raise UsageError(
            f"runs are tracked at {server}, whose pages are there",
            hint="unset MLFLOW_TRACKING_URI for the pages of this project's own database",
        )
    prepare_environment(project)
    port = _port(args.port, PAGES_PORT, "--port")
    mlflow_port = _port(args.mlflow_port, MLFLOW_PORT, "--mlflow-port")
    prefect_port = _port(args.prefect_port, PREFECT_PORT, "--prefect-port")
    mlflow_page, prefect_page = (f"http://127.0.0.1:{port}" for port in (mlflow_port, prefect_port))
    TrackingStore(project)  # MLflow's server would create its tables without a word
    pages = CampaignPages(project, partial(page_of, live=True), port)
    addresses = {
        "CoMind": f"http://127.0.0.1:{port}",
        "MLflow": mlflow_page,
        "Prefect": f"{prefect_page}/runs",
    }
    with pages, ExitStack() as stack:
        servers = stack.enter_context(serve_pages(project, addresses, mlflow_port, prefect_port))
        for name, address in addresses.items():
            print(f"{name:8} {address}", flush=True)
        where = f"PREFECT_API_AUTH_STRING in {access_file(project)}"
        print(f"Password of both, with any name: {where}", flush=True)
        for name, page, about in _links(campaign_pages(project, _CAMPAIGNS)):
            print(f"{name:8} {mlflow_page}/{page}  {about}", flush=True)
        print("Ctrl-C ends them", flush=True)
        while all(each.alive() for each in servers):
            time.sleep(0.5)
        raise OrchestrationError("a server has ended", hint=f"see the logs in {project / '.prefect'}")


def _links(campaigns: Sequence[tuple[str, str, bool]]) -> Iterator[tuple[str, str, str]]:
    """Yield name, path and content of MLflow's pages: campaigns, and the runs of their competitions.

    The runs are sorted by the delivered score, best first; without these parameters MLflow's page opens
    on traces of language models.
    """
    lists = dict[str, str]()
    for campaign, page, maximize in campaigns:
        yield "Campaign", page, f"{campaign}; its page: campaign.html"
        order = f"orderByKey=metrics.%60validation_score%60&orderByAsc={str(not maximize).lower()}"
        place = page.rpartition("/")[0]
        lists.setdefault(place, f"{place}?workflowType=machine_learning&{order}")
    yield from (("Runs", each, "of its competition, by score") for each in lists.values())


def _port(wanted: int | None, default: int, flag: str) -> int:
    """Return a free port: `wanted`, or the first free one from `default` on.

    Raises:
        UsageError: `wanted` is no port, or in use.
    """
    if wanted is not None:
        if not 0 < wanted < 1 << 16:
            raise UsageError(f"{flag}: {wanted} is not a port")
        if not _is_free(wanted):
            raise UsageError(f"{flag}: the port {wanted} is in use", hint="name another one")
        return wanted
    return next(port for port in range(default, default + 100) if _is_free(port))


def _is_free(port: int) -> bool:
    """Return whether a server could bind this port of the loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
