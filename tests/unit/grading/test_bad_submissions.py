"""A submission that is not valid is told in one line; only one that is no table at all is an error."""

from pathlib import Path

import pytest

from comind.competitions.competition_folder import load_competition
from comind.errors import SubmissionError
from comind.grading.past_competition import PastGrade, grade_past
from tests.unit.competitions.folders import competition_folder
from tests.unit.grading.bad_submissions import BAD_SUBMISSIONS, BadSubmission, ask

_UNREADABLE = [case for case in BAD_SUBMISSIONS if case.unreadable]
_INVALID = [case for case in BAD_SUBMISSIONS if not case.unreadable]


def _grade(case: BadSubmission, root: Path) -> PastGrade:
    folder = competition_folder(root)
    ask(folder, case.metric)
    content = case.content if isinstance(case.content, bytes) else case.content.encode()
    (root / "s.csv").write_bytes(content)
    return grade_past(load_competition(folder), root / "s.csv")


@pytest.mark.parametrize("case", _INVALID, ids=lambda case: case.name)
def test_an_invalid_submission_is_an_answer(case: BadSubmission, tmp_path: Path) -> None:
    """A readable file is graded, and the grade says what is wrong with it."""
    grade = _grade(case, tmp_path)
    assert grade.message == case.line
    assert grade.message.isprintable()
    assert not grade.valid
    assert grade.score is None
    assert grade.rank is None


@pytest.mark.parametrize("case", _UNREADABLE, ids=lambda case: case.name)
def test_an_unreadable_submission_is_an_error(case: BadSubmission, tmp_path: Path) -> None:
    """A file that is no table cannot be graded; the error ends the command with exit code 2."""
    with pytest.raises(SubmissionError) as caught:
        _grade(case, tmp_path)
    assert str(caught.value) == case.line.format(file=tmp_path / "s.csv")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("metric", sorted({case.metric for case in BAD_SUBMISSIONS}))
def test_the_answers_themselves_are_a_perfect_submission(metric: str, tmp_path: Path) -> None:
    """What is refused in the cases beside this is refused for its own sake."""
    folder = competition_folder(tmp_path)
    ask(folder, metric)
    grade = grade_past(load_competition(folder), folder / "private" / "answers.csv")
    assert grade.valid, grade.message
    assert grade.score == pytest.approx(1.0 if grade.maximize else 0.0, abs=1e-9)
