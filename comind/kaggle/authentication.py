"""Authenticate the official client; the one module that imports it and reads credentials.

The client finds them: KAGGLE_API_TOKEN, KAGGLE_USERNAME with KAGGLE_KEY, or its files. They stay in the
client: nothing here returns, prints or writes them.
"""

import contextlib
import importlib.util
import io
import logging
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from comind.errors import KaggleAccountError, UsageError
from comind.kaggle.client_errors import CREDENTIALS_HINT, TooLongError, translate_error

_CONNECT_SECONDS, _READ_SECONDS = 15.0, 120.0
_WHOLE_SECONDS = 600.0
_MOST_BYTES, _CHUNK = 64 << 20, 1 << 20
_OWN_MACHINE = ("localhost", "127.0.0.1", "::1")


def authenticate(endpoint: str | None, on_date: Callable[[datetime], None] | None = None) -> Any:
    """Return the client of Kaggle or another endpoint with the credentials that it finds.

    `on_date` is a callback for the Date header of each response.

    Raises:
        UsageError: credentials may not be sent to `endpoint`.
        KaggleError: there are no credentials, or they cannot be used.
    """
    if endpoint is not None:
        endpoint = _checked(endpoint)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints help
            api = _class(endpoint, on_date or (lambda _: None))()
            api.authenticate()
    except SystemExit:
        from kaggle.api.kaggle_api_extended import get_access_token_from_env

        if get_access_token_from_env()[0]:
            raise KaggleAccountError("Kaggle does not accept the token", hint=CREDENTIALS_HINT) from None
        raise _not_found() from None
    except Exception as error:
        known = translate_error(error, "the credentials", "", ())
        if known is error:
            raise
        raise known from None
    found = api.config_values
    if not found.get("token") and not (found.get("username") and found.get("key")):
        raise _not_found()  # the client accepts empty variables
    return api


def _not_found() -> KaggleAccountError:
    message = "no credentials for Kaggle were found"
    return KaggleAccountError(message, hint=CREDENTIALS_HINT, missing=True)


def upload(api: Any, file: Path, url: str) -> bool:
    """Upload a file to a URL from Kaggle; return whether the upload is complete."""
    from kaggle.api.kaggle_api_extended import ResumableUploadResult

    with contextlib.redirect_stdout(io.StringIO()):  # a failure is printed with the signed URL
        done = api.upload_complete(str(file), url, quiet=True)
    return bool(done == ResumableUploadResult.COMPLETE)


def _checked(endpoint: str) -> str:
    """Return a URL without its last slash; plain http is for this machine only."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"kaggle endpoint {endpoint!r}: not a URL", hint="http://127.0.0.1:8080")
    if parts.scheme == "http" and parts.hostname not in _OWN_MACHINE:
        raise UsageError(
            f"kaggle endpoint {endpoint!r}: credentials would be sent unencrypted", hint="use https"
        )
    return endpoint.rstrip("/")


def _class(endpoint: str | None, on_date: Callable[[datetime], None]) -> Any:
    """Return the client's class, quiet and bound to an endpoint."""
    if "kaggle" not in sys.modules:
        # The package authenticates when it is imported: it sends the token, prints, and may exit the
        # process. Its modules are imported without that.
        spec = importlib.util.find_spec("kaggle")
        assert spec is not None
        sys.modules["kaggle"] = importlib.util.module_from_spec(spec)
    with _own_logging():
        from kaggle.api.kaggle_api_extended import KaggleApi, KaggleClient, KaggleEnv

    class Api(KaggleApi):  # type: ignore[misc]
        args = [each for each in KaggleApi.args if each != "--verbose"]  # it would print the key

        def get_response_processor(self) -> Callable[[requests.Response], None]:
            """Leave out the check for newer versions, which prints."""
            return lambda _response: None

        def build_kaggle_client(self) -> Any:
            if endpoint is None:
                return _prepared(super().build_kaggle_client(), on_date)
            client = KaggleClient(
                env=KaggleEnv.LOCAL,
                username=self.config_values.get("username"),
                password=self.config_values.get("key"),
                api_token=self.config_values.get("token"),
                response_processor=self.get_response_processor(),
            )
            client.http_client()._endpoint = endpoint  # noqa: SLF001 - there is no setting for it
            return _prepared(client, on_date)

    return Api


@contextlib.contextmanager
def _own_logging() -> Iterator[None]:
    """Restore the root logger, which the client changes where VERBOSE is set."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


def _prepared(client: Any, on_date: Callable[[datetime], None]) -> Any:
    """Set timeouts, a user agent and a callback, for which the client has no settings."""
    client.__enter__()
    session = client.http_client()._session  # noqa: SLF001
    session.headers["User-Agent"] = "comind"
    for scheme in ("http://", "https://"):
        session.mount(scheme, _Adapter(on_date))
    return client


class _Adapter(HTTPAdapter):
    """Adds a default timeout to each request, and reports the date of each response, also of errors.

    What is not a download is read here, with a limit of its time and of its size once decompressed.
    """

    def __init__(self, on_date: Callable[[datetime], None]) -> None:
        super().__init__()
        self._on_date = on_date

    def send(self, request: Any, **options: Any) -> Any:  # type: ignore[override]
        options["timeout"] = options.get("timeout") or (_CONNECT_SECONDS, _READ_SECONDS)
        response = super().send(request, **options)
        if (date := date_of(response)) is not None:
            self._on_date(date)
        if not options.get("stream"):
            response.raw = io.BytesIO(_whole(response.raw))
        return response


def _whole(raw: Any) -> bytes:
    """Return a body, decompressed."""
    until, body = time.monotonic() + _WHOLE_SECONDS, bytearray()
    with contextlib.closing(raw):
        for part in raw.stream(_CHUNK, decode_content=True):
            if len(body) + len(part) > _MOST_BYTES:
                raise TooLongError(f"Kaggle's response is longer than {_MOST_BYTES >> 20} MiB")
            if time.monotonic() > until:
                raise TooLongError(f"Kaggle's response takes longer than {_WHOLE_SECONDS:.0f} s")
            body += part
    return bytes(body)


def date_of(response: requests.Response) -> datetime | None:
    """Return the Date header of a response; None if it is no time with a zone."""
    with contextlib.suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(response.headers.get("Date", ""))
        return date if date.tzinfo is not None else None
    return None
