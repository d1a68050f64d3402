"""Keep large inputs of sessions in an S3-compatible store; nodes fetch them by presigned URLs.

An object's key is its SHA-256, so each content is uploaded once for all campaigns. Credentials stay with
the driver: botocore reads them from the environment or `~/.aws`, as AWS's own tools do.
"""

import threading
import time
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from comind.errors import UsageError

_URL_SECONDS = 3600
_LEAST_BYTES = 1 << 20
_MOST_BYTES = 5 * 10**9
_DOWN_SECONDS = 60.0
_NOT_FOUND = 404
_ERRORS = (BotoCoreError, ClientError, OSError)  # botocore's errors have two bases


class InputStore(Protocol):
    """Provides URLs of contents, which can be read without credentials for a limited time."""

    failure: str
    """Why the store was not used at last; empty if it was."""

    def presigned_url(self, sha256: str, file: Path) -> str | None:
        """Return a URL of a file with this hash, uploaded if needed; None if the driver has to send."""
        ...


class S3InputStore:
    """Objects in a bucket of S3 or of a server with its API; thread-safe."""

    failure = ""

    def __init__(
        self, address: str, endpoint: str | None = None, *, url_seconds: int = _URL_SECONDS
    ) -> None:
        """Prepare a client; nothing is requested.

        Args:
            address: `s3://BUCKET` or `s3://BUCKET/PREFIX`.
            endpoint: URL of the server; None for AWS.
            url_seconds: how long presigned URLs are valid.

        Raises:
            UsageError: the address is invalid, or there are no credentials.
        """
        parts = urlsplit(address)
        if parts.scheme != "s3" or not parts.netloc:
            raise UsageError(f"nodes.store: {address!r} is no address such as s3://bucket/prefix")
        self._bucket = parts.netloc
        self._prefix = parts.path.strip("/") + "/" if parts.path.strip("/") else ""
        self._client = _client(endpoint)
        self._url_seconds = url_seconds
        self._known = set[str]()
        self._uploading = dict[str, threading.Lock]()
        self._down_until = 0.0
        self._lock = threading.Lock()

    def presigned_url(self, sha256: str, file: Path) -> str | None:
        """Return a presigned URL; uploads the file if the store lacks it.

        None for files of less than 1 MiB, which cost more requests than bytes, for those of more than
        5 GB, and for a minute after the store failed.
        """
        size = file.stat().st_size
        if not _LEAST_BYTES <= size <= _MOST_BYTES or time.monotonic() < self._down_until:
            return None
        key = f"{self._prefix}{sha256[:2]}/{sha256[2:]}"
        try:
            if sha256 not in self._known:
                with self._lock:
                    uploading = self._uploading.setdefault(sha256, threading.Lock())
                with uploading:  # the second of two requests waits, then finds it there
                    self._upload(key, file, size)
                self._known.add(sha256)
            given = {"Bucket": self._bucket, "Key": key}
            url: str = self._client.generate_presigned_url("get_object", given, self._url_seconds)
        except _ERRORS as error:
            self.failure = _line(error)
            self._down_until = time.monotonic() + _DOWN_SECONDS
            return None
        self.failure = ""
        return url

    def check(self) -> str:
        """Return that the bucket can be reached.

        Raises:
            UsageError: it cannot, or access is refused.
        """
        try:
            self._client.head_bucket(Bucket=self._bucket)
        except _ERRORS as error:
            raise UsageError(f"the bucket {self._bucket} cannot be used: {_line(error)}") from None
        return f"the bucket {self._bucket} answers"

    def _upload(self, key: str, file: Path, size: int) -> None:
        try:
            held = self._client.head_object(Bucket=self._bucket, Key=key)
            if held["ContentLength"] == size:
                return
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != _NOT_FOUND:
                raise
        with file.open("rb") as body:
            self._client.put_object(Bucket=self._bucket, Key=key, Body=body)


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _client(endpoint: str | None) -> Any:
    """Return a client of S3.

    Raises:
        UsageError: botocore finds no credentials.
    """
    session = get_session()
    if session.get_credentials() is None:
        raise UsageError(
            "nodes.store: no credentials", hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    config = Config(
        signature_version="s3v4",
        connect_timeout=5,
        read_timeout=30,
        retries={"total_max_attempts": 2},
        request_checksum_calculation="when_required",  # other servers may not know S3's newer checksums
    )
    region = session.get_config_variable("region") or "us-east-1"
    return session.create_client("s3", region_name=region, endpoint_url=endpoint, config=config)
