"""Tests of the suggestions after misspelled words."""

import pytest

from comind.domain.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("word", "known", "suggested"),
    [
        ("slove", ("solve", "show"), "; did you mean solve?"),
        ("--modle", ("--model", "--models-of"), "; did you mean --model?"),
        ("--fast", ("--set", "--as-of"), ""),
        ("", ("--set",), ""),
        ("itertions", (), ""),
    ],
)
def test_the_nearest_word_is_suggested(word: str, known: tuple[str, ...], suggested: str) -> None:
    """The most similar known word is suggested, and none where all are different."""
    assert did_you_mean(word, known) == suggested
