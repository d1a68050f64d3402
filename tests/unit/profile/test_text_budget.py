"""Sections share a token budget."""

from hypothesis import given
from hypothesis import strategies as st

from comind.llm.tokens import count_tokens
from comind.profile.text_budget import Section, fit_sections

_LINES = st.lists(st.text("abc de", min_size=1, max_size=80), max_size=20)


@given(st.lists(_LINES, min_size=1, max_size=6), st.integers(0, 1_000))
def test_sections_never_take_more_than_is_given(sections: list[list[str]], tokens: int) -> None:
    """The text fits into the budget, however long the sections are."""
    told = [Section(f"Section {at}", lines, 1 / len(sections)) for at, lines in enumerate(sections)]
    assert count_tokens(fit_sections(told, tokens, count_tokens)) <= tokens


def test_what_one_leaves_goes_to_the_others() -> None:
    """Tokens that a short section does not need go to the others."""
    text = fit_sections(
        [Section("A", ["one"], 0.5), Section("B", ["line of words"] * 20, 0.5)], 160, count_tokens
    )
    assert text.count("line of words") == 20
    assert "more lines" not in text


def test_the_last_lines_are_told_in_brief_first() -> None:
    """If not all lines fit, the last ones are abbreviated before any is omitted."""
    full = [f"column {at} with a great many words about it" for at in range(10)]
    brief = [f"column {at}" for at in range(10)]
    lines = fit_sections([Section("Columns", full, 1.0, brief)], 90, count_tokens).splitlines()
    assert lines[1] == full[0]
    assert lines[-1] == brief[-1]
    assert len(lines) == 11


def test_a_cut_is_said() -> None:
    """Omitted lines are counted; a line that does not fit is skipped."""
    long = "word " * 200
    lines = fit_sections([Section("", ["first", long, "last"], 1.0)], 60, count_tokens).splitlines()
    assert lines == ["first", "last", "  ... and 1 more lines"]
