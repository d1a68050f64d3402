"""A configured Prefect server that is busy is waited for; one that is not there is an error at once."""

import socket
import threading
from collections.abc import Iterator

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from comind.adapters.mlflow.server_errors import server_errors
from comind.errors import OrchestrationError, UsageError
from comind.servers import prefect_client, tool_servers

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue"


@pytest.fixture
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A socket at the configured address."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{found.getsockname()[1]}/api")
        yield found


def test_a_busy_prefect_server_is_retried(listening: socket.socket) -> None:
    """A request without a response in time is repeated."""

    def answer_the_third() -> None:
        unanswered = [listening.accept()[0] for _ in range(2)]
        with listening.accept()[0] as connection:
            connection.recv(4096)
            connection.sendall(_OK)
        for each in unanswered:
            each.close()

    thread = threading.Thread(target=answer_the_third)
    thread.start()
    assert tool_servers._configured(timeout=0.2) is not None
    thread.join()


def test_a_server_that_never_responds_is_an_error(listening: socket.socket) -> None:
    """After the time for a busy one it counts as dead."""
    del listening
    with pytest.raises(OrchestrationError, match="does not answer"):
        tool_servers._configured(timeout=0.2, busy=0.3)


def test_a_refused_connection_is_not_retried(listening: socket.socket) -> None:
    """A refused connection is not repeated."""
    listening.close()
    with pytest.raises(OrchestrationError, match="does not answer"):
        tool_servers._configured()


def test_a_server_without_a_version_is_one_line() -> None:
    """Such as one that was stopped meanwhile."""
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(
            UsageError, match=r"^the Prefect server's version cannot be read \(ConnectError\)$"
        ),
    ):
        prefect_client.server_versions()


def test_an_error_of_our_own_is_not_blamed_on_a_tracking_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bad input stays bad input while MLflow's server is down."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(UsageError, match=r"^bad$"), server_errors():
        raise UsageError("bad")
    with pytest.raises(OrchestrationError, match=r"^MLflow's server"), server_errors():
        raise ValueError
