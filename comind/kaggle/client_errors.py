"""Translate exceptions of the official client into our errors, with credentials redacted."""

import errno
from collections.abc import Iterable

import requests
import urllib3.exceptions

from comind.competitions.download.archives import DISK_HINT
from comind.errors import (
    DiskError,
    KaggleAccountError,
    KaggleBusyError,
    KaggleError,
    KaggleRefusedError,
    KaggleUnknownError,
)
from comind.system.files import DISK_FULL
from comind.system.timing import parse_retry_after

CREDENTIALS_HINT = (
    "set KAGGLE_API_TOKEN, or KAGGLE_USERNAME and KAGGLE_KEY, or save the token of "
    "https://www.kaggle.com/settings/api as ~/.kaggle/access_token"
)
_LONGEST_REASON = 300
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMEOUT, _MANY = 401, 403, 404, 408, 429
_BROKEN = 500


class TooLongError(requests.exceptions.RequestException):
    """A response is larger, or takes longer, than any that is expected."""


def rules_error(slug: str, url: str) -> KaggleRefusedError:
    """Return the error for a competition whose rules the account has not accepted."""
    return KaggleRefusedError(
        f"{slug}: Kaggle gives its data only to accounts that have accepted the rules",
        hint=f"accept them at {url} with the account of your credentials, then run this again",
    )


def translate_error(error: Exception, what: str, slug: str, secrets: Iterable[str]) -> Exception:
    """Return our error for an exception of the client, or the exception itself if it is another bug.

    Args:
        error: raised by the client.
        what: was requested, such as `the data files`.
        slug: the competition, notebook or discussion.
        secrets: redacted from the message.
    """
    where = f"{slug}: {what}" if slug else what
    if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
        return _answered(error.response, where, slug, secrets)
    if isinstance(error, requests.exceptions.JSONDecodeError):
        return KaggleError(
            f"{where}: Kaggle's response is not JSON", hint="see https://status.kaggle.com"
        )
    if isinstance(error, TooLongError):
        return KaggleBusyError(f"{where}: {error}")
    if isinstance(error, (requests.exceptions.RequestException, urllib3.exceptions.HTTPError)):
        return KaggleBusyError(
            f"{where}: Kaggle cannot be reached ({_network_failure(error)})",
            hint="check the network and https://status.kaggle.com; what was fetched is kept",
            may_have_succeeded=not isinstance(error, requests.exceptions.ConnectTimeout),
        )
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return DiskError(f"{where}: {(error.strerror or 'disk full').lower()}", hint=DISK_HINT)
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return KaggleError(f"{where}: cannot be written ({(error.strerror or 'refused').lower()})")
    if isinstance(error, (KeyError, TypeError, ValueError, AttributeError, RecursionError)):
        return KaggleBusyError(f"{where}: Kaggle's response is incomplete or malformed")
    return error


def _answered(
    response: requests.Response, where: str, slug: str, secrets: Iterable[str]
) -> KaggleError | KaggleUnknownError:
    """Return the error for an HTTP error response."""
    status, reason = _status_and_reason(response, secrets)
    if status == _UNAUTHORIZED:
        return KaggleAccountError("Kaggle does not accept the credentials", hint=CREDENTIALS_HINT)
    if status == _NOT_FOUND:
        return KaggleUnknownError(f"{where}: not found on Kaggle{_quoted(reason)}")
    if status in (_TIMEOUT, _MANY) or status >= _BROKEN:
        doing = "limits the rate of requests" if status == _MANY else f"responds with error {status}"
        return KaggleBusyError(
            f"{where}: Kaggle {doing}{_quoted(reason)}",
            hint="try again later; what was fetched is kept",
            retry_after=parse_retry_after(response.headers),
            may_have_succeeded=status != _MANY,
        )
    if status == _FORBIDDEN and "rule" in reason.lower():
        return rules_error(slug, f"https://www.kaggle.com/competitions/{slug}/rules")
    return KaggleRefusedError(f"{where}: Kaggle refuses{_quoted(reason or f'error {status}')}")


def _status_and_reason(response: requests.Response, secrets: Iterable[str]) -> tuple[int, str]:
    """Return the status, which may be in the body only, and the reason in one short line."""
    status, reason = response.status_code, ""
    try:
        body = response.json()
    except (ValueError, OSError, RecursionError):
        body = None
    if isinstance(body, dict):
        code = body.get("code")
        if isinstance(code, int) and status < requests.codes.bad_request:
            status = code
        reason = str(body.get("message") or "")
    for secret in secrets:
        reason = reason.replace(secret, "***") if secret else reason
    line = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    return status, line[:_LONGEST_REASON]


def _quoted(reason: str) -> str:
    return f" ({reason.rstrip('.')})" if reason else ""


def _network_failure(error: Exception) -> str:
    """Return the kind of a network failure; the exception's own text may hold a signed URL."""
    if isinstance(error, (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)):
        return "timeout"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is invalid"
    if isinstance(error, (requests.exceptions.ChunkedEncodingError, urllib3.exceptions.ProtocolError)):
        return "the connection broke"
    return "no connection"
