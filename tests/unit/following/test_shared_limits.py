"""Limits that followed competitions share."""

import math

from hypothesis import given
from hypothesis import strategies as st

from comind.following.day import DayPlan
from comind.following.shared_limits import SharedLimits
from comind.following.state import Following
from tests.unit.following.days import after, candidate, day, observation, submissions

_PLAN = DayPlan(minutes=240, usd=10)
_TODAY = day(0).date()


def test_time_and_money_are_divided_by_priority() -> None:
    """A competition with twice the priority gets twice as much; what is over gets nothing."""
    limits = SharedLimits(minutes=90, usd=6, priorities={"a": 2})
    others = {"b": after(observation()), "c": after(observation(31))}
    mine = limits.plan_for("a", _PLAN, others)
    assert (mine.minutes, mine.usd) == (60, 4)
    theirs = limits.plan_for("b", _PLAN, {"a": after(observation()), "c": others["c"]})
    assert (theirs.minutes, theirs.usd) == (30, 2)


def test_a_share_only_lowers_a_plan() -> None:
    """Without limits a plan is unchanged; one that asks for less keeps it."""
    assert SharedLimits().plan_for("a", _PLAN, {}) == _PLAN
    assert SharedLimits(minutes=900, usd=60).plan_for("a", _PLAN, {}) == _PLAN
    assert SharedLimits(usd=0).plan_for("a", _PLAN, {}).usd == 0


def test_what_others_have_sent_today_is_not_available() -> None:
    """With one submission a day for two competitions, the first to send uses it."""
    limits = SharedLimits(submissions=1)
    sent = after(observation(), submissions(0, candidate()))
    assert limits.submissions_for("a", {"b": after(observation())}, _TODAY) == 1
    assert limits.submissions_for("a", {"b": sent}, _TODAY) == 0
    assert limits.submissions_for("a", {"b": sent}, day(1).date()) == 1
    assert SharedLimits().submissions_for("a", {"b": sent}, _TODAY) is None


@given(
    st.integers(0, 9),
    st.dictionaries(st.sampled_from("abcde"), st.floats(0.01, 100), min_size=5),
    st.lists(st.sampled_from("abcde"), max_size=30),
)
def test_a_days_limit_holds_whatever_the_order(
    total: int, priorities: dict[str, float], order: list[str]
) -> None:
    """However often competitions want to submit, their sum stays within the limit and their share."""
    limits = SharedLimits(submissions=total, priorities=priorities)
    sent = dict.fromkeys("abcde", 0)

    def state(name: str) -> Following:
        made = [each for n in range(sent[name]) for each in submissions(0, candidate(), str(n))]
        return after(observation(), made)

    for name in order:
        allowed = limits.submissions_for(name, {n: state(n) for n in sent if n != name}, _TODAY)
        assert allowed is not None
        sent[name] += sent[name] < allowed
    assert sum(sent.values()) <= total
    for name, count in sent.items():
        assert count <= math.ceil(total * priorities[name] / sum(priorities.values()))
