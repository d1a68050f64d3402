"""Check that a competition can be split, solved and graded, by the plan of its split."""

from comind.competitions.competition_checks import check_side_files, check_tables
from comind.competitions.competition_folder import check_public_folder
from comind.competitions.data import CompetitionData
from comind.domain.competition import Competition
from comind.errors import CompetitionError
from comind.splits.leakage import leaking_tables
from comind.splits.split_plan import SplitPlan, check_given_rule, plan_split
from comind.tables.csv_tables import read_table


def check_competition(competition: Competition, seed: int = 0) -> SplitPlan:
    """Validate that a competition can be split, solved and graded; return the plan of its split.

    Raises:
        CompetitionError: the first problem, with a hint how to mend it.
    """
    check_given_rule(competition)
    check_public_folder(competition)
    named = competition.metric is not None
    read = CompetitionData.read if named else CompetitionData.read_without_metric
    data = read(competition)
    check_tables(data)
    plan = plan_split(data, seed)
    for path in leaking_tables(data):
        read_table(path, CompetitionError)
    check_side_files(data)
    return plan
