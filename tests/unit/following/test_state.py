"""The state that a followed competition's log folds to, and the notices of changes."""

from pathlib import Path

import pytest

from comind.errors import CampaignError
from comind.following.day import notices_of
from comind.following.events import (
    FollowingEvent,
    SliceStarted,
    StandingRecorded,
    SubmissionSent,
    SubmissionStarted,
)
from comind.following.state import FollowingLog, read_following
from tests.unit.following.days import (
    after,
    candidate,
    day,
    observation,
    scored,
    slice_ended,
    submissions,
)

A, B = candidate("a"), candidate("b")


def test_a_campaign_goes_on_as_long_as_the_data_are_the_same() -> None:
    """A campaign belongs to the data it was started on."""
    begun = SliceStarted(at=day(0), campaign="c1", seconds=60, data_sha256="data")
    state = after(begun)
    assert state.slice_running
    assert state.campaign_on("data") == "c1"
    assert state.campaign_on("other") is None
    assert not after(begun, slice_ended(0, A)).slice_running


def test_a_day_has_one_budget() -> None:
    """The spend of a day's slices is summed by day."""
    state = after(slice_ended(0, A), slice_ended(0, A, seconds=30), slice_ended(1, A, seconds=5))
    assert state.spent_on(day(0).date()) == (90.0, 1.0)
    assert state.spent_on(day(1).date()) == (5.0, 0.5)


def test_what_was_perhaps_handed_in_is_known() -> None:
    """Between start and reference a submission is uncertain; then it is accepted, or dropped."""
    sending = SubmissionStarted(at=day(0), candidate=A, message="comind a")
    state = after(sending)
    assert state.uncertain is not None
    assert state.uncertain.message == "comind a"
    taken = after(sending, SubmissionSent(at=day(0), sha256=A.sha256, reference="7"))
    assert taken.uncertain is None
    assert [each.reference for each in taken.pending] == ["7"]
    assert after(sending, SubmissionSent(at=day(0), sha256=A.sha256, reference="")).submissions == ()


def test_the_best_public_score_is_what_we_stand_with() -> None:
    """The best public score counts; a rejected file has none."""
    state = after(
        *submissions(0, A, "1"),
        scored(0, "1", public_score=0.7),
        *submissions(1, B, "2"),
        scored(1, "2", public_score=0.6),
        *submissions(2, candidate("c"), "3"),
        scored(2, "3", error="broken"),
    )
    assert state.best_public(maximize=True) == 0.7
    assert state.best_public(maximize=False) == 0.6
    assert state.pending == ()
    assert StandingRecorded(at=day(2), score=0.7, rank=26, teams=100).percentile == 75.0


def test_changes_are_told_once() -> None:
    """Changes of deadline, rules, data and entry conditions are noticed once."""
    assert notices_of(None, observation()) == []
    assert notices_of(observation(), observation(1)) == []
    changes = {"deadline": day(20), "rules_sha256": "r", "data_sha256": "d", "closed": "only code"}
    changed = observation(1, **changes)
    assert [each.subject for each in notices_of(observation(), changed)] == [
        "deadline",
        "rules",
        "data",
        "closed",
    ]
    assert notices_of(changed, observation(2, **changes)) == []
    over = notices_of(observation(29), observation(31))
    assert [each.subject for each in over] == ["deadline"]
    assert "has passed" in over[0].text
    assert notices_of(observation(31), observation(32)) == []


def test_a_deadline_that_comes_near_is_told() -> None:
    """The deadline is noticed a week and a day before, once each."""
    told = [
        day_
        for day_ in range(1, 31)
        if any("near" in each.text for each in notices_of(observation(day_ - 1), observation(day_)))
    ]
    assert told == [23, 29]


def test_one_process_follows_a_competition(tmp_path: Path) -> None:
    """The log has one writer and any number of readers."""
    with FollowingLog(tmp_path, "somewhere") as log:
        log.record(observation())
        with pytest.raises(CampaignError, match="another process"):
            FollowingLog(tmp_path, "somewhere")
        assert read_following(tmp_path, "somewhere") == log.state
    with FollowingLog(tmp_path, "somewhere") as again:
        assert again.state.observation == observation()


def test_the_score_that_counts_is_of_the_two_best_public_ones() -> None:
    """The best private score of another submission does not count."""
    events: list[FollowingEvent | list[FollowingEvent]] = []
    for name, public, private in (("a", 0.5, 0.9), ("b", 0.7, 0.6), ("c", 0.8, 0.65)):
        events.append(submissions(1, candidate(name), name))
        events.append(scored(2, name, public_score=public, private_score=private))
    state = after(*events)
    assert state.final_score(maximize=True) == 0.65
    assert state.final_score(maximize=False) == 0.6


def test_a_sent_file_is_one_less_of_the_day() -> None:
    """What Kaggle said is left counts down with each file sent since, but not with rejected ones."""
    state = after(observation(1), *submissions(1, A))
    assert state.submissions_left == 4
    assert after(*submissions(0, A), observation(1)).submissions_left == 5
    assert after(observation(1), *submissions(1, A), observation(2)).submissions_left == 5
