"""One Prefect server for all end-to-end tests of a run; starting one takes seconds."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from filelock import FileLock

from comind.servers.tool_servers import prefect_server, prepare_environment


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running Prefect server, which all workers share.

    The first worker that needs it starts it, and stops it when no other worker uses it any more.
    """
    project: Path = tmp_path_factory.mktemp("prefect")
    run = tmp_path_factory.getbasetemp()
    run = run.parent if "PYTEST_XDIST_WORKER" in os.environ else run
    starting, address = FileLock(run / "prefect.lock"), run / "prefect-address"
    before = dict(os.environ)
    prepare_environment(project)
    try:
        with ExitStack() as stack:
            users = stack.enter_context((run / "prefect-users").open("w"))
            with starting:
                started_here = not address.exists()
                if not started_here:
                    os.environ |= json.loads(address.read_text())
                    fcntl.flock(users, fcntl.LOCK_SH)
                server = stack.enter_context(prefect_server(project))
                names = ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING")
                address.write_text(json.dumps({name: os.environ[name] for name in names}))
            _refresh_settings()
            yield server
            if started_here:
                with starting:
                    address.unlink()
                fcntl.flock(users, fcntl.LOCK_EX)
    finally:
        os.environ.clear()
        os.environ.update(before)
        _refresh_settings()


def _refresh_settings() -> None:
    """Let Prefect read its settings again: the import of a test module has read them before."""
    if "prefect" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()
