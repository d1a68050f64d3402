"""Values of instances and solutions as JSON: tuples, sets, arrays and keys of any type keep their type.

A solution comes from a program that is not trusted, so nothing is ever unpickled.
"""

import json
import math
from typing import Any

_TAG = "__comind__"


def to_text(value: Any) -> str:
    """Return a value as JSON.

    Raises:
        TypeError, ValueError, RecursionError: it has parts that are no plain values.
    """
    return json.dumps(_plain(value))


def from_text(text: str) -> Any:
    """Return the value that `to_text` wrote; an array is a list where numpy is missing."""
    return _typed(json.loads(text))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, tuple):
        return {_TAG: "tuple", "items": [_plain(each) for each in value]}
    if isinstance(value, set | frozenset):
        return {_TAG: "set", "items": [_plain(each) for each in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and _TAG not in value:
            return {key: _plain(each) for key, each in value.items()}
        return {_TAG: "dict", "items": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        found = value.tolist()
        if getattr(value, "shape", ()) == ():
            return _plain(found)  # a number of numpy
        return {_TAG: "array", "items": _plain(found)}
    raise TypeError(f"a value of the type {type(value).__name__} is no plain value")


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return [_typed(each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_TAG)
    if kind is None:
        return {key: _typed(each) for key, each in value.items()}
    items = _typed(value.get("items", []))
    if kind == "tuple":
        return tuple(items)
    if kind == "set":
        return set(items)
    if kind == "dict":
        return dict(items)
    return _array(items)


def _array(items: Any) -> Any:
    try:
        import numpy as np
    except ImportError:
        return items
    return np.array(items)


def is_score(value: Any) -> bool:
    """Return whether a scorer's value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
