"""Long loops report how far they have come to listeners."""

from comind.system.progress import counted, reported_to


def test_a_loop_reports_what_is_done_to_its_listener() -> None:
    """Items are unchanged, the end is reported, too; without a listener nothing is."""
    heard: list[tuple[str, int | None, int | None]] = []
    assert list(counted(range(7), "before", every=2)) == list(range(7))
    with reported_to(lambda *report: heard.append(report)):
        assert list(counted("abcde", "letters", 5, every=2, unit=10)) == list("abcde")
    assert list(counted(range(7), "after", every=2)) == list(range(7))
    assert heard == [("letters", 20, 5), ("letters", 40, 5), ("letters", None, 5)]
