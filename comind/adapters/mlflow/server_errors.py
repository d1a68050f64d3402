"""Report failures of MLflow's tracking server in one line."""

import contextlib
from collections.abc import Iterator

from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from requests import RequestException

from comind.adapters.mlflow.database import tracking_server
from comind.errors import ComindError, OrchestrationError
from comind.system.health import answers

_MESSAGE_LENGTH = 300
_ALLOWED_HOSTS_HINT = "start it with MLFLOW_SERVER_ALLOWED_HOSTS naming its address as you use it"


@contextlib.contextmanager
def server_errors() -> Iterator[None]:
    """Report a tracking server that does not answer, or a request to it that fails, in one line.

    Errors of our own pass through, as do all where runs are in the project's database.

    Raises:
        OrchestrationError: a request failed, or something else did and the server does not answer its
            health check either.
    """
    try:
        yield
    except ComindError:
        raise
    except Exception as error:
        server = tracking_server()
        if not server:
            raise
        if not answers(f"{server}/health"):
            raise _no_answer(server) from error
        if not isinstance(error, MlflowException | RequestException):
            raise
        message = " ".join(str(error).split())[:_MESSAGE_LENGTH]
        hint = _ALLOWED_HOSTS_HINT if "Invalid Host header" in message else "see its log"
        failed = f"a request to MLflow's server {server} failed: {message}"
        raise OrchestrationError(failed, hint=hint) from error


def _no_answer(server: str) -> OrchestrationError:
    return OrchestrationError(
        f"MLflow's server {server} does not answer", hint="start it, or unset MLFLOW_TRACKING_URI"
    )


@server_errors()
def require_server() -> str:
    """Send the configured tracking server a request as campaigns do; returns its address.

    Raises:
        OrchestrationError: it does not answer, or the request fails.
    """
    server = tracking_server()
    if not answers(f"{server}/health"):  # the client would retry for minutes
        raise _no_answer(server)
    MlflowClient(tracking_uri=server).search_experiments(max_results=1)
    return server
