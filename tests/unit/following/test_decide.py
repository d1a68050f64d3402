"""The decision whether to submit a candidate."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.domain.metric import Interval, Paired
from comind.following.decide import Policy, decide, submissions_used_up
from comind.following.events import Candidate, SubmissionApproved, SubmissionDecided
from comind.following.state import Following
from tests.unit.following.days import (
    after,
    candidate,
    day,
    observation,
    scored,
    slice_ended,
    submissions,
)

A, B = candidate("a", 0.80), candidate("b", 0.85)


Compare = Callable[[Candidate, Candidate], Paired | None]


def _paired(difference: float, error: float = 0.01) -> Compare:
    def compare(one: Candidate, other: Candidate) -> Paired:
        return Paired(
            difference=difference,
            standard_error=error,
            interval=Interval(low=difference - 2 * error, high=difference + 2 * error),
        )

    return compare


def _decide(state: Following, policy: Policy, compare: Compare) -> SubmissionDecided:
    assert state.observation is not None
    return decide(state, state.candidate, policy, compare, state.observation.at)


NEVER_ASKED: Compare = lambda one, other: pytest.fail("nothing to compare with")  # noqa: E731


def test_the_first_candidate_goes_out_where_that_is_wanted() -> None:
    """The first candidate is submitted, asked about, or kept, as the policy says."""
    state = after(observation(), slice_ended(0, A))
    verdicts: list[tuple[Policy, str]] = [("auto", "submit"), ("ask", "ask"), ("never", "keep")]
    for policy, verdict in verdicts:
        assert _decide(state, policy, NEVER_ASKED).verdict == verdict
    assert "--allow aaaaaaaaaaaa" in _decide(state, "ask", NEVER_ASKED).reason


def test_what_a_person_agreed_to_goes_out() -> None:
    """An approved file is submitted under any policy."""
    state = after(
        observation(), slice_ended(0, A), SubmissionApproved(at=observation().at, sha256=A.sha256)
    )
    for policy in ("never", "ask", "auto"):
        assert _decide(state, policy, NEVER_ASKED).verdict == "submit"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"deadline": observation().at.replace(year=2023)}, "the deadline has passed"),
        ({"closed": "only code is taken"}, "only code is taken"),
        ({"submissions_left": 0}, "no submission is left today"),
    ],
)
def test_what_cannot_be_handed_in_is_kept(changes: dict[str, object], reason: str) -> None:
    """A candidate is kept after the deadline, if submissions are closed, or beyond the limit."""
    decision = _decide(after(observation(**changes), slice_ended(0, A)), "auto", NEVER_ASKED)
    assert decision.verdict == "keep"
    assert reason in decision.reason


def test_the_same_file_goes_out_once() -> None:
    """A submitted file is never submitted again, even if it was rejected."""
    for reply in (scored(0, public_score=0.8), scored(0, error="broken")):
        state = after(
            observation(),
            slice_ended(0, A),
            *submissions(0, A),
            reply,
            observation(1),
            slice_ended(1, A),
        )
        assert _decide(state, "auto", NEVER_ASKED).reason == "it was submitted before"


@pytest.mark.parametrize(("difference", "verdict"), [(0.02, "submit"), (0.01, "keep"), (-0.5, "keep")])
def test_only_what_is_better_beyond_the_noise_goes_out(difference: float, verdict: str) -> None:
    """A candidate must beat the last submission by more than one standard error on the same rows."""
    state = after(
        observation(), slice_ended(0, A), *submissions(0, A), observation(1), slice_ended(1, B)
    )
    decision = _decide(state, "auto", _paired(difference))
    assert decision.verdict == verdict
    assert decision.ahead is not None


def test_other_rows_cannot_be_compared() -> None:
    """On new data, the first valid solution is submitted."""
    state = after(
        observation(), slice_ended(0, A), *submissions(0, A), observation(1), slice_ended(1, B)
    )
    decision = _decide(state, "auto", lambda one, other: None)
    assert decision.verdict == "submit"
    assert "other rows" in decision.reason


def test_a_file_that_is_worse_on_new_data_is_kept() -> None:
    """Different rows have no paired difference; both intervals are the noise."""
    worse, alike = candidate("b", 0.6), candidate("b", 0.79)
    for found, verdict in ((worse, "keep"), (alike, "submit")):
        state = after(
            observation(), slice_ended(0, A), *submissions(0, A), observation(1), slice_ended(1, found)
        )
        decision = _decide(state, "auto", lambda one, other: None)
        assert decision.verdict == verdict
    assert (
        "its score is worse by 0.2"
        in _decide(
            after(observation(), slice_ended(0, A), *submissions(0, A), slice_ended(1, worse)),
            "auto",
            lambda one, other: None,
        ).reason
    )


def test_a_refused_file_is_no_measure() -> None:
    """A rejected submission is not compared with."""
    state = after(
        observation(),
        slice_ended(0, A),
        *submissions(0, A),
        scored(0, error="broken"),
        slice_ended(1, B),
    )
    assert _decide(state, "auto", NEVER_ASKED).verdict == "submit"


def test_a_file_of_old_data_stays_here() -> None:
    """A candidate made from replaced data is kept."""
    state = after(observation(), slice_ended(0, A), observation(1, data_sha256="other"))
    decision = _decide(state, "auto", NEVER_ASKED)
    assert decision.verdict == "keep"
    assert "have been replaced" in decision.reason


def test_changed_rules_need_a_person() -> None:
    """Under changed rules nothing is submitted without approval, not even an approved file."""
    before = [observation(), slice_ended(0, A), observation(1, rules_sha256="other")]
    assert _decide(after(*before), "auto", NEVER_ASKED).verdict == "ask"
    file = SubmissionApproved(at=observation(1).at, sha256=A.sha256)
    assert _decide(after(*before, file), "auto", NEVER_ASKED).verdict == "ask"
    agreement = SubmissionApproved(at=observation(1).at, rules_sha256="other")
    assert _decide(after(*before, agreement), "auto", NEVER_ASKED).verdict == "submit"


@given(
    left=st.integers(0, 3),
    over=st.booleans(),
    closed=st.sampled_from(["", "closed"]),
    rules=st.sampled_from(["rules", "other"]),
    difference=st.floats(-1, 1),
    policy=st.sampled_from(["never", "ask", "auto"]),
)
def test_a_submission_needs_everything(
    left: int, over: bool, closed: str, rules: str, difference: float, policy: Policy
) -> None:
    """A file is submitted only within limit, deadline and rules, and beyond the noise."""
    look = observation(
        1,
        submissions_left=left,
        closed=closed,
        rules_sha256=rules,
        deadline=observation().at if over else None,
    )
    state = after(observation(), slice_ended(0, A), *submissions(0, A), look, slice_ended(1, B))
    goes = _decide(state, policy, _paired(difference)).verdict == "submit"
    may = policy == "auto" and rules == "rules" and left > 0 and not over and not closed
    assert goes == (may and difference > 0.01)


def _used_up(number: int, sent: int, total: int, today: int | None = None) -> str:
    """Return what the budget says on a day, after `sent` submissions on the first one."""
    made = [event for n in range(sent) for event in submissions(0, A, str(n))]
    return submissions_used_up(after(observation(), made, observation(number)), total, today)


def test_a_budget_of_submissions_is_spread_over_the_days() -> None:
    """Of ten in thirty days one is free on the first day, the second one on the fourth."""
    assert _used_up(0, sent=0, total=10) == ""
    assert _used_up(0, sent=1, total=10) == "1 of 10 submissions are used, and 1 are free by now"
    assert "1 are free by now" in _used_up(2, sent=1, total=10)
    assert _used_up(3, sent=1, total=10) == ""
    assert _used_up(29, sent=9, total=10) == ""
    assert "10 of 10" in _used_up(29, sent=10, total=10)
    assert "the 1 submissions of today" in _used_up(0, sent=1, total=10, today=1)
    assert _used_up(1, sent=1, total=40, today=1) == ""


@given(number=st.integers(0, 29), total=st.integers(0, 60), sent=st.integers(0, 60))
def test_a_budget_is_never_exceeded(number: int, total: int, sent: int) -> None:
    """Nothing is free beyond the total, and all of it is on the last day."""
    used_up = bool(_used_up(number, sent, total))
    assert used_up or sent < total
    assert used_up == (sent >= total) or number < 29


def test_a_used_up_budget_keeps_the_file_unless_it_was_approved() -> None:
    """The reason is the budget's; what a person approved is submitted."""
    state = after(observation(), slice_ended(0, A))
    kept = decide(state, A, "auto", NEVER_ASKED, day(0), "all are used")
    assert (kept.verdict, kept.reason) == ("keep", "it is the first submission, but all are used")
    agreed = SubmissionApproved(at=observation().at, sha256=A.sha256)
    approved = after(observation(), slice_ended(0, A), agreed)
    assert decide(approved, A, "auto", NEVER_ASKED, day(0), "all are used").verdict == "submit"
