"""Check whether an HTTP server answers."""

import time
import urllib.request

__all__ = ["answers"]


def answers(address: str, *, timeout: float = 5.0, busy: float = 0.0) -> bool:
    """Return whether a GET of `address` is answered with status 200.

    A server that accepts the connection but does not respond within `timeout` seconds is asked again
    until `busy` seconds are over; any other failure is final.
    """
    end = time.monotonic() + busy
    while True:
        try:
            with urllib.request.urlopen(address, timeout=timeout) as answer:  # noqa: S310 - always http
                return bool(answer.status == 200)  # noqa: PLR2004 - HTTP OK
        except TimeoutError:
            if time.monotonic() >= end:
                return False
        except (OSError, ValueError):
            return False
