"""Values of instances and solutions as JSON, also those that a hostile program writes."""

import contextlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.programs.inside.values import from_text, is_score, to_text

_KEYS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_HASHABLE = st.recursive(_KEYS, lambda part: st.lists(part, max_size=3).map(tuple), max_leaves=5)
_VALUES = st.recursive(
    _KEYS,
    lambda part: (
        st.lists(part, max_size=4)
        | st.lists(part, max_size=4).map(tuple)
        | st.sets(_HASHABLE, max_size=4)
        | st.dictionaries(_HASHABLE, part, max_size=4)
        | st.dictionaries(st.text(), part, max_size=4)
    ),
    max_leaves=20,
)


@given(value=_VALUES)
def test_values_return_as_they_were(value: Any) -> None:
    """Nested lists, tuples, sets and dictionaries with keys of any type come back, each of its type."""
    found = from_text(to_text(value))
    assert found == value
    assert repr(type(found)) == repr(type(value))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "float64", "<U5"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (4,), (2, 3), (2, 1, 2)])
def test_arrays_keep_type_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    """An array of numbers or words comes back with its type and shape, also without items."""
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    found = from_text(to_text({"nested": (array, [array])}))["nested"]
    for each in (found[0], found[1][0]):
        assert each.dtype == array.dtype
        assert each.shape == array.shape
        assert (each == array).all()


def test_infinity_and_missing_numbers_return() -> None:
    """Infinity and NaN are numbers of instances, too."""
    found = from_text(to_text([math.inf, -math.inf, math.nan, np.array([math.inf, 1.0])]))
    assert found[:2] == [math.inf, -math.inf]
    assert math.isnan(found[2])
    assert found[3].tolist() == [math.inf, 1.0]


def test_numbers_of_numpy_are_numbers() -> None:
    """A number of numpy comes back as the number that it is."""
    found = from_text(to_text([np.int8(3), np.float32(0.5), np.bool_(True), np.array(7)]))
    assert found == [3, 0.5, True, 7]
    assert [type(each) for each in found] == [int, float, bool, int]


def test_the_tag_may_be_a_key() -> None:
    """A dictionary with the key by which types are told comes back as it was."""
    value = {"__comind__": "tuple", "items": 5}
    assert from_text(to_text(value)) == value


@pytest.mark.parametrize(
    "value", [object(), 1j, b"bytes", len, np.array([object()]), np.array([1j]), np.array([b"x"])]
)
def test_other_values_are_refused(value: object) -> None:
    """What is no plain value is a TypeError, wherever it is."""
    with pytest.raises(TypeError, match="no plain value"):
        to_text([value])


@pytest.mark.parametrize(
    "value",
    [
        {"__comind__": "dict", "items": 5},
        {"__comind__": "dict", "items": [1, 2]},
        {"__comind__": "dict", "items": [[[1], 2]]},
        {"__comind__": "tuple"},
        {"__comind__": "tuple", "items": None},
        {"__comind__": "set", "items": [[1]]},
        {"__comind__": "set", "items": {"a": 1}},
        {"__comind__": ["tuple"], "items": []},
        {"__comind__": None, "items": []},
        {"__comind__": "function", "items": []},
        {"__comind__": "array", "items": [1]},
        {"__comind__": "array", "items": [1], "dtype": "O", "shape": [1]},
        {"__comind__": "array", "items": [1], "dtype": 5, "shape": [1]},
        {"__comind__": "array", "items": [300], "dtype": "|i1", "shape": [1]},
        {"__comind__": "array", "items": ["a"], "dtype": "<f8", "shape": [1]},
        {"__comind__": "array", "items": [[1], [1, 2]], "dtype": "<f8", "shape": [2]},
        {"__comind__": "array", "items": [1, 2], "dtype": "<i8", "shape": [3]},
        {"__comind__": "array", "items": [1, 2], "dtype": "<i8", "shape": ["x"]},
        {"__comind__": "array", "items": [1, 2], "dtype": "<i8", "shape": "2"},
    ],
)
def test_hostile_values_are_value_errors(value: object) -> None:
    """What `to_text` never wrote is a ValueError, and nothing else."""
    with pytest.raises(ValueError, match="no plain value"):
        from_text(json.dumps(value))


@pytest.mark.parametrize(
    "text",
    [b"\xff\xfe", b"", b"{", b"[" * 100_000, b'{"__comind__":"tuple","items":' * 2_000, b"1" * 5_000],
)
def test_hostile_texts_are_value_errors(text: bytes) -> None:
    """Text that is no JSON, nested too deep or a number too long is a ValueError, and nothing else."""
    with pytest.raises(ValueError, match=r"nested too deep|no plain value"):
        from_text(text)


@given(text=st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_value_error(text: bytes) -> None:
    """Any bytes are a value, or a ValueError."""
    with contextlib.suppress(ValueError):
        from_text(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "1", None, [1], 10**400, 1j])
def test_scores_are_finite_numbers(value: object) -> None:
    """NaN, infinity, truth values, words, lists and integers beyond all floats are no scores."""
    assert not is_score(value)
    assert is_score(0)
    assert is_score(-1.5)
