"""Scores on hidden answers: the public share, and the rest."""

from pathlib import Path

import pytest

from comind.errors import CompetitionError
from comind.evaluation.competition_folder import load_competition
from comind.evaluation.past_competition import grade_past
from comind.live.scoring import HiddenAnswers
from tests.unit.live.worlds import submission, world_folder


def test_three_tenths_of_the_rows_are_public(tmp_path: Path) -> None:
    """The public and the private score are those of disjoint rows that make up the whole."""
    folder = world_folder(tmp_path)
    hidden = HiddenAnswers(load_competition(folder))
    for right in range(11):
        marks = hidden.mark(submission(folder, right=right))
        assert marks.public is not None
        assert marks.private is not None
        assert marks.score == pytest.approx(right / 10)
        assert 3 * marks.public + 7 * marks.private == pytest.approx(right)


def test_the_same_rows_are_public_in_every_world(tmp_path: Path) -> None:
    """The choice depends on the competition's id and the rows' keys, not on their order."""
    folder = world_folder(tmp_path)
    before = HiddenAnswers(load_competition(folder)).mark(submission(folder, right=4))
    answers = folder / "private" / "answers.csv"
    handed_in = submission(folder, right=4)
    first, *rows = answers.read_text().splitlines()
    answers.write_text("\n".join([first, *rows[::-1]]) + "\n")
    assert HiddenAnswers(load_competition(folder)).mark(handed_in) == before


def test_a_column_usage_says_which_rows_are_public(tmp_path: Path) -> None:
    """As in Kaggle's own solution files; rows that are neither count in the whole only."""
    folder = world_folder(tmp_path)
    handed_in = submission(folder, right=4)
    answers = folder / "private" / "answers.csv"
    first, *rows = answers.read_text().splitlines()
    usage = ["Public"] * 5 + ["Private"] * 3 + ["Ignored"] * 2
    answers.write_text(
        "\n".join([f"{first},Usage", *[f"{r},{u}" for r, u in zip(rows, usage, strict=True)]]) + "\n"
    )
    marks = HiddenAnswers(load_competition(folder)).mark(handed_in)
    assert (marks.public, marks.private, marks.score) == (0.8, 0.0, 0.4)


def test_the_whole_score_is_that_of_grade(tmp_path: Path) -> None:
    """A world and `comind grade` never disagree."""
    folder = world_folder(tmp_path)
    competition = load_competition(folder)
    handed_in = submission(folder, right=7)
    assert HiddenAnswers(competition).mark(handed_in).score == grade_past(competition, handed_in).score


def test_a_wrong_submission_is_told_what_is_wrong(tmp_path: Path) -> None:
    """Without saying where its file is kept."""
    folder = world_folder(tmp_path)
    bad = tmp_path / "bad.csv"
    bad.write_text("id,label\n40,yes\n")
    marks = HiddenAnswers(load_competition(folder)).mark(bad)
    assert not marks.valid
    assert "9 of 10 ids" in marks.message
    assert str(tmp_path) not in marks.message


def test_a_metric_that_needs_both_classes_gives_no_score_on_rows_of_one(tmp_path: Path) -> None:
    """A share on which the metric says nothing has no score; the whole has."""
    folder = world_folder(tmp_path, metric="roc-auc")
    answers = folder / "private" / "answers.csv"
    lines = ["id,label,Usage"]
    lines += [f"{row},{int(row > 47)},{'Public' if row < 44 else 'Private'}" for row in range(40, 50)]
    answers.write_text("\n".join(lines) + "\n")
    handed_in = tmp_path / "mine.csv"
    handed_in.write_text("\n".join(["id,label", *[f"{row},{row / 50}" for row in range(40, 50)]]) + "\n")
    marks = HiddenAnswers(load_competition(folder)).mark(handed_in)
    assert (marks.valid, marks.public, marks.private, marks.score) == (True, None, 1.0, 1.0)


def test_a_competition_without_answers_is_refused(tmp_path: Path) -> None:
    """There is nothing to grade with."""
    folder = world_folder(tmp_path)
    (folder / "private" / "answers.csv").unlink()
    with pytest.raises(CompetitionError, match=r"no private/answers\.csv"):
        HiddenAnswers(load_competition(folder))
