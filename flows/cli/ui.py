"""Serve this project's MLflow and Prefect pages until Ctrl-C."""

import argparse
import time
from pathlib import Path

from comind.errors import OrchestrationError, UsageError
from flows.cli.command import CommandResult
from flows.cli.paths import find_project

__all__ = ["add_arguments"]

_MLFLOW_PORT, _PREFECT_PORT = 5000, 4200
_COMPARISONS = 5  # links that are printed, newest campaign first
_RUNS = "/#/experiments?workflowType=machine_learning"  # the default view is chat traces


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--mlflow-port", type=int, metavar="N", help=f"default {_MLFLOW_PORT}")
    parser.add_argument("--prefect-port", type=int, metavar="N", help=f"default {_PREFECT_PORT}")
    parser.add_argument("--out", metavar="DIR", help="folder of data, runs and tracking")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> CommandResult:
    from flows.server import (
        announce,
        api_address,
        prepare_environment,
        service_log,
        start_prefect,
        start_service,
        wait_for,
    )

    project = find_project(args.out)
    prepare_environment(project)
    mlflow_port = _port(args.mlflow_port, _MLFLOW_PORT, "--mlflow-port")
    prefect_port = _port(args.prefect_port, _PREFECT_PORT, "--prefect-port")
    mlflow_page, prefect_page = (f"http://127.0.0.1:{port}" for port in (mlflow_port, prefect_port))
    print("starting the servers (half a minute the first time)", flush=True)
    no_jobs = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # saves seven idle worker processes
    mlflow = start_service(project, "mlflow", _mlflow_command(project, mlflow_port), no_jobs)
    prefect = start_prefect(project, "prefect-ui", prefect_port)
    note = None
    try:
        for name, address, server in (
            ("mlflow", f"{mlflow_page}/health", mlflow),
            ("prefect-ui", f"{api_address(prefect_port)}/health", prefect),
        ):
            if not wait_for(address, server):
                hint = f"see {service_log(project, name)}"
                raise OrchestrationError(f"the {name} server did not start", hint=hint)
        from tasks.tracking.store import TrackingStore  # MLflow reads its settings on import

        note = announce(project, api_address(prefect_port))
        print(f"MLflow   {mlflow_page}{_RUNS}\nPrefect  {prefect_page}/runs", flush=True)
        for campaign, page in TrackingStore(project).search_views(_COMPARISONS):
            print(f"Compare  {mlflow_page}/{page}  attempts of {campaign}", flush=True)
        print("Ctrl-C ends both", flush=True)
        while mlflow.alive() and prefect.alive():
            time.sleep(0.5)
        raise OrchestrationError("a server has ended", hint=f"see the logs in {project / '.prefect'}")
    finally:
        if note is not None:
            note.unlink(missing_ok=True)
        mlflow.stop()
        prefect.stop()


def _port(wanted: int | None, default: int, flag: str) -> int:
    """Return a free port: `wanted`, or the first free one from `default` on.

    Raises:
        UsageError: `wanted` is no port, or in use.
    """
    from flows.server import is_free

    if wanted is not None:
        if not 0 < wanted < 1 << 16:
            raise UsageError(f"{flag}: {wanted} is not a port")
        if not is_free(wanted):
            raise UsageError(f"{flag}: the port {wanted} is in use", hint="name another one")
        return wanted
    return next(port for port in range(default, default + 100) if is_free(port))


def _mlflow_command(project: Path, port: int) -> list[str]:
    from comind.campaign.log.campaign_folders import ProjectFolder
    from tasks.tracking.database import tracking_uri

    tracking = ProjectFolder(project).tracking
    tracking.mkdir(parents=True, exist_ok=True)
    where = ["--backend-store-uri", tracking_uri(project), "--artifacts-destination", str(tracking)]
    return ["mlflow", "server", *where, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
