"""One Prefect server for all end-to-end tests of a worker; starting one takes seconds."""

import os
import sys
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
            _refresh_settings()
            yield address
    finally:
        os.environ.clear()
        os.environ.update(before)
        _refresh_settings()


def _refresh_settings() -> None:
    """Let Prefect read its settings again: the import of a test module has read them before."""
    if "prefect" in sys.modules:
        from prefect.context import refresh_global_settings_context

        refresh_global_settings_context()
