"""Submissions are scored on the public and the private rows of the hidden answers."""

from pathlib import Path

import pytest

from comind.competitions.competition_folder import load_competition
from comind.errors import CompetitionError
from comind.grading.past_competition import grade_past
from comind.live.scoring import AnswerKey
from tests.unit.live.worlds import submission, world_folder


def test_three_tenths_of_the_rows_are_public(tmp_path: Path) -> None:
    """The public and the private rows are disjoint and make up all rows."""
    folder = world_folder(tmp_path)
    hidden = AnswerKey(load_competition(folder))
    for right in range(11):
        marks = hidden.grade(submission(folder, right=right))
        assert marks.public is not None
        assert marks.private is not None
        assert marks.score == pytest.approx(right / 10)
        assert 3 * marks.public + 7 * marks.private == pytest.approx(right)


def test_the_same_rows_are_public_in_every_world(tmp_path: Path) -> None:
    """The split depends on the competition's id and the keys, not on the order of rows."""
    folder = world_folder(tmp_path)
    before = AnswerKey(load_competition(folder)).grade(submission(folder, right=4))
    answers = folder / "private" / "answers.csv"
    handed_in = submission(folder, right=4)
    first, *rows = answers.read_text().splitlines()
    answers.write_text("\n".join([first, *rows[::-1]]) + "\n")
    assert AnswerKey(load_competition(folder)).grade(handed_in) == before


def test_a_column_usage_says_which_rows_are_public(tmp_path: Path) -> None:
    """The column `Usage` assigns rows as in Kaggle's solution files; others count in the total only."""
    folder = world_folder(tmp_path)
    handed_in = submission(folder, right=4)
    answers = folder / "private" / "answers.csv"
    first, *rows = answers.read_text().splitlines()
    usage = ["Public"] * 5 + ["Private"] * 3 + ["Ignored"] * 2
    answers.write_text(
        "\n".join([f"{first},Usage", *[f"{r},{u}" for r, u in zip(rows, usage, strict=True)]]) + "\n"
    )
    marks = AnswerKey(load_competition(folder)).grade(handed_in)
    assert (marks.public, marks.private, marks.score) == (0.8, 0.0, 0.4)


def test_the_whole_score_is_that_of_grade(tmp_path: Path) -> None:
    """The total score equals that of `comind grade`."""
    folder = world_folder(tmp_path)
    competition = load_competition(folder)
    handed_in = submission(folder, right=7)
    assert AnswerKey(competition).grade(handed_in).score == grade_past(competition, handed_in).score


def test_a_wrong_submission_is_told_what_is_wrong(tmp_path: Path) -> None:
    """An invalid submission gets a reason without the path of its file."""
    folder = world_folder(tmp_path)
    bad = tmp_path / "bad.csv"
    bad.write_text("id,label\n40,yes\n")
    marks = AnswerKey(load_competition(folder)).grade(bad)
    assert not marks.valid
    assert "9 of 10 ids" in marks.message
    assert str(tmp_path) not in marks.message


def test_a_metric_that_needs_both_classes_gives_no_score_on_rows_of_one(tmp_path: Path) -> None:
    """If the metric is undefined on the public or private rows, that score is None."""
    folder = world_folder(tmp_path, metric="roc-auc")
    answers = folder / "private" / "answers.csv"
    lines = ["id,label,Usage"]
    lines += [f"{row},{int(row > 47)},{'Public' if row < 44 else 'Private'}" for row in range(40, 50)]
    answers.write_text("\n".join(lines) + "\n")
    handed_in = tmp_path / "mine.csv"
    handed_in.write_text("\n".join(["id,label", *[f"{row},{row / 50}" for row in range(40, 50)]]) + "\n")
    marks = AnswerKey(load_competition(folder)).grade(handed_in)
    assert (marks.valid, marks.public, marks.private, marks.score) == (True, None, 1.0, 1.0)


def test_a_competition_without_answers_is_refused(tmp_path: Path) -> None:
    """A competition without answers cannot be graded."""
    folder = world_folder(tmp_path)
    (folder / "private" / "answers.csv").unlink()
    with pytest.raises(CompetitionError, match=r"no private/answers\.csv"):
        AnswerKey(load_competition(folder))
