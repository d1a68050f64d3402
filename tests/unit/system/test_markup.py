"""HTML becomes text; other text is unchanged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.system.markup import html_to_text


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ("a < b and b > c", "a < b and b > c"),
        ("**bold** `x < 3`", "**bold** `x < 3`"),
        ("<p>One &amp; two.</p><p>Three</p>", "One & two.\n\nThree"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("x<br>y <img src='p.png' alt='loss'>", "x\ny [picture: loss]"),
        ("<p>a</p><script>steal()</script><style>p{}</style>", "a"),
        ("<p>never closed <b>bold", "never closed bold"),
    ],
)
def test_words_of_a_message(given_: str, words: str) -> None:
    """Blocks become lines, entities characters, pictures their captions; scripts are dropped."""
    assert html_to_text(given_) == words


@given(st.text(alphabet="<>/pab &;'\"=-!", max_size=60))
def test_anything_can_be_read(text: str) -> None:
    """Any text can be converted."""
    assert isinstance(html_to_text(f"<p>{text}"), str)


@given(st.lists(st.sampled_from(["<p>", "</p>", "<P>", "<br>", "</", "p", " ", "\n", "a", "\r\n", ">"])))
def test_paragraphs_alone_are_read_as_all_html(pieces: list[str]) -> None:
    """A text whose tags are paragraphs and breaks alone reads as it does beside a comment."""
    text = "<p>" + "".join(pieces)
    assert html_to_text(text) == html_to_text(f"<!-- -->{text}")
