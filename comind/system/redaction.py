"""Replace the keys of our environment in logs and tracebacks."""

import os
import re
import traceback
from fnmatch import fnmatchcase
from urllib.parse import quote

_NAMES = ("*KEY*", "*TOKEN*", "*SECRET*", "*PASSW*", "*CREDENTIAL*", "*AUTH_STRING*")
"""Patterns of the variables that hold keys."""
_SHORTEST = 8  # characters of a key; shorter values, such as `false`, are part of other texts
_SHOWN = "[key]"
_PASSWORD = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_TRACEBACK_KEPT = 8_000  # characters, the last ones
_named: set[str] = set()


def read_key(variable: str) -> str | None:
    """Return a variable of the environment that settings name; its value is a key from now on."""
    _named.add(variable)
    return os.environ.get(variable)


def redact(text: str) -> str:
    """Return `text` without the values of keys, and without passwords in URLs."""
    values = {value for name, value in os.environ.items() if len(value) >= _SHORTEST and _is_key(name)}
    for value in sorted(values | {quote(value, safe="") for value in values}, key=len, reverse=True):
        text = text.replace(value, _SHOWN)
    return _PASSWORD.sub(_SHOWN, text)


def _is_key(name: str) -> bool:
    return name in _named or any(fnmatchcase(name.upper(), pattern) for pattern in _NAMES)


def traceback_of(error: BaseException) -> str:
    """Return the last part of an exception's traceback, without keys."""
    return redacted_traceback(error)[-_TRACEBACK_KEPT:]


def redacted_traceback(error: BaseException) -> str:
    """Return an exception's traceback, without keys."""
    return redact("".join(traceback.format_exception(error)).rstrip("\n"))
