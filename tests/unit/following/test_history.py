"""The history of a followed competition by day, and its report."""

import re
from pathlib import Path

import pytest

from comind.app.following_report import following_page, following_report
from comind.domain.community import ItemOutcome
from comind.errors import LogError
from comind.following.events import NoticeRecorded, StandingRecorded, SubmissionApproved
from comind.following.final_selection import select_submissions
from comind.following.history import followed_competitions, read_days
from comind.following.state import FollowingLog, following_log_path
from comind.following.submission import leaderboard_standing
from comind.kaggle.port import LeaderboardRow
from tests.unit.following.days import candidate, day, observation, scored, slice_ended, submissions

_SLUG = "house-prices"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two days of one competition, and its end."""
    first, second = candidate("a", 0.8), candidate("b", 0.85)
    with FollowingLog(tmp_path, _SLUG) as log:
        for event in (
            observation(),
            *slice_ended(0, first),
            *submissions(0, first, "1"),
            NoticeRecorded(at=day(1), subject="rules", text="the rules have changed"),
            observation(1, new_items=4),
            SubmissionApproved(at=day(1), rules_sha256="rules"),
            scored(1, "1", public_score=0.75),
            *slice_ended(1, second),
            StandingRecorded(at=day(1), score=0.75, rank=26, teams=100),
            observation(31),
            scored(31, "1", public_score=0.75, private_score=0.7),
            StandingRecorded(at=day(31), score=0.7, rank=30, teams=100, final=True),
        ):
            log.record(event)
    return tmp_path


def test_a_report_has_every_day_the_newest_first(project: Path) -> None:
    """What was new, tried, decided, sent, scored, and the rank, each on its day."""
    text = following_report(project, _SLUG)
    status, last, second, first = text.split("\n## ")
    assert "- deadline: 2024-03-31 12:00 UTC, over" in status
    assert "select for the end" not in status
    assert "- spent: 2 minutes, $1.00" in status
    assert "- final, private 0.7: rank 30 of 100, percentile 71" in status
    assert last.startswith("2024-04-01")
    assert "- scored: public 0.75, private 0.7" in last
    assert second.startswith("2024-03-02")
    assert "- fetched: 4 new items (3 notebooks, 2 discussions), 100 teams" in second
    assert "- rules: the rules have changed" in second
    assert "- approved: the rules" in second
    assert "best attempt-b (bbbbbbbbbbbb), accuracy 0.85" in second
    assert "- public 0.75: rank 26 of 100, percentile 75" in second
    assert "- sent: attempt-a (aaaaaaaaaaaa), accuracy 0.8" in first


def test_a_log_that_was_changed_is_refused(project: Path) -> None:
    """The report has no gap that nobody sees."""
    log = following_log_path(project, _SLUG)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join([*lines[:1], *lines[2:]]))
    with pytest.raises(LogError):
        read_days(project, _SLUG)


def test_competitions_are_listed(project: Path, tmp_path: Path) -> None:
    """Those with a log; a project without any has none."""
    assert followed_competitions(project) == [_SLUG]
    assert followed_competitions(tmp_path / "other") == []


def test_the_status_has_medals_submissions_and_what_to_select(tmp_path: Path) -> None:
    """The best by validation and the best other by public score, with a warning where they part."""
    with FollowingLog(tmp_path, _SLUG) as log:
        log.record(observation())
        for number, (value, public) in enumerate(((0.8, 0.7), (0.85, 0.72), (0.82, 0.75)), start=1):
            found = candidate(str(number), value)
            for event in (*slice_ended(0, found), *submissions(0, found, f"r{number}")):
                log.record(event)
            log.record(scored(0, f"r{number}", public_score=public))
        rows = [LeaderboardRow(team=str(n), score=str(0.9 - n / 100)) for n in range(50)]
        chosen = select_submissions(
            log.state.submissions, lambda _, others: [0.4 for _ in others], day(0)
        )
        assert chosen is not None
        log.record(chosen)
        standing = leaderboard_standing(0.75, rows, day(0), maximize=True)
        assert standing is not None
        log.record(standing)
    text = following_report(tmp_path, _SLUG, terminal=True)
    assert "- medals as of 2024-03-01, and our score minus theirs: gold 0.86 (-0.11)" in text
    assert "| attempt-2 (222222222222) | 2024-03-01 | accuracy 0.85 [0.8, 0.9]   |" in text
    assert "disagree: attempt-2 (222222222222) is the best by validation, attempt-3" in text
    assert (
        "- select for the end: attempt-2 (222222222222), the best by validation, and attempt-3" in text
    )


def test_new_items_and_what_came_of_them_are_reported_once(tmp_path: Path) -> None:
    """A new item has its summary on its first day; on later days only what came of it."""
    read = ItemOutcome(item_type="notebook", name="bob/two", title="Two <b>", summary="Fits *trees*.")
    used = read.model_copy(update={"attempts": ("attempt-3",), "best": 0.81})
    with FollowingLog(tmp_path, _SLUG) as log:
        for number, items in enumerate(((read,), (used,))):
            log.record(observation(number))
            begun, ended = slice_ended(number, candidate("a", 0.8))
            log.record(begun)
            log.record(ended.model_copy(update={"items": items}))
    _, last, first = following_report(tmp_path, _SLUG).split("\n## ")
    assert r"- new notebook bob/two, Two \<b\>: Fits \*trees\*." in first
    assert "- used notebook bob/two, by attempt-3, best validation 0.81" in last
    assert "- new" not in last


def test_the_page_has_the_report_and_a_curve(project: Path) -> None:
    """The page needs no network; its figure has validation and public scores."""
    page = following_page(project, _SLUG)
    assert "select for the end" not in page
    assert "<li>scored: public 0.75, private 0.7</li>" in page
    assert page.count('src="data:image/svg+xml;base64,') == 1
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []
