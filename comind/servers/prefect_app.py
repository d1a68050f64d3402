"""Run Prefect's server so that its own page and clients with its authentication string alone reach it.

    python -m comind.servers.prefect_app ADDRESS PORT [NAME ...]

It listens at ADDRESS; clients call it by that, by `localhost` or by a NAME. The environment has the
string in `PREFECT_SERVER_API_AUTH_STRING`.
"""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

AUTH_STRING = "PREFECT_SERVER_API_AUTH_STRING"
_MAX_BODY_BYTES = 64 << 20  # Prefect's client sends logs in batches of 4 MB; artifacts can be larger


def _serve(address: str, port: int, names: list[str]) -> None:
    # Imported here, as processes that only start this one do not serve.
    from comind.system.health import mark_bound
    from comind.system.request_guard import LOOPBACK, RequestGuard
    from comind.system.web_server import WebServer

    if not os.environ.get(AUTH_STRING):
        sys.exit(f"{AUTH_STRING} is not set: without it, anything that connects can run programs")
    own = [] if address == "0.0.0.0" else [address]  # noqa: S104 - a comparison
    hosts = list(dict.fromkeys([*own, *names, *sorted(LOOPBACK)]))
    os.environ |= {
        "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": ",".join(f"http://{each}:{port}" for each in hosts),
        "PREFECT_SERVER_UI_API_URL": f"http://{hosts[0]}:{port}/api",  # else the default port
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    }

    async def application(scope: "Scope", receive: "Receive", send: "Send") -> None:
        await prefect(scope, receive, send)

    guard = RequestGuard(application, hosts=hosts, pages=True, max_bytes=_MAX_BODY_BYTES)
    server = WebServer(guard, host=address, port=port, lifespan="on")
    mark_bound()
    from prefect.server.api.server import create_app  # takes seconds, and reads settings

    prefect = create_app(final=True)
    server.serve()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
