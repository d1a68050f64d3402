"""A world: what is told when, and what may be handed in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from comind.errors import LiveError
from comind.evaluation.competition_folder import load_competition
from comind.live.clock import Clock
from comind.live.submissions import SubmissionBook
from comind.live.world import LiveBudget, deadline_of
from tests.unit.live.worlds import NOON, leaderboard, open_world, submission, world_folder

DEADLINE = datetime(2023, 4, 30, 23, 59, tzinfo=UTC)


def test_no_score_is_told_before_the_end(tmp_path: Path) -> None:
    """A sealed submission is graded at once, and its scores come out at the deadline only."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    made = world.submit(submission(folder))
    assert made.status == "complete"
    assert made.marks is not None
    assert (made.marks.public, made.marks.private, made.marks.score) == (None, None, None)
    assert world.rank() is None
    world.clock.set(DEADLINE)
    (told,) = world.submissions()
    assert told.marks is not None
    assert (told.marks.public, told.marks.private, told.marks.score) == (1.0, 1.0, 1.0)


def test_public_scores_are_told_at_once_where_the_world_is_like_kaggle(tmp_path: Path) -> None:
    """The score on the public rows, and neither the private one nor that of all rows."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, scores="public")
    made = world.submit(submission(folder))
    assert made.marks is not None
    assert (made.marks.public, made.marks.private, made.marks.score) == (1.0, None, None)
    assert world.rank() == 1


def test_the_private_leaderboard_waits_for_the_deadline(tmp_path: Path) -> None:
    """Asked for before, it is refused; after, it stands there with the teams of this world."""
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
    """When its own hours are over its scores are told, but the competition still goes on."""
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
    """Where scores cannot be compared, the leaderboard stays as it was, and that is said."""
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
    """The sixth of a day by the world's clock is refused; after midnight UTC there are five again."""
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
    """What one hands in is not counted against another, nor shown."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, LiveBudget(submissions_per_day=1))
    world.submit(submission(folder), user="ann")
    assert world.limits("bob").left == 1
    assert world.submissions("bob") == []
    assert len(world.submissions(None)) == 1


def test_a_submission_that_cannot_be_graded_is_given_back(tmp_path: Path) -> None:
    """It is listed as wrong and does not count."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, LiveBudget(submissions_per_day=1))
    bad = tmp_path / "bad.csv"
    bad.write_text("nothing")
    assert world.submit(bad).status == "error"
    assert world.limits().left == 1


def test_submissions_and_queries_in_all_are_limited(tmp_path: Path) -> None:
    """A total allowance ends before the day's; looking around ends with its own."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON, LiveBudget(submissions=2, queries=2))
    for _ in range(2):
        world.submit(submission(folder))
    assert (world.limits().left, world.limits().by_total) == (0, True)
    with pytest.raises(LiveError, match=r"\(2 of 2\)\.$"):
        world.submit(submission(folder))
    world.view()
    world.leaderboard()
    with pytest.raises(LiveError, match="queries are spent"):
        world.view()


@pytest.mark.parametrize("close", [lambda w: w.close(), lambda w: w.clock.set(DEADLINE)])
def test_after_the_end_nothing_is_accepted(tmp_path: Path, close: Callable[[object], None]) -> None:
    """Neither when it was closed nor when its time has come."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    close(world)
    with pytest.raises(LiveError, match="deadline of this competition has passed"):
        world.submit(submission(folder))
    assert world.limits().left == 0


def test_a_clock_that_runs_brings_the_end(tmp_path: Path) -> None:
    """A world on a fast clock is over when the clock reaches the deadline."""
    seconds = iter([0.0, 1.0, 2.0, 1e9, 1e9])
    world = open_world(world_folder(tmp_path), Clock(NOON, speed=1, seconds=lambda: next(seconds)))
    assert not world.over
    assert not world.over
    assert world.over


def test_set_back_a_world_forgets_what_came_later(tmp_path: Path) -> None:
    """Submissions of a later time are not there at an earlier one."""
    folder = world_folder(tmp_path)
    world = open_world(folder, NOON)
    world.submit(submission(folder))
    world.clock.set(NOON - timedelta(days=1))
    assert world.submissions() == []


def test_submissions_outlive_the_world(tmp_path: Path) -> None:
    """Opened again on the same book, it knows what was handed in, and grades what was not graded."""
    folder = world_folder(tmp_path)
    book = SubmissionBook(tmp_path / "state")
    world = open_world(folder, NOON, book=book)
    world.submit(submission(folder, right=9))
    world.accept(submission(folder).read_bytes(), "second", user="you", file_name="x.csv")
    book.close()
    again = open_world(folder, NOON, book=SubmissionBook(tmp_path / "state"))
    assert [each.status for each in again.submissions()] == ["complete", "pending"]
    assert again.pending() == [2]
    again.grade(2)
    again.close()
    assert [each.marks.score for each in again.submissions()] == [0.9, 1.0]


def test_a_submission_without_answers_is_an_error_of_its_own(tmp_path: Path) -> None:
    """A competition whose answers nobody has can be looked at, and says that it cannot grade."""
    folder = world_folder(tmp_path)
    handed_in = submission(folder)
    (folder / "private" / "answers.csv").unlink()
    made = open_world(folder, NOON).submit(handed_in)
    assert (made.status, made.marks and made.marks.message) == (
        "error",
        "this competition cannot be graded here",
    )


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2023-04-01T10:00:00Z", datetime(2023, 4, 1, 10, tzinfo=UTC)),
        ("2023-04-01 12:00+02:00", datetime(2023, 4, 1, 10, tzinfo=UTC)),
        ("2023-04-01", datetime(2023, 4, 1, 23, 59, tzinfo=UTC)),
        ("in spring", None),
        (None, None),
    ],
)
def test_a_deadline_is_read_as_people_write_it(
    tmp_path: Path, text: str | None, time: datetime | None
) -> None:
    """A day alone is its last minute; what is no time is no deadline."""
    assert deadline_of(load_competition(world_folder(tmp_path, deadline=text))) == time
