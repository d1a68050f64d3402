"""A competition folder that cannot be used is refused in one line, before anything is started."""

from pathlib import Path

import pytest

from comind.competitions.competition_folder import load_competition
from comind.errors import CompetitionError
from comind.grading.past_competition import grade_past
from comind.splits.checked_plan import check_competition
from tests.unit.competitions.bad_folders import BAD_ANSWERS, BAD_FOLDERS, BadFolder
from tests.unit.competitions.folders import competition_folder


def _by_name(cases: tuple[BadFolder, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def _check_told(error: CompetitionError, case: BadFolder, folder: Path) -> None:
    assert error.exit_code == 2
    assert case.hint in error.hint
    expected = case.line.format(folder=folder)
    if len(str(error)) > 1000:
        assert str(error).startswith(expected)
        assert len(str(error)) < 1100
    else:
        assert str(error) == expected
    assert str(error).isprintable()
    assert error.hint.isprintable()


@_by_name(BAD_FOLDERS)
def test_a_bad_folder_is_refused(case: BadFolder, tmp_path: Path) -> None:
    """Each way to break a folder has its own line, which says what is wrong and where."""
    folder = competition_folder(tmp_path)
    case.breaks(folder)
    with pytest.raises(CompetitionError) as caught:
        check_competition(load_competition(folder))
    _check_told(caught.value, case, folder)


@_by_name(BAD_ANSWERS)
def test_bad_answers_are_refused(case: BadFolder, tmp_path: Path) -> None:
    """A folder that cannot be graded with is the fault of the folder, not of the submission."""
    folder = competition_folder(tmp_path)
    case.breaks(folder)
    with pytest.raises(CompetitionError) as caught:
        grade_past(load_competition(folder), folder / "public" / "sample_submission.csv")
    _check_told(caught.value, case, folder)
