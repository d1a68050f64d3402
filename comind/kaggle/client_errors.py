"""What the client's failures mean, in errors of ours; whatever they quote, no key is in it."""

import errno
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import requests
import urllib3.exceptions

from comind.errors import (
    DiskError,
    KaggleAccountError,
    KaggleBusyError,
    KaggleError,
    KaggleRefusedError,
    KaggleUnknownError,
)
from comind.kaggle.archives import ROOM_TO_FETCH
from comind.system.files import DISK_FULL

__all__ = ["CREDENTIALS", "explain", "rules_error"]

CREDENTIALS = (
    "set KAGGLE_API_TOKEN, or KAGGLE_USERNAME and KAGGLE_KEY, or save the token of "
    "https://www.kaggle.com/settings/api as ~/.kaggle/access_token"
)
_LONGEST_REASON = 300
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMEOUT, _MANY = 401, 403, 404, 408, 429
_BROKEN = 500


def rules_error(slug: str, url: str) -> KaggleRefusedError:
    """Return what is said where nobody has accepted the rules."""
    return KaggleRefusedError(
        f"{slug}: Kaggle gives out its data only to those who have accepted the rules",
        hint=f"accept them at {url} with the account of your credentials, then run this again",
    )


def explain(error: Exception, what: str, slug: str, secrets: Iterable[str]) -> Exception:
    """Return the error of ours that a failure of the client is; what is no failure of it comes back.

    Args:
        error: what the client raised.
        what: was asked for, such as `the data files`.
        slug: the name of whatever it was asked of.
        secrets: what nobody may see.
    """
    where = f"{slug}: {what}" if slug else what
    if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
        return _answered(error.response, where, slug, secrets)
    if isinstance(error, requests.exceptions.JSONDecodeError):
        return KaggleError(
            f"{where}: Kaggle's answer cannot be read", hint="see https://status.kaggle.com"
        )
    if isinstance(error, (requests.exceptions.RequestException, urllib3.exceptions.HTTPError)):
        return KaggleBusyError(
            f"{where}: Kaggle cannot be reached ({_sort(error)})",
            hint="look at the network and https://status.kaggle.com; what was fetched is kept",
            perhaps_done=not isinstance(error, requests.exceptions.ConnectTimeout),
        )
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        return DiskError(f"{where}: {(error.strerror or 'no room').lower()}", hint=ROOM_TO_FETCH)
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return KaggleError(f"{where}: cannot be written ({(error.strerror or 'refused').lower()})")
    if isinstance(error, (KeyError, TypeError, ValueError, AttributeError)):
        return KaggleBusyError(f"{where}: Kaggle's answer is not whole or not as promised")
    return error


def _answered(
    response: requests.Response, where: str, slug: str, secrets: Iterable[str]
) -> KaggleError | KaggleUnknownError:
    """Return what an answer with an error in it means."""
    status, reason = _status_and_reason(response, secrets)
    if status == _UNAUTHORIZED:
        return KaggleAccountError("Kaggle does not accept the credentials", hint=CREDENTIALS)
    if status == _NOT_FOUND:
        return KaggleUnknownError(f"{where}: Kaggle has no such thing{_quoted(reason)}")
    if status in (_TIMEOUT, _MANY) or status >= _BROKEN:
        doing = "asks for fewer requests" if status == _MANY else f"answers with error {status}"
        return KaggleBusyError(
            f"{where}: Kaggle {doing}{_quoted(reason)}",
            hint="try again later; what was fetched is kept",
            retry_after=_retry_after(response),
            perhaps_done=status != _MANY,
        )
    if status == _FORBIDDEN and "rule" in reason.lower():
        return rules_error(slug, f"https://www.kaggle.com/competitions/{slug}/rules")
    return KaggleRefusedError(f"{where}: Kaggle refuses{_quoted(reason or f'error {status}')}")


def _status_and_reason(response: requests.Response, secrets: Iterable[str]) -> tuple[int, str]:
    """Return the status, which may stand in the answer alone, and the reason, in one short line."""
    status, reason = response.status_code, ""
    try:
        said = response.json()
    except (ValueError, OSError):
        said = None
    if isinstance(said, dict):
        code = said.get("code")
        if isinstance(code, int) and status < requests.codes.bad_request:
            status = code
        reason = str(said.get("message") or "")
    for secret in secrets:
        reason = reason.replace(secret, "***") if secret else reason
    line = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    return status, line[:_LONGEST_REASON]


def _quoted(reason: str) -> str:
    return f" ({reason.rstrip('.')})" if reason else ""


def _retry_after(response: requests.Response) -> float | None:
    """Return the seconds that a busy server asks for, given as a number or as a date."""
    given = response.headers.get("Retry-After", "")
    try:
        return max(0.0, float(given)) if float(given) < float("inf") else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(given)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _sort(error: Exception) -> str:
    """Return what kind of failure it is; its own text may hold a signed address."""
    if isinstance(error, (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError)):
        return "no answer in time"
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not accepted"
    if isinstance(error, (requests.exceptions.ChunkedEncodingError, urllib3.exceptions.ProtocolError)):
        return "the connection broke"
    return "no connection"
