"""Leaderboards as of a moment."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.errors import CompetitionError
from comind.live.leaderboards import LeaderboardHistory
from tests.unit.live.worlds import NOON, leaderboard

HISTORY = (
    "TeamId,TeamName,SubmissionDate,Score",
    '1,"one, two","2023-03-01 10:00:00",0.5',
    "2,other,2023-03-02 10:00:00,0.7",
    '1,"one, two",2023-03-03 10:00:00,0.9',
    "1,late,2023-03-04 10:00:00,0.4",
)


def _at(day: int) -> datetime:
    return datetime(2023, 3, day, 12, tzinfo=UTC)


def _scores(board: object) -> list[tuple[int, str]]:
    return [(entry.team_id, entry.written) for entry in board.entries]


def test_a_history_gives_the_board_of_any_day(tmp_path: Path) -> None:
    """As of each day, every team has its best score so far, best first, times in UTC."""
    leaderboard(tmp_path, "history.csv", *HISTORY)
    standings = LeaderboardHistory(tmp_path, maximize=True)
    assert _scores(standings.public(_at(1), over=False)) == [(1, "0.5")]
    assert _scores(standings.public(_at(2), over=False)) == [(2, "0.7"), (1, "0.5")]
    assert _scores(standings.public(_at(4), over=False)) == [(1, "0.9"), (2, "0.7")]
    assert standings.public(_at(1) - timedelta(hours=3), over=False).entries == ()
    assert standings.public(_at(4), over=False).entries[0].team == "one, two"


def test_the_metric_says_which_score_is_best(tmp_path: Path) -> None:
    """If lower is better, the lowest score of each team counts."""
    leaderboard(tmp_path, "history.csv", *HISTORY)
    board = LeaderboardHistory(tmp_path, maximize=False).public(_at(4), over=False)
    assert _scores(board) == [(1, "0.4"), (2, "0.7")]


_rows = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=20
)


@given(rows=_rows, hour=st.integers(0, 30), maximize=st.booleans())
def test_a_board_is_made_of_what_was_there(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int]],
    hour: int,
    maximize: bool,
) -> None:
    """The board as of a moment equals that of a history truncated there."""
    start = datetime(2023, 3, 1, tzinfo=UTC)

    def board(kept: list[tuple[int, int, int]], moment: datetime | None) -> list[tuple[int, str]]:
        folder = tmp_path_factory.mktemp("history")
        lines = [f"{t},t{t},{start + timedelta(hours=h)},{s}" for t, h, s in kept]
        leaderboard(
            folder, "history.csv", "TeamId,TeamName,SubmissionDate,Score", "9,z,2000-01-01,9", *lines
        )
        return _scores(LeaderboardHistory(folder, maximize=maximize).public(moment, over=False))

    known = [row for row in rows if row[1] <= hour]
    seen = board(rows, start + timedelta(hours=hour))
    assert seen == board(known, None)
    best = max if maximize else min
    assert dict(seen) == {t: str(best(s for u, _, s in known if u == t)) for t, *_ in known} | {9: "9"}


def test_the_last_submission_of_a_team_need_not_be_its_best(tmp_path: Path) -> None:
    """Its time is known from a history, up to the moment."""
    header = "TeamId,TeamName,SubmissionDate,Score"
    rows = [f"1,a,2023-03-0{day},{score}" for day, score in ((1, 0.9), (2, 0.5), (9, 0.4))]
    leaderboard(tmp_path, "history.csv", header, *rows)
    moment = datetime(2023, 3, 5, tzinfo=UTC)
    [entry] = LeaderboardHistory(tmp_path, maximize=True).public(moment, over=False).entries
    assert entry.at == datetime(2023, 3, 1, tzinfo=UTC)
    assert entry.last_submission == datetime(2023, 3, 2, tzinfo=UTC)


def test_final_scores_without_times_say_nothing_before_the_end(tmp_path: Path) -> None:
    """A board without times is hidden before the deadline, with a message, and shown after it."""
    leaderboard(tmp_path, "public.csv", "rank,score", "1,0.9", "2,0.8")
    leaderboard(tmp_path, "private.csv", "rank,score", "1,0.7", "2,0.6")
    standings = LeaderboardHistory(tmp_path, maximize=True)
    before = standings.public(NOON, over=False)
    assert before.entries == ()
    assert "no times" in before.message
    assert _scores(standings.public(NOON, over=True)) == [(1, "0.9"), (2, "0.8")]
    assert _scores(standings.public(None, over=False)) == [(1, "0.9"), (2, "0.8")]
    private = standings.private()
    assert private is not None
    assert _scores(private) == [(1, "0.7"), (2, "0.6")]


def test_final_scores_with_times_are_known_from_then_on(tmp_path: Path) -> None:
    """Of a board with dates, the rows dated by then are shown."""
    leaderboard(
        tmp_path,
        "public.csv",
        "score,TeamName,LastSubmissionDate",
        "0.9,a,2023-05-01",
        "0.8,b,2023-03-01",
    )
    board = LeaderboardHistory(tmp_path, maximize=True).public(NOON, over=False)
    assert [(entry.team, entry.written) for entry in board.entries] == [("b", "0.8")]


def test_of_equal_scores_the_earlier_stands_first(tmp_path: Path) -> None:
    """Ties are broken by time."""
    leaderboard(
        tmp_path,
        "history.csv",
        "TeamId,TeamName,SubmissionDate,Score",
        "1,a,2023-03-02,0.5",
        "2,b,2023-03-01,0.5",
    )
    board = LeaderboardHistory(tmp_path, maximize=True).public(NOON, over=False)
    assert [entry.team for entry in board.entries] == ["b", "a"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,a,,0.5", "has no time"),
        ("1,a,soon,0.5", "row 1"),
        ("1,a,0001-01-01T00:00:00+05:00,0.5", "row 1"),
        ("1,a,2023-03-01,best", "row 1"),
        ("1,a,2023-03-01,nan", "row 1: the score 'nan' is not a finite number$"),
    ],
)
def test_a_broken_history_is_refused(tmp_path: Path, row: str, said: str) -> None:
    """A submission without a time, or with an invalid time or score, is an error that names it."""
    leaderboard(tmp_path, "history.csv", "TeamId,TeamName,SubmissionDate,Score", row)
    with pytest.raises(CompetitionError, match=said):
        LeaderboardHistory(tmp_path, maximize=True)


def test_a_team_keeps_the_time_of_its_last_submission(tmp_path: Path) -> None:
    """A team's best score and its last submission by then have their own times."""
    leaderboard(tmp_path, "history.csv", *HISTORY)
    board = LeaderboardHistory(tmp_path, maximize=True)
    seen = {day: board.public(_at(day), over=False).entries[0] for day in (3, 4)}
    assert {day: (each.at, each.last_at) for day, each in seen.items()} == {
        3: (_at(3) - timedelta(hours=2), _at(3) - timedelta(hours=2)),
        4: (_at(3) - timedelta(hours=2), _at(4) - timedelta(hours=2)),
    }
