"""Run MLflow's server so that its own page and clients with its password alone reach it.

    python -m comind.adapters.mlflow.tracking_server ADDRESS PORT [NAME ...]

It listens at ADDRESS; clients call it by that, by `localhost` or by a NAME. The environment has the
password in `MLFLOW_TRACKING_PASSWORD`, where MLflow's clients read it, too (any user name goes with it),
the store in `MLFLOW_BACKEND_STORE_URI`, and the place of artifacts in `MLFLOW_ARTIFACTS_DESTINATION`.
"""

import os
import sys
from typing import TYPE_CHECKING, cast

from comind.system.health import mark_bound
from comind.system.request_guard import LOOPBACK, RequestGuard
from comind.system.web_server import WebServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__: list[str] = []

_PASSWORD = "MLFLOW_TRACKING_PASSWORD"  # noqa: S105 - the variable's name
_ARTIFACTS = "mlflow-artifacts:/"  # clients send and get them through the server


def _serve(address: str, port: int, names: list[str]) -> None:
    password = os.environ.get(_PASSWORD)
    if not password:
        sys.exit(
            f"{_PASSWORD} is not set: without it, anything that connects can change runs and models"
        )
    hosts = {*names, address, *LOOPBACK}

    async def application(scope: "Scope", receive: "Receive", send: "Send") -> None:
        await mlflow(scope, receive, send)

    guard = RequestGuard(application, hosts=hosts, pages=True, password=password)
    server = WebServer(guard, host=address, port=port, lifespan="on")
    mark_bound()
    mlflow = _application(hosts, port)
    server.serve()


def _application(hosts: set[str], port: int) -> "ASGIApp":
    """Return what the command `mlflow server` serves; it takes seconds to import."""
    store = os.environ["MLFLOW_BACKEND_STORE_URI"]
    os.environ |= {
        "MLFLOW_SERVER_ALLOWED_HOSTS": ",".join(f"{host}:{port}" for host in hosts),
        "MLFLOW_SERVER_CORS_ALLOWED_ORIGINS": ",".join(f"http://{host}:{port}" for host in hosts),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # saves seven idle worker processes
    }
    from mlflow.server import constants, handlers

    os.environ |= {
        constants.BACKEND_STORE_URI_ENV_VAR: store,
        constants.REGISTRY_STORE_URI_ENV_VAR: store,
        constants.ARTIFACT_ROOT_ENV_VAR: _ARTIFACTS,
        constants.ARTIFACTS_DESTINATION_ENV_VAR: os.environ["MLFLOW_ARTIFACTS_DESTINATION"],
        constants.SERVE_ARTIFACTS_ENV_VAR: "true",
    }
    handlers.initialize_backend_stores(store, store, _ARTIFACTS)
    from mlflow.server.fastapi_app import app

    return cast("ASGIApp", app)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
