"""Times that users write."""

from datetime import datetime

from comind.errors import UsageError

__all__ = ["parse_as_of"]


def parse_as_of(text: str | None) -> datetime | None:
    """Return the time that a user wrote, in UTC; None for no time.

    Raises:
        UsageError: it is no time with a zone.
    """
    from comind.community.lines import parse_time

    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"as-of time {text!r}: {error}", hint="such as 2023-04-01T00:00:00Z") from None
