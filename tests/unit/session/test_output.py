"""Output of any kind is kept as plain text of bounded length, with its beginning and end."""

from hypothesis import given
from hypothesis import strategies as st

from comind.session.output import OutputBuffer, plain_text

_JUNK = st.text(st.sampled_from("ab\r\n\x1b[]0;mK\x07\x00\ud800é"), max_size=60)


def _collected(parts: list[str], **sizes: int) -> OutputBuffer:
    output = OutputBuffer(**sizes)
    for part in parts:
        output.add(part)
    return output


@given(st.lists(_JUNK, max_size=30))
def test_it_does_not_matter_how_text_is_cut(parts: list[str]) -> None:
    """Text within the limit is kept, in however many pieces it arrives."""
    assert _collected(parts).text() == plain_text("".join(parts))


@given(st.lists(_JUNK, max_size=30), st.integers(1, 20), st.integers(1, 20))
def test_programs_and_outputs_of_an_outcome_are_truncated(
    parts: list[str], head: int, tail: int
) -> None:
    """Beginning and end of the plain text are kept, and no more than was printed."""
    whole = plain_text("".join(parts))
    kept = _collected(parts, head=head, tail=tail).text()
    if len(whole) <= head + tail:
        assert kept == whole
    else:
        dropped = len(whole) - head - tail
        gap = f"\n... ({dropped} characters left out) ...\n"
        assert kept == whole[:head] + gap + whole[-tail:]


@given(_JUNK)
def test_plain_text_stays_as_it_is(text: str) -> None:
    """Plain text is printable, can be encoded, and the conversion is idempotent."""
    plain = plain_text(text)
    plain.encode()
    assert not set(plain) & set("\r\x1b\x00\x07")


def test_memory_is_bounded_while_it_comes() -> None:
    """An endless line and an endlessly overwritten one take bounded memory."""
    output = OutputBuffer(head=10, tail=10)
    for number in range(2_000):
        output.add("x" * 1_000 if number % 2 else f"\r{number}%")
        assert len(output._line) <= (1 << 16)
        assert len(output._tail) <= 10
    output.add("\nthe end")
    assert output.text().endswith("\nthe end")


def test_a_progress_bar_is_its_last_state() -> None:
    """A progress bar becomes one line."""
    output = OutputBuffer()
    for number in range(50_000):
        output.add(f"\r{number / 500:.1f}% of the way")
    output.add("\ndone\n")
    assert output.text() == "100.0% of the way\ndone\n"


def test_an_open_title_hides_nothing() -> None:
    """An unterminated control sequence ends with its line."""
    assert plain_text("a\x1b]0;title\nthe last line") == "a\nthe last line"
