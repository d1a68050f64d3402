"""`NAME=VALUE` arguments are parsed as YAML; invalid ones raise ArgumentTypeError."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.cli.argument_types import assignment


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("width=5", ("width", 5)),
        (" width = 0.5", ("width", 0.5)),
        ("width=", ("width", None)),
        ("mode=a=b", ("mode", "a=b")),
        ("mode='5'", ("mode", "5")),
        ("on=true", ("on", True)),
        ("parts=[a, 2]", ("parts", ["a", 2])),
    ],
)
def test_an_assignment_is_read_as_yaml(text: str, pair: tuple[str, object]) -> None:
    """Numbers, booleans, lists and words need no quotation marks."""
    assert assignment(text) == pair


@pytest.mark.parametrize("text", ["width", "=5", " =5", "", "mode=[1", "mode=2023-13-45", "a=!!x y"])
def test_what_is_no_assignment_is_told(text: str) -> None:
    """The error message quotes the text."""
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        assignment(text)
    assert repr(text) in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text is parsed or raises ArgumentTypeError, never another exception."""
    try:
        name, _ = assignment(f"x={text}")
    except argparse.ArgumentTypeError:
        return
    assert name == "x"
