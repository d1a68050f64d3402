"""One Prefect server for the end-to-end tests of all workers; starting one takes seconds of a core."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.services.server import prefect_server, prepare_environment


@pytest.fixture(scope="session")
def shared_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a running Prefect server, which the first worker that needs one starts."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "prefect"
    folder.mkdir(exist_ok=True)
    # Not a teardown: waiting for the other workers would count as time of this one's last test.
    to_end = contextlib.ExitStack()
    request.config.add_cleanup(to_end.close)
    to_end.callback(os.environ.update, dict(os.environ))
    to_end.callback(os.environ.clear)
    prepare_environment(folder)
    address = to_end.enter_context(_server_of_the_run(folder))
    os.environ["PREFECT_API_URL"] = address
    return address


@contextlib.contextmanager
def _server_of_the_run(folder: Path) -> Iterator[str]:
    """Provide a server until this worker's block ends, and start it if none of the workers did.

    Each worker holds a shared lock while it uses the server. The one that started it waits for the
    others' locks before it stops the server; the lock of a killed worker ends with it.
    """
    note = folder / "address"
    with (folder / "start.lock").open("w") as start, (folder / "use.lock").open("w") as use:
        fcntl.flock(start, fcntl.LOCK_EX)
        fcntl.flock(use, fcntl.LOCK_SH)
        if note.exists():
            fcntl.flock(start, fcntl.LOCK_UN)
            yield note.read_text()
            return
        with prefect_server(folder) as address:
            note.write_text(address)
            fcntl.flock(start, fcntl.LOCK_UN)
            try:
                yield address
            finally:
                fcntl.flock(use, fcntl.LOCK_EX)
                note.unlink()
