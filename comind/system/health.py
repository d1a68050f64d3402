"""Check whether an HTTP server answers, and whether it is the one that was started."""

import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

BOUND = "COMIND_BOUND"
"""Variable of a server with the path of a file that it creates once it has bound its port.

Until then, what answers at the port is another program.
"""


def mark_bound() -> None:
    """Create the file of `BOUND`, if one is named."""
    if path := os.environ.get(BOUND):
        Path(path).touch()


def answers(address: str, *, timeout: float = 5.0) -> bool:
    """Return whether a GET of `address` is answered with status 200 within `timeout` seconds."""
    return status_of(address, timeout=timeout) == 200  # noqa: PLR2004 - HTTP OK


def status_of(
    address: str, headers: Mapping[str, str] | None = None, *, timeout: float = 5.0, busy: float = 0.0
) -> int | None:
    """Return the HTTP status of a GET of `address`; None without an answer.

    A server that accepts the connection but does not respond within `timeout` seconds is asked again
    until `busy` seconds are over; any other failure is final.
    """
    end = time.monotonic() + busy
    while True:
        try:
            request = urllib.request.Request(address, headers=dict(headers or {}))  # noqa: S310
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - always http
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except TimeoutError:
            if time.monotonic() >= end:
                return None
        except (OSError, ValueError):
            return None
