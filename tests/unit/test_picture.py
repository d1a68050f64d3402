"""The README's picture: what a terminal shows of a campaign, as an SVG."""

import runpy
from pathlib import Path

_PICTURE = runpy.run_path(str(Path(__file__).parents[2] / "infra" / "picture.py"))


def test_a_table_is_drawn_over_the_former_one() -> None:
    """Cursor up and erase line replace what a live table showed before; other lines stay."""
    output = "first\r\ntable 1\r\nfooter 1\x1b[2K\x1b[1A\x1b[2Ksecond\r\n"
    output += "table 2\r\n\x1b[1mfooter 2\x1b[0m\r\n"
    assert _PICTURE["screen"](output) == ["first", "second", "table 2", "\x1b[1mfooter 2\x1b[0m", ""]


def test_events_are_sorted_and_minor_ones_left_out() -> None:
    """Events come by their time, with the rest of long lines; model calls and sessions are left out."""
    lines = [
        "\x1b[2m00:02  attempt-000: step 1 failed: a long\x1b[0m",
        "\x1b[2mreason\x1b[0m",
        "00:01  attempt-000: session in bubblewrap",
        "00:01  think-000: analyze",
        "00:01  attempt-000: draft, baseline",
        "00:03  attempt-000: done, rmse 1.5 [1, 2]",
        "1:00:00  ended: done",
        "attempt      draft",
        "attempt-000  baseline",
    ]
    assert _PICTURE["selected"](lines) == [
        "00:01  attempt-000: draft, baseline",
        "00:02  attempt-000: step 1 failed: a long\n       reason",
        "1:00:00  ended: done",
        "",
        "attempt      draft",
        "attempt-000  baseline",
    ]


def test_the_picture_needs_no_other_file() -> None:
    """The SVG holds the text and refers to no font or other file of the network."""
    drawn = _PICTURE["svg"](["00:01  attempt-000: step 1: rmse 1.5 [1, 2]"], "make demo")
    assert "make" in drawn
    assert "attempt-000" in drawn
    assert "url(http" not in drawn.replace("&quot;", "").replace('"', "")
