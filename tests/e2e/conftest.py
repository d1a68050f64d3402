"""One Prefect server for all end-to-end tests of a worker; starting one takes seconds."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.services.server import prefect_server, prepare_environment


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running Prefect server."""
    project: Path = tmp_path_factory.mktemp("prefect")
    before = dict(os.environ)
    prepare_environment(project)
    try:
        with prefect_server(project) as address:
            yield address
    finally:
        os.environ.clear()
        os.environ.update(before)
