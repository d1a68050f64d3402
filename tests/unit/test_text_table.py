"""Tables of the command line."""

from comind.reporting.text_table import text_table


def test_cells_of_a_column_are_aligned() -> None:
    """Texts are at the left, the last columns at the right; no line ends with blanks."""
    rows = [("work", "what", "steps"), ("attempt-000", "draft", "12"), ("", "a note", "")]
    assert text_table(rows, numbers=1).splitlines() == [
        "work         what    steps",
        "attempt-000  draft      12",
        "             a note",
    ]
    assert text_table(rows).splitlines()[1] == "attempt-000  draft   12"
    assert text_table([]) == ""
