"""Sign in with the official client: the one module that knows it, and finds credentials.

Credentials are whatever the client finds: KAGGLE_API_TOKEN, KAGGLE_USERNAME with KAGGLE_KEY, or its
files. They stay in the client: nothing here returns, prints or writes them.
"""

import contextlib
import importlib.util
import io
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from comind.errors import KaggleAccountError, UsageError
from comind.kaggle.client_errors import CREDENTIALS, explain

__all__ = ["signed_in", "uploaded"]

_CONNECT_SECONDS, _READ_SECONDS = 15.0, 120.0
_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


def signed_in(endpoint: str | None, hear: Callable[[datetime], None] | None = None) -> Any:
    """Return the client of Kaggle or another endpoint, with the credentials that it finds.

    Raises:
        UsageError: `endpoint` is no address that credentials may be sent to.
        KaggleError: there are none, or they cannot be used.
    """
    if endpoint is not None:
        endpoint = _checked(endpoint)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # its help would be an answer of ours
            api = _class(endpoint, hear or (lambda _: None))()
            api.authenticate()
    except SystemExit:
        from kaggle.api.kaggle_api_extended import get_access_token_from_env

        if get_access_token_from_env()[0]:
            raise KaggleAccountError("Kaggle does not accept the token", hint=CREDENTIALS) from None
        raise _nothing_found() from None
    except Exception as error:
        known = explain(error, "the credentials", "", ())
        if known is error:
            raise
        raise known from None
    found = api.config_values
    if not found.get("token") and not (found.get("username") and found.get("key")):
        raise _nothing_found()  # variables that are set to nothing are enough for the client
    return api


def _nothing_found() -> KaggleAccountError:
    said = "no credentials for Kaggle were found"
    return KaggleAccountError(said, hint=CREDENTIALS, missing=True)


def uploaded(api: Any, file: Path, address: str) -> bool:
    """Send a file to an address that Kaggle has named; return whether it is all there."""
    from kaggle.api.kaggle_api_extended import ResumableUploadResult

    with contextlib.redirect_stdout(io.StringIO()):  # a failure is printed, with the signed address
        done = api.upload_complete(str(file), address, quiet=True)
    return bool(done == ResumableUploadResult.COMPLETE)


def _checked(endpoint: str) -> str:
    """Return an address without its last slash; keys go unencrypted to our own machine alone."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"kaggle endpoint {endpoint!r}: is no address", hint="http://127.0.0.1:8080")
    if parts.scheme == "http" and parts.hostname not in _OWN_MACHINE:
        raise UsageError(
            f"kaggle endpoint {endpoint!r}: credentials would go there unencrypted", hint="use https"
        )
    return endpoint.rstrip("/")


def _class(endpoint: str | None, hear: Callable[[datetime], None]) -> Any:
    """Return the client's class, quiet and bound to an endpoint."""
    if "kaggle" not in sys.modules:
        # The package signs in while it is imported: it sends the token, prints, and may end the
        # process. Its modules are wanted without that.
        spec = importlib.util.find_spec("kaggle")
        assert spec is not None
        sys.modules["kaggle"] = importlib.util.module_from_spec(spec)
    with _own_logging():
        from kaggle.api.kaggle_api_extended import KaggleApi, KaggleClient, KaggleEnv

    class Api(KaggleApi):  # type: ignore[misc]
        args = [each for each in KaggleApi.args if each != "--verbose"]  # it would print the key

        def get_response_processor(self) -> Callable[[requests.Response], None]:
            """Look at each answer for the time, and not for newer versions, which would be printed."""

            def process(response: requests.Response) -> None:
                with contextlib.suppress(ValueError):
                    hear(parsedate_to_datetime(response.headers.get("Date", "")))

            return process

        def build_kaggle_client(self) -> Any:
            if endpoint is None:
                return _patient(super().build_kaggle_client())
            client = KaggleClient(
                env=KaggleEnv.LOCAL,
                username=self.config_values.get("username"),
                password=self.config_values.get("key"),
                api_token=self.config_values.get("token"),
                response_processor=self.get_response_processor(),
            )
            client.http_client()._endpoint = endpoint  # noqa: SLF001 - the client knows only its own
            return _patient(client)

    return Api


@contextlib.contextmanager
def _own_logging() -> Iterator[None]:
    """Keep the process's logging as it is; where VERBOSE is set, the client turns all of it up."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


def _patient(client: Any) -> Any:
    """Return the client with an end to its patience, and a name; it has no settings for this."""
    client.__enter__()
    session = client.http_client()._session  # noqa: SLF001
    session.headers["User-Agent"] = "comind"
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Patient())
    return client


class _Patient(HTTPAdapter):
    """Sends as requests does, but waits for nobody for ever."""

    def send(self, request: Any, **options: Any) -> Any:  # type: ignore[override]
        options["timeout"] = options.get("timeout") or (_CONNECT_SECONDS, _READ_SECONDS)
        return super().send(request, **options)
