"""Values of instances and solutions as JSON: tuples, sets, arrays and keys of any type keep their type.

A solution comes from a program that is not trusted, so nothing is ever unpickled.
"""

import json
import math
import re
from typing import Any

_TAG = "__comind__"
_ARRAY = re.compile(r"[|<>=][biu][1248]|[|<>=]f[248]|[|<>=]U[0-9]+")
"""Types of arrays that numpy reads from lists as they were."""


def to_text(value: Any) -> str:
    """Return a value as JSON.

    Raises:
        TypeError, ValueError, RecursionError: it has parts that are no plain values.
    """
    return json.dumps(_plain(value))


def from_text(text: str | bytes) -> Any:
    """Return the value that `to_text` wrote; an array is a list where numpy is missing.

    Raises:
        ValueError: it did not write this.
    """
    try:
        return _typed(json.loads(text.decode() if isinstance(text, bytes) else text))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"it is no plain value: {error}") from None


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
        return _plain_array(value)
    raise TypeError(f"a value of the type {type(value).__name__} is no plain value")


def _plain_array(value: Any) -> Any:
    """Return a number of numpy as a number, an array as its type, shape and items."""
    if value.shape == ():
        return _plain(value.tolist())
    if _ARRAY.fullmatch(value.dtype.str) is None:
        raise TypeError(f"an array of the type {value.dtype} is no plain value")
    items = _plain(value.ravel().tolist())
    return {_TAG: "array", "dtype": value.dtype.str, "shape": list(value.shape), "items": items}


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return [_typed(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: _typed(each) for key, each in value.items()}
    kind, items = value[_TAG], _typed(value["items"])
    if not isinstance(items, list):
        raise TypeError("its items are no list")
    if kind == "tuple":
        return tuple(items)
    if kind == "set":
        return set(items)
    if kind == "dict":
        return dict(items)
    if kind != "array" or _ARRAY.fullmatch(value["dtype"]) is None:
        raise ValueError("there is no such type")
    return _array(items, value["dtype"], value["shape"])


def _array(items: list[Any], dtype: str, shape: list[int]) -> Any:
    try:
        import numpy as np
    except ImportError:
        return _nested(items, shape)
    return np.array(items, dtype=dtype).reshape(shape)


def _nested(items: list[Any], shape: list[int]) -> list[Any]:
    """Return lists of a shape."""
    if len(shape) < 2:  # noqa: PLR2004 - dimensions
        return items
    step = math.prod(shape[1:])
    rows = (items[number * step : (number + 1) * step] for number in range(shape[0]))
    return [_nested(each, shape[1:]) for each in rows]


def is_score(value: Any) -> bool:
    """Return whether a scorer's value is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False
