"""The two submissions to select for the end."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from comind.following.events import Candidate
from comind.following.final_selection import select_submissions
from tests.unit.following.days import after, candidate, day, observation, scored, submissions

_VALUES = {"a": 0.80, "b": 0.82, "c": 0.81, "d": 0.5}
_PUBLIC = {"a": 0.90, "b": 0.70, "c": 0.71, "d": 0.95}


def _none(_one: Candidate, others: Sequence[Candidate]) -> list[None]:
    return [None for _ in others]


def _select(names: str, correlations: dict[str, float] | None = None) -> tuple[str, str, float | None]:
    """Return the first letter of the hashes of what is selected, and their correlation."""

    def known(_one: Candidate, others: Sequence[Candidate]) -> list[float | None]:
        return [(correlations or {}).get(each.sha256[0]) for each in others]

    events = [
        event
        for name in names
        for event in (
            *submissions(0, candidate(name, _VALUES[name]), name),
            scored(0, name, public_score=_PUBLIC[name]),
        )
    ]
    found = select_submissions(after(observation(), events).submissions, known, day(0))
    assert found is not None
    return found.first.sha256[0], found.second.sha256[0] if found.second else "", found.correlation


def test_the_second_errs_differently_and_is_not_worse_beyond_the_noise() -> None:
    """Of those within the noise the least correlated one; a bad one is none, however it errs."""
    assert _select("abcd", {"a": 0.9, "c": 0.6, "d": 0.0}) == ("b", "c", 0.6)


def test_without_correlations_the_public_score_decides() -> None:
    """As on data that were released again, or for metrics without errors."""
    assert _select("abc") == ("b", "a", None)


def test_one_submission_is_selected_alone() -> None:
    """Without a scored submission nothing is selected."""
    assert _select("a") == ("a", "", None)
    assert select_submissions((), _none, day(0)) is None
    rejected = [*submissions(0, candidate()), scored(0, error="no")]
    assert select_submissions(after(observation(), rejected).submissions, _none, day(0)) is None


@given(st.permutations("abcd"))
def test_the_order_of_submissions_does_not_matter(names: list[str]) -> None:
    """The same two are selected in whatever order they were sent."""
    assert _select("".join(names), {"a": 0.9, "c": 0.6}) == ("b", "c", 0.6)
