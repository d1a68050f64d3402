"""What a replayed competition shows at which time, and which submissions it accepts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from comind.errors import LiveError
from comind.live.simulated_clock import SimulatedClock
from comind.live.submissions import SubmissionStore
from comind.live.world import LiveBudget
from tests.unit.live.worlds import NOON, leaderboard, open_world, submission, world_folder

DEADLINE = datetime(2023, 4, 30, 23, 59, tzinfo=UTC)


def test_scores_of_a_sealed_world_are_hidden_until_the_deadline(tmp_path: Path) -> None:
    """A sealed submission is graded at once, and its scores are shown from the deadline on."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    submitted = world.submit(submission(folder))
    assert submitted.status == "complete"
    assert submitted.marks is not None
    assert (submitted.marks.public, submitted.marks.private, submitted.marks.score) == (None, None, None)
    assert world.rank() is None
    world.clock.set(DEADLINE)
    (told,) = world.submissions()
    assert told.marks is not None
    assert (told.marks.public, told.marks.private, told.marks.score) == (1.0, 1.0, 1.0)


def test_public_scores_are_told_at_once_where_the_world_is_like_kaggle(tmp_path: Path) -> None:
    """With public scores, the score on the public rows is shown at once, and no other."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, scores="public")
    submitted = world.submit(submission(folder))
    assert submitted.marks is not None
    assert (submitted.marks.public, submitted.marks.private, submitted.marks.score) == (1.0, None, None)
    assert world.rank() == 1


def test_the_private_leaderboard_waits_for_the_deadline(tmp_path: Path) -> None:
    """The private leaderboard is refused before the deadline, and includes own teams after it."""
    folder = world_folder(tmp_path)
    leaderboard(folder, "private.csv", "rank,score", "1,0.95", "2,0.5")
    world = open_world(folder, NOON)
    world.submit(submission(folder, right=7))
    with pytest.raises(LiveError, match="before the deadline"):
        world.leaderboard("private")
    world.clock.set(DEADLINE)
    board = world.leaderboard("private")
    assert [entry.team for entry in board.entries] == ["Team 1", "you", "Team 2"]
    assert world.rank() == 2


def test_a_world_of_hours_ends_without_telling_the_final_leaderboard(tmp_path: Path) -> None:
    """After the time limit scores are shown, but final leaderboards wait for the deadline."""
    folder = world_folder(tmp_path)
    leaderboard(folder, "private.csv", "rank,score", "1,0.95")
    world = open_world(folder, NOON, LiveBudget(hours=24))
    world.submit(submission(folder))
    world.clock.set(NOON + timedelta(hours=24))
    assert world.over
    assert world.submissions()[0].marks.score == 1.0
    with pytest.raises(LiveError, match="before the deadline"):
        world.leaderboard("private")
    with pytest.raises(LiveError, match="has passed"):
        world.submit(submission(folder))


def test_scores_on_other_rows_are_not_put_on_the_leaderboard(tmp_path: Path) -> None:
    """If scores are not comparable, own teams are not on the leaderboard, with a message."""
    folder = world_folder(tmp_path, leaderboard_comparable=False)
    leaderboard(folder, "private.csv", "rank,score", "1,0.95")
    world = open_world(folder, NOON)
    world.submit(submission(folder))
    world.close()
    board = world.leaderboard("private")
    assert [entry.team for entry in board.entries] == ["Team 1"]
    assert "other rows" in board.message
    assert world.rank() is None


def test_five_submissions_a_day_until_midnight(tmp_path: Path) -> None:
    """The sixth submission of a simulated day is refused; the limit resets at midnight UTC."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    for _ in range(5):
        world.submit(submission(folder))
    with pytest.raises(LiveError, match=r"\(5 of 5\).*12\.0 hours from now"):
        world.submit(submission(folder))
    assert world.limits().left == 0
    world.clock.set(NOON + timedelta(hours=12))
    assert (world.limits().today, world.limits().total, world.limits().left) == (0, 5, 5)


def test_each_team_has_its_own_submissions(tmp_path: Path) -> None:
    """Users have separate limits, and do not see each other's submissions."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, LiveBudget(submissions_per_day=1))
    world.submit(submission(folder), user="ann")
    assert world.limits("bob").left == 1
    assert world.submissions("bob") == []
    assert len(world.submissions(None)) == 1


def test_a_submission_that_cannot_be_graded_is_given_back(tmp_path: Path) -> None:
    """An invalid submission is listed with an error and does not count against the limit."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, LiveBudget(submissions_per_day=1))
    bad = tmp_path / "bad.csv"
    bad.write_text("nothing")
    assert world.submit(bad).status == "error"
    assert world.limits().left == 1


