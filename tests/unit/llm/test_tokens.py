"""Token counts without a tokenizer, and truncation by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.llm.templates import Templates
from comind.llm.tokens import count_tokens, shorten

_ENDS = 3  # marks of the cut, beside what is kept


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        # As Qwen2.5-Coder's tokeniser counts them.
        ("The cell ran in 0.0 s.", 10),
        ("table = rows[['id']].copy()", 8),
        ("KeyError: 'Survived'", 7),
    ],
)
def test_counts_are_near_those_of_a_tokeniser(text: str, counted: int) -> None:
    """Counts of a sentence, a line of code and an error are within a third of a tokenizer's."""
    assert counted * 0.67 <= count_tokens(text) <= counted * 1.5


@given(st.text(), st.text())
def test_more_text_has_more_tokens(one: str, other: str) -> None:
    """Appending a line never lowers a count."""
    assert count_tokens(f"{one}\n{other}") >= max(count_tokens(one), count_tokens(other))


@given(st.text(max_size=3_000), st.integers(min_value=8, max_value=200))
def test_what_is_cut_keeps_both_ends_and_its_size(text: str, tokens: int) -> None:
    """A text that fits is unchanged; a longer one keeps its first and last words within the limit."""
    cut = shorten(text, tokens)
    if count_tokens(text) <= tokens:
        assert cut == text
        return
    start, end = cut.split("\n... (cut) ...\n")[0], cut.split("\n... (cut) ...\n")[-1]
    assert text.startswith(start)
    assert text.endswith(end)
    assert count_tokens(start) + count_tokens(end) <= tokens + _ENDS


def test_a_truncated_traceback_keeps_its_last_lines() -> None:
    """Truncating a long traceback keeps the error at its end."""
    lines = [f"  File 'a.py', line {number}, in call" for number in range(500)]
    cut = shorten("\n".join(["Traceback:", *lines, "ValueError: the reason"]), 100)
    assert cut.startswith("Traceback:\n")
    assert cut.endswith("\nValueError: the reason")


def test_one_long_word_is_truncated_too() -> None:
    """A text without a blank, such as base64, is truncated, too."""
    assert count_tokens(shorten("x" * 100_000, 100)) <= 110


@given(st.text(alphabet="`x\n"))
def test_code_cannot_end_its_block(code: str) -> None:
    """A code block ends at its own fence, whatever fences its content has."""
    block = Templates("comind.llm")._environment.from_string("{{ code|fenced }}").render(code=code)
    first, *content, last = block.split("\n")
    assert first == f"{last}python"
    assert "\n".join(content) == code
    assert last not in code
