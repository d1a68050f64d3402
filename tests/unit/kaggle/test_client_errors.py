"""Translation of the client's exceptions."""

import errno
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import requests

from comind.errors import (
    DiskError,
    KaggleAccountError,
    KaggleBusyError,
    KaggleError,
    KaggleRefusedError,
    KaggleUnknownError,
)
from comind.kaggle.authentication import date_of
from comind.kaggle.client_errors import translate_error


def answered(status: int, said: object = None, **headers: str) -> requests.exceptions.HTTPError:
    response = requests.Response()
    response.status_code = status
    response._content = b"<html>" if said is None else json.dumps(said).encode()
    response.headers.update(headers)
    return requests.exceptions.HTTPError("url with a signature", response=response)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, KaggleAccountError),
        (403, KaggleRefusedError),
        (400, KaggleRefusedError),
        (404, KaggleUnknownError),
        (408, KaggleBusyError),
        (429, KaggleBusyError),
        (500, KaggleBusyError),
        (503, KaggleBusyError),
    ],
)
def test_status(status: int, kind: type[Exception]) -> None:
    """Each HTTP status is one kind of error, without the client's own message."""
    error = translate_error(answered(status), "the pages", "titanic", ())
    assert type(error) is kind
    assert "signature" not in str(error)


def test_a_status_in_the_answer() -> None:
    """The status may be in a body with the HTTP status 200."""
    error = translate_error(answered(200, {"code": 404, "message": "Not found"}), "the pages", "x", ())
    assert isinstance(error, KaggleUnknownError)


def test_reasons_are_one_line_without_keys() -> None:
    """Kaggle's message is quoted in one short line with keys redacted."""
    said = {"code": 403, "message": "Key k3y\nis\x1b[2J bad " + "x" * 999}
    error = translate_error(answered(403, said), "the pages", "titanic", ["k3y"])
    assert "Key *** is [2J bad" in str(error)
    assert "k3y" not in str(error)
    assert len(str(error)) < 400
    assert str(error).isprintable()


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("30", 30.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("", None), ("inf", None)],
)
def test_retry_after(given: str, seconds: float | None) -> None:
    """A valid Retry-After in seconds is kept."""
    error = translate_error(answered(429, **{"Retry-After": given}), "the pages", "x", ())
    assert isinstance(error, KaggleBusyError)
    assert error.retry_after == seconds


def test_a_retry_after_beyond_pythons_dates_is_ignored() -> None:
    """A Retry-After or Date header beyond Python's range, or without a zone, counts as missing."""
    endless = "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"
    error = translate_error(answered(503, **{"Retry-After": endless}), "the pages", "x", ())
    assert isinstance(error, KaggleBusyError)
    assert error.retry_after is None
    dates = (endless, "Mon, 01 Jan 2030 00:00:00", "Mon, 01 Jan 2030 00:00:00 GMT")
    seen = [date_of(answered(200, Date=date).response) for date in dates]
    assert seen == [None, None, datetime(2030, 1, 1, tzinfo=UTC)]


def test_retry_after_a_date() -> None:
    """A Retry-After date is relative to now."""
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    error = translate_error(answered(503, **{"Retry-After": later}), "the pages", "x", ())
    assert isinstance(error, KaggleBusyError)
    assert error.retry_after is not None
    assert 90 < error.retry_after <= 100


@pytest.mark.parametrize(
    ("error", "said", "perhaps"),
    [
        (requests.exceptions.ConnectTimeout(), "timeout", False),
        (requests.exceptions.ReadTimeout(), "timeout", True),
        (requests.exceptions.SSLError(), "certificate", True),
        (requests.exceptions.ChunkedEncodingError(), "broke", True),
        (requests.exceptions.ConnectionError(), "no connection", True),
    ],
)
def test_no_answer(error: Exception, said: str, perhaps: bool) -> None:
    """`may_have_succeeded` is false only for connection timeouts."""
    known = translate_error(error, "the submission", "x", ())
    assert isinstance(known, KaggleBusyError)
    assert said in str(known)
    assert known.may_have_succeeded is perhaps


def test_what_is_not_kaggles_fault() -> None:
    """A full disk is a DiskError, and a bug of ours is returned unchanged."""
    assert isinstance(translate_error(OSError(errno.ENOSPC, "No space"), "a file", "x", ()), DiskError)
    assert type(translate_error(OSError(errno.EROFS, "Read-only"), "a file", "x", ())) is KaggleError
    ours = RuntimeError()
    assert translate_error(ours, "a file", "x", ()) is ours