def test_invalid_submissions_that_wait_for_their_grade_use_up_no_limit(tmp_path: Path) -> None:
    """They are graded before a further one is refused."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("nothing")
    for _ in range(5):
        world.accept(wrong, "", user="you", file_name="wrong.csv")
    assert world.limits().left == 0
    assert world.submit(submission(folder)).status == "complete"
    assert world.limits().today == 1


def test_the_leaderboard_has_the_time_of_a_teams_last_submission(tmp_path: Path) -> None:
    """Whichever of its submissions is the best."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, scores="public")
    world.submit(submission(folder))
    later = NOON + timedelta(hours=1)
    world.clock.set(later)
    world.submit(submission(folder, right=5, name="worse.csv"))
    [own] = [each for each in world.leaderboard().entries if each.team == "you"]
    assert (own.at, own.last_at) == (NOON, later)


def test_submissions_and_queries_in_all_are_limited(tmp_path: Path) -> None:
    """Total limits on submissions and queries are enforced."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, LiveBudget(submissions=2, queries=2))
    for _ in range(2):
        world.submit(submission(folder))
    assert (world.limits().left, world.limits().by_total) == (0, True)
    with pytest.raises(LiveError, match=r"\(2 of 2\)\.$"):
        world.submit(submission(folder))
    world.view()
    world.leaderboard()
    with pytest.raises(LiveError, match="queries are used"):
        world.view()


@pytest.mark.parametrize("close", [lambda w: w.close(), lambda w: w.clock.set(DEADLINE)])
def test_after_the_end_nothing_is_accepted(tmp_path: Path, close: Callable[[object], None]) -> None:
    """Submissions are refused after `close()` and after the deadline."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    close(world)
    with pytest.raises(LiveError, match="deadline of this competition has passed"):
        world.submit(submission(folder))
    assert world.limits().left == 0


def test_a_clock_that_runs_brings_the_end(tmp_path: Path) -> None:
    """An accelerated clock reaches the deadline."""
    seconds = iter([0.0, 1.0, 2.0, 1e9, 1e9])
    world = open_world(
        world_folder(tmp_path), SimulatedClock(NOON, speed=1, seconds=lambda: next(seconds))
    )
    assert not world.over
    assert not world.over
    assert world.over


def test_set_back_a_world_forgets_what_came_later(tmp_path: Path) -> None:
    """With the clock set back, submissions of later times are hidden."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    world.submit(submission(folder))
    world.clock.set(NOON - timedelta(days=1))
    assert world.submissions() == []


def test_submissions_outlive_the_world(tmp_path: Path) -> None:
    """Reopened on the same store, earlier submissions are listed, and ungraded ones are graded."""
    folder = world_folder(tmp_path)
    store = SubmissionStore(tmp_path / "state")
    world = open_world(folder, NOON, store=store)
    world.submit(submission(folder, right=9))
    world.accept(submission(folder), "second", user="you", file_name="x.csv")
    store.close()
    again = open_world(folder, NOON, store=SubmissionStore(tmp_path / "state"))
    assert [each.status for each in again.submissions()] == ["complete", "pending"]
    assert again.pending() == [2]
    again.grade(2)
    again.close()
    assert [each.marks.score for each in again.submissions()] == [0.9, 1.0]


def test_a_submission_is_graded_once_by_many_threads(tmp_path: Path) -> None:
    """Threads that grade one submission at once record one grade."""
    folder = world_folder(tmp_path)
    store = SubmissionStore(tmp_path / "state")
    world = open_world(folder, NOON, store=store)
    ref = world.accept(submission(folder), "", user="you", file_name="x.csv").ref
    with ThreadPoolExecutor(8) as pool:
        assert {each.status for each in pool.map(world.grade, [ref] * 8)} == {"complete"}
    assert len((tmp_path / "state" / "submissions.jsonl").read_text().splitlines()) == 2
    store.close()


def test_a_submission_without_answers_is_an_error_of_its_own(tmp_path: Path) -> None:
    """Without answers, a competition can be read, and submissions end in an error."""
    folder = world_folder(tmp_path)
    handed_in = submission(folder)
    (folder / "private" / "answers.csv").unlink()
    submitted = open_world(folder, NOON).submit(handed_in)
    assert (submitted.status, submitted.marks and submitted.marks.message) == (
        "error",
        "this competition cannot be graded here",
    )


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2023-04-01T10:00:00Z", datetime(2023, 4, 1, 10, tzinfo=UTC)),
        ("2023-04-01 12:00+02:00", datetime(2023, 4, 1, 10, tzinfo=UTC)),
        ("2023-04-01", datetime(2023, 4, 1, 23, 59, tzinfo=UTC)),
        (None, None),
    ],
)
def test_a_deadline_is_read_as_people_write_it(
    tmp_path: Path, text: str | None, time: datetime | None
) -> None:
    """A date alone means its last minute."""
    assert open_world(world_folder(tmp_path, deadline=text)).deadline == time
