"""Check that a competition can be split, solved and graded, by the plan of its split."""

from dataclasses import replace
from pathlib import Path

from comind.competitions.competition_checks import check_side_files, check_tables
from comind.competitions.competition_folder import check_public_folder
from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.splits.leakage import leaking_tables
from comind.splits.split_files import find_split
from comind.splits.split_plan import SplitPlan, keep_plan, plan_split, take_plan
from comind.tables.csv_tables import read_table


def check_competition(competition: Competition, seed: int = 0) -> SplitPlan:
    """Validate that a competition can be split, solved and graded; return the plan of its split.

    Raises:
        CompetitionError: the first problem, with a hint how to mend it.
    """
    data = _checked_tables(competition)
    plan = plan_split(data, seed)
    return _with_notes(plan, _check_files(data))


def prepare_split(competition: Competition, seed: int, splits: Path) -> None:
    """Validate a competition as `check_competition`, and keep the plan of its split for `make_split`.

    Where the split is below the folder `splits`, or a plan is kept, no rule is searched. Instances for
    programs are read when they are split.

    Raises:
        CompetitionError: the first problem, with a hint how to mend it.
    """
    if competition.program is not None:
        return
    data = _checked_tables(competition)
    planned = find_split(data, seed, splits) is not None or take_plan(data, seed, splits) is not None
    plan = None if planned else plan_split(data, seed)
    notes = _check_files(data)
    if plan is not None:
        keep_plan(_with_notes(plan, notes), splits)


def _checked_tables(competition: Competition) -> CompetitionData:
    check_public_folder(competition)
    named = competition.metric is not None
    data = (CompetitionData.read if named else CompetitionData.read_without_metric)(competition)
    check_tables(data)
    return data


def _check_files(data: CompetitionData) -> tuple[str, ...]:
    """Check tables and side files; return what is to be noted of them."""
    for path in leaking_tables(data):
        read_table(path, CompetitionError)
    return check_side_files(data)


def _with_notes(plan: SplitPlan, notes: tuple[str, ...]) -> SplitPlan:
    return replace(plan, notes=(*plan.notes, *notes))
