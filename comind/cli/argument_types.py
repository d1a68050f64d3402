"""Types of command-line arguments, for argparse's `type=`; each raises ArgumentTypeError."""

import argparse
from typing import Any, TypeVar

import yaml

N = TypeVar("N", int, float)


def non_negative_int(text: str) -> int:
    """Parse an integer >= 0."""
    return _number(text, int, minimum=0)


def positive_int(text: str) -> int:
    """Parse an integer >= 1."""
    return _number(text, int, minimum=1)


def non_negative_float(text: str) -> float:
    """Parse a finite number >= 0."""
    return _number(text, float, minimum=0)


def positive_float(text: str) -> float:
    """Parse a finite number > 0."""
    value = _number(text, float, minimum=0)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text} is not more than 0")
    return value


def port(text: str) -> int:
    """Parse a TCP port; 0 is any free one."""
    number = non_negative_int(text)
    if number >= 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is not a port")
    return number


def assignment(text: str) -> tuple[str, Any]:
    """Parse `NAME=VALUE`; the value is YAML, so `5` is a number."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name.strip(), yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r}: the value is not YAML") from None


def _number(text: str, number_type: type[N], *, minimum: float) -> N:
    try:
        value = number_type(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not minimum <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not {minimum} or more")
    return value
