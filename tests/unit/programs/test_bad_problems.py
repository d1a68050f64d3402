"""A folder with a scorer that cannot be used is refused in one line, before anything is run."""

from pathlib import Path

import pytest

from comind.app.problem_inspection import inspect_problem
from comind.competitions.competition_folder import load_competition
from comind.errors import CompetitionError
from tests.unit.programs.bad_problems import BAD_PROBLEMS, BadProblem
from tests.unit.programs.small_problems import write_problem


@pytest.mark.parametrize("case", BAD_PROBLEMS, ids=lambda case: case.name)
def test_a_bad_problem_is_refused(case: BadProblem, tmp_path: Path) -> None:
    """The line says what is wrong, and where."""
    folder = tmp_path / "small"
    folder.mkdir()
    case.breaks(write_problem(folder))
    with pytest.raises(CompetitionError) as refused:
        inspect_problem(load_competition(folder), seed=0)
    assert str(refused.value) == case.line.format(folder=folder)
    assert (refused.value.hint or "") == case.hint
